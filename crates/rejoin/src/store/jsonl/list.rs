//! Listing conversations.

use crate::error::{ErrorKind, Result};
use crate::model::ConversationId;
use crate::store::jsonl::JsonlStore;
use crate::store::jsonl::fault::During;
use crate::store::jsonl::scan::{Depth, Known};
use crate::store::{ListQuery, Page, Row};

impl JsonlStore {
    pub(super) fn list_rows(&self, query: &ListQuery<'_>) -> Result<Page<Row>> {
        let mut rows = Vec::new();
        for id in self.all()? {
            if let Some(known) = self.glance(id)? {
                rows.push(known.kept.row());
            }
        }
        Ok(query.page_of(rows))
    }

    /// Every conversation that has a file.
    pub(super) fn all(&self) -> Result<Vec<ConversationId>> {
        let mut all = Vec::new();
        for folder in self.layout.folders().during(|| "list the folders")? {
            all.extend(self.layout.conversations(&folder).during(|| format!("list the folder `{folder}`"))?);
        }
        all.sort();
        all.dedup();
        Ok(all)
    }

    /// What is known of a conversation, without remembering it; none when it went away, or is none.
    pub(super) fn glance(&self, id: ConversationId) -> Result<Option<Known>> {
        let Some(opened) = self.open_file(id)? else { return Ok(None) };
        let known = match self.read_anew(id, &opened, opened.seen.length, Depth::Fields) {
            Ok(known) => known,
            // A conversation of a newer Rejoin is no reason not to list the others.
            Err(error) if error.kind() == ErrorKind::Unsupported => return Ok(None),
            Err(error) => return Err(error),
        };
        self.refuse_faults(&known, &opened)?;
        Ok((!known.is_nothing()).then_some(known))
    }
}
