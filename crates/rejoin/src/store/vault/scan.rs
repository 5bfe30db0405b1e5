//! Looking at messages one by one, those that do not open included.

use crate::error::{Error, ErrorKind, Result};
use crate::model::{ConversationId, MessageId};
use crate::store::Selection;
use crate::store::vault::VaultStore;
use crate::store::vault::held::{Ring, Trouble};
use crate::store::vault::message::Plain;
use crate::store::vault::quarantine::Record;

/// A message of the inner store, opened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scanned<'a> {
    pub(super) seq: u32,
    /// Its id; the inner name of one that does not open.
    pub(super) id: MessageId,
    /// Its body; none when it does not open.
    pub(super) body: Option<&'a str>,
    /// How many bytes the inner store counts for it.
    pub(super) size: u64,
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Go,
    Stop,
}

impl VaultStore {
    /// Shows messages of a conversation, which is named by its inner name, until one is enough.
    pub(super) fn scan(
        &self,
        inner: ConversationId,
        ring: &mut Ring<'_>,
        what: Selection<'_>,
        visit: &mut dyn FnMut(Scanned<'_>) -> Next,
    ) -> Result<()> {
        let workspace = self.held.workspace();
        let (mut buffer, mut is_done, mut failed) = (Vec::new(), false, None);
        let read = self.inner.read(inner, what, &mut |seen| {
            let (id, body) = match Plain::open(ring, workspace.names(), inner, &seen, &mut buffer) {
                Ok(plain) => (plain.id, Some(plain.body)),
                Err(Trouble::Broken(why)) => {
                    // One is enough to tell: where a key is lost, none of thousands opens.
                    failed.get_or_insert_with(|| (seen.id, seen.body.to_owned(), why));
                    (seen.id, None)
                }
                Err(Trouble::Failed(error)) => return Err(error),
            };
            is_done = visit(Scanned { seq: seen.seq, id, body, size: seen.body.len() as u64 }) == Next::Stop;
            if is_done { Err(Error::new(ErrorKind::Invalid, "that is enough")) } else { Ok(()) }
        });
        if let Some((id, sealed, why)) = failed {
            let record = Record {
                what: "message",
                space: None,
                inner: Some(inner),
                name: id.to_string(),
                sealed: &sealed,
                why,
            };
            self.quarantine(&record);
        }
        if is_done { Ok(()) } else { read }
    }
}
