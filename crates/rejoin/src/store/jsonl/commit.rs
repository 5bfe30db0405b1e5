//! Storing what was decided, by whoever holds the lock of those who write.

use std::rc::Rc;

use crate::error::{Error, Result};
use crate::model::ConversationId;
use crate::store::backend::{Batch, CommitHint, Decide, Edit, LogEntry, unknown};
use crate::store::jsonl::Jsonl;
use crate::store::jsonl::files::OpenScan;
use crate::store::jsonl::rows::JsonlRows;
use crate::store::{Put, Safety};

impl Jsonl {
    pub(super) fn store(
        &self,
        hint: &CommitHint<'_>,
        safety: Safety,
        decide: &mut Decide<'_, '_>,
    ) -> Result<()> {
        let mut turnstile = self.begin_writing()?;
        let snapshot = JsonlRows::to_write(self, hint);
        let Batch { edit, blobs, change } = decide(&snapshot)?;
        match edit {
            Edit::None => {
                drop(snapshot);
                self.put_blobs(&mut turnstile, &blobs, safety)
            }
            Edit::Append(append) => {
                let decided = snapshot.into_decided(append.conversation)?;
                self.append(&mut turnstile, decided, &append, &blobs, &noted(change)?)
            }
            Edit::Confirm(id) => {
                let look = there(snapshot, id)?;
                turnstile.secure(&look.0, look.1.kept.stamp)
            }
            Edit::Amend(amend) => {
                refuse_blobs(&blobs)?;
                let look = there(snapshot, amend.conversation)?;
                self.amend(&mut turnstile, look, &amend, &noted(change)?)
            }
            Edit::Remove(removal) => {
                refuse_blobs(&blobs)?;
                let look = there(snapshot, removal.conversation)?;
                self.remove_messages(&mut turnstile, &look, &removal)
            }
            Edit::Delete(id) => {
                refuse_blobs(&blobs)?;
                let decided = snapshot.into_decided(id)?;
                let newest = decided.map_or(0, |look| look.1.kept.stamp);
                self.delete(&mut turnstile, newest, &noted(change)?)
            }
        }
    }
}

/// The file of a conversation that was found when the decision was made.
fn there(snapshot: JsonlRows<'_>, id: ConversationId) -> Result<Rc<OpenScan>> {
    snapshot.into_decided(id)?.filter(|look| !look.1.is_nothing()).ok_or_else(|| unknown(id))
}

/// A change of a file is noted before it happens, so it has to come with what is noted.
fn noted(change: Option<LogEntry>) -> Result<LogEntry> {
    change.ok_or_else(|| Error::invalid("change a conversation in plain files without a note"))
}

/// Lines of a turn can hold blobs, so that both are stored or neither. No other change has lines that stay.
fn refuse_blobs(blobs: &[Put<'_>]) -> Result<()> {
    if blobs.is_empty() {
        return Ok(());
    }
    Err(Error::invalid("store blobs in plain files with a change that is no turn"))
}
