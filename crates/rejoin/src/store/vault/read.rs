//! Reading messages: opened as the inner store shows them, and shown in the same order.
//!
//! What does not open is passed over, and the rest is visited. Then the read ends with an error that names every such
//! record, so that nobody takes a part for the whole.

use std::thread;

use crate::error::{Error, Result};
use crate::model::{ConversationId, MessageId};
use crate::store::vault::VaultStore;
use crate::store::vault::ahead::{Ahead, Desk, Opened, Opener};
use crate::store::vault::failed::{Failures, gone_past, to_error};
use crate::store::vault::held::Trouble;
use crate::store::vault::message::{Chain, SealedNote};
use crate::store::{Seen, Selection, Visit};

impl VaultStore {
    pub(super) fn read_opened(
        &self,
        id: ConversationId,
        what: Selection<'_>,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        self.refuse_unnamed(id)?;
        let workspace = self.held.workspace();
        let names = workspace.names();
        let inner = names.conversation(id);
        let asked: Vec<MessageId> = match what {
            Selection::Path(target) => target.into_iter().collect(),
            Selection::All { .. } => Vec::new(),
            Selection::Ids(ids) => ids.to_vec(),
        };
        let inner_ids: Vec<MessageId> = asked.iter().map(|id| names.message(inner, *id)).collect();
        let what = match what {
            Selection::Path(_) => Selection::Path(inner_ids.first().copied()),
            Selection::All { .. } => what,
            Selection::Ids(_) => Selection::Ids(&inner_ids),
        };
        let opener = Opener::new(self.held.ring(Some(inner)), names, inner);
        let (desk, mut chain, mut failures) = (Desk::default(), Chain::default(), Failures::default());
        let mut show = |seen: &Seen<'_>, opened: Result<Opened<'_>, Trouble>| {
            let opened = opened.and_then(|opened| Ok(chain.follow(&opened.plain).map(|()| opened)?));
            let Opened { plain, note } = match opened {
                Ok(opened) => opened,
                Err(trouble) => return failures.add(id, seen, "message", seen.body, trouble),
            };
            let note = match note {
                Ok(note) => note,
                Err(trouble) => {
                    failures.add(id, seen, "note", seen.note.label.unwrap_or_default(), trouble)?;
                    SealedNote::default()
                }
            };
            visit(Seen {
                id: plain.id,
                parent: plain.parent.map(|parent| parent.id),
                seq: seen.seq,
                turn: seen.turn,
                link: plain.digest,
                note: note.as_note(),
                body: plain.body,
                size: seen.size,
            })
        };
        let read = thread::scope(|scope| {
            let (mut ahead, mut is_cut) = (Ahead::new(scope, &desk, opener), false);
            let read = self
                .inner
                .read(inner, what, &mut |seen| ahead.take(&seen, &mut show).inspect_err(|_| is_cut = true));
            // What the inner store showed before it failed is shown.
            let rest = if is_cut { Ok(()) } else { ahead.rest(&mut show) };
            rest.and(read)
        });
        if !failures.is_empty() {
            self.learn_name(inner, id);
        }
        let told = failures.settle(self, inner);
        let read = gone_past(self.inner.as_ref(), read);
        let read = read.and_then(|unread| to_error(unread.into_iter().chain(told).collect()));
        read.map_err(|error| self.renamed(error, id, &asked))
    }

    /// The error in the words of those who asked.
    pub(super) fn renamed(&self, error: Error, id: ConversationId, messages: &[MessageId]) -> Error {
        let workspace = self.held.workspace();
        let names = workspace.names();
        let inner = names.conversation(id);
        let of_messages = messages.iter().map(|id| (names.message(inner, *id).to_string(), id.to_string()));
        let renames: Vec<_> =
            std::iter::once((inner.to_string(), id.to_string())).chain(of_messages).collect();
        error.renamed(&renames)
    }
}
