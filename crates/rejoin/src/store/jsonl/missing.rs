//! Conversations whose files are gone although nobody deleted them: the log or an index says that they were stored here.

use std::collections::{BTreeMap, HashSet};

use crate::error::{Error, Result};
use crate::model::ConversationId;
use crate::store::Stamp;
use crate::store::jsonl::changes::{self, Told};
use crate::store::jsonl::fault::During;
use crate::store::jsonl::index::Entry;
use crate::store::jsonl::{JsonlStore, unknown};

/// Conversations that have no file. Where an index has one, the folder that its file was in; that may be empty.
pub(super) type Gone = BTreeMap<ConversationId, Option<String>>;

impl JsonlStore {
    /// All that are missing: of those that an index has, and of those that the log tells after a stamp. `met` are those that
    /// have a file.
    pub(super) fn all_missing(
        &self,
        mut gone: Gone,
        after: Stamp,
        met: &HashSet<ConversationId>,
    ) -> Result<Vec<Entry>> {
        // Whoever deletes notes it before the file goes. The folders were looked at before, so the log has the note.
        let told = changes::told_since(&self.layout.changes(), after)?;
        for id in told.keys() {
            gone.entry(*id).or_default();
        }
        gone.retain(|id, _| !met.contains(id));
        self.missing_of(gone, &told)
    }

    /// The same, of those that were looked for and have no file.
    pub(super) fn missing(&self, gone: Gone, after: Stamp) -> Result<Vec<Entry>> {
        if gone.is_empty() {
            return Ok(Vec::new());
        }
        let told = changes::told_since(&self.layout.changes(), after)?;
        self.missing_of(gone, &told)
    }

    fn missing_of(&self, gone: Gone, told: &BTreeMap<ConversationId, Told>) -> Result<Vec<Entry>> {
        let mut missing = Vec::new();
        for (id, folder) in gone {
            let was_stored = match told.get(&id) {
                Some(Told::Deleted) => false,
                Some(Told::Acknowledged(_)) => true,
                Some(Told::Begun) | None => folder.is_some(),
            };
            // It may have moved to another folder meanwhile.
            if was_stored && self.layout.find(id).during(|| format!("find conversation `{id}`"))?.is_none() {
                missing.push(Entry::missing(id, &folder.unwrap_or_default(), &self.layout));
            }
        }
        Ok(missing)
    }

    /// What became of a conversation that has no file, if it was stored here.
    pub(super) fn loss_of(&self, id: ConversationId) -> Result<Option<String>> {
        Ok(self.entry_of_missing(id)?.and_then(|entry| entry.damage().into_iter().next()))
    }

    /// True when a conversation of which nothing can be read was stored here.
    pub(super) fn was_stored(&self, id: ConversationId) -> Result<bool> {
        let told = changes::told_of(&self.layout.changes(), id, 0)?;
        Ok(matches!(told, Some(Told::Acknowledged(_))) || self.loss_of(id)?.is_some())
    }

    /// Why a conversation cannot be opened that has no file.
    pub(super) fn absent(&self, id: ConversationId) -> Result<Error> {
        Ok(self.loss_of(id)?.map_or_else(|| unknown(id), Error::corrupt))
    }
}
