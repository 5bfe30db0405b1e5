//! Looking at messages one by one, those that do not open included.

use crate::error::{Error, ErrorKind, Result};
use crate::model::{ConversationId, MessageId};
use crate::store::Selection;
use crate::store::backend::VisitMessage;
use crate::store::keeper::visit_rows;
use crate::store::sealed::Sealed;
use crate::store::sealed::failed::{Failures, gone_past};
use crate::store::sealed::keys::key_cache::OwnerKeys;
use crate::store::sealed::records::message::PlainMessage;

/// A message of the inner store, opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scanned<'a> {
    pub(crate) seq: u32,
    /// Its id; the inner name of one that does not open.
    pub(crate) id: MessageId,
    /// Its body; none when it does not open.
    pub(crate) body: Option<&'a str>,
    /// How many bytes the inner store counts for it.
    pub(crate) size: u64,
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScanNext {
    Go,
    Stop,
}

impl Sealed {
    /// Visits messages of a conversation, which is named by its inner name, as the backend has them.
    pub(crate) fn visit_sealed(
        &self,
        inner: ConversationId,
        what: Selection<'_>,
        visit: &mut VisitMessage<'_>,
    ) -> Result<()> {
        self.backend.snapshot(&mut |rows| visit_rows(rows, inner, what, visit))
    }

    /// Shows messages of a conversation, which is named by its inner name, until one is enough.
    /// Returns those that do not open, in words.
    pub(crate) fn scan(
        &self,
        inner: ConversationId,
        owner_keys: &mut OwnerKeys<'_>,
        what: Selection<'_>,
        visit: &mut dyn FnMut(Scanned<'_>) -> ScanNext,
    ) -> Result<Vec<String>> {
        let workspace = self.key_cache.workspace();
        let id = self.outer_name(inner).unwrap_or(inner);
        let (mut buffer, mut is_done, mut failures) = (Vec::new(), false, Failures::default());
        let read = self.visit_sealed(inner, what, &mut |row| {
            let (id, body) = match PlainMessage::open(owner_keys, workspace.names(), inner, row, &mut buffer)
            {
                Ok(plain) => (plain.id, Some(plain.body)),
                Err(failure) => {
                    failures.add(id, row, "message", row.body, failure)?;
                    (row.id, None)
                }
            };
            is_done = visit(Scanned { seq: row.seq, id, body, size: row.size }) == ScanNext::Stop;
            if is_done { Err(Error::new(ErrorKind::Invalid, "that is enough")) } else { Ok(()) }
        });
        let told = failures.settle(self, inner);
        if is_done {
            return Ok(told);
        }
        let unread = gone_past(self.inner.capabilities(), read)?;
        Ok(unread.into_iter().chain(told).collect())
    }
}
