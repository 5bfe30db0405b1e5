//! Conversations whose files are gone although nobody deleted them: the log or an
//! index says that they were stored here.

use std::collections::{BTreeMap, HashSet};

use crate::error::Result;
use crate::model::ConversationId;
use crate::store::Stamp;
use crate::store::jsonl::Jsonl;
use crate::store::jsonl::change_log::{self, LastChange};
use crate::store::jsonl::fault::DuringIo;
use crate::store::jsonl::files::OpenScan;
use crate::store::jsonl::list::index::IndexEntry;

/// Conversations that have no file. Where an index has one, the folder that its
/// file was in; that may be empty.
pub(super) type Gone = BTreeMap<ConversationId, Option<String>>;

impl Jsonl {
    /// All that are missing: of those that an index has, and of those that the log tells after a
    /// stamp. `met` are those that have a file.
    pub(super) fn all_missing(
        &self,
        mut gone: Gone,
        after: Stamp,
        met: &HashSet<ConversationId>,
    ) -> Result<Vec<IndexEntry>> {
        // Whoever deletes notes it before the file goes. The folders were
        // looked at before, so the log has the note.
        let told = change_log::told_since(&self.layout.changes(), after)?;
        for id in told.keys() {
            gone.entry(*id).or_default();
        }
        gone.retain(|id, _| !met.contains(id));
        self.missing_of(gone, &told)
    }

    /// The same, of those that were looked for and have no file.
    pub(super) fn missing(&self, gone: Gone, after: Stamp) -> Result<Vec<IndexEntry>> {
        if gone.is_empty() {
            return Ok(Vec::new());
        }
        let told = change_log::told_since(&self.layout.changes(), after)?;
        self.missing_of(gone, &told)
    }

    fn missing_of(&self, gone: Gone, told: &BTreeMap<ConversationId, LastChange>) -> Result<Vec<IndexEntry>> {
        let mut missing = Vec::new();
        for (id, folder) in gone {
            let was_stored = match told.get(&id) {
                Some(LastChange::Deleted) => false,
                Some(LastChange::Acknowledged(_)) => true,
                Some(LastChange::Begun) | None => folder.is_some(),
            };
            // It may have moved to another folder meanwhile.
            if was_stored && self.layout.find(id).during(|| format!("find conversation `{id}`"))?.is_none() {
                missing.push(IndexEntry::missing(id, &folder.unwrap_or_default(), &self.layout));
            }
        }
        Ok(missing)
    }

    /// True when the log tells that a conversation is stored here.
    pub(super) fn is_acknowledged(&self, id: ConversationId) -> Result<bool> {
        let told = change_log::told_of(&self.layout.changes(), id, 0)?;
        Ok(matches!(told, Some(LastChange::Acknowledged(_))))
    }

    /// What became of a conversation that was stored here and cannot be opened: it
    /// has no file, or nothing in its file.
    pub(super) fn loss_of(&self, id: ConversationId, file: Option<&OpenScan>) -> Result<Option<String>> {
        if let Some((opened, known)) = file {
            return Ok(opened.damage(known).into_iter().next());
        }
        let missing = match self.entry_of_missing(id)? {
            // An index that was damaged may not have it.
            None => match change_log::told_of(&self.layout.changes(), id, 0)? {
                Some(told) => self.missing_of(Gone::from([(id, None)]), &BTreeMap::from([(id, told)]))?.pop(),
                None => None,
            },
            entry => entry,
        };
        Ok(missing.and_then(|entry| entry.damage().into_iter().next()))
    }
}
