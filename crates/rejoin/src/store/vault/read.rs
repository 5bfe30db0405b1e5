//! Reading messages: opened one by one as the inner store shows them.

use crate::error::{Error, Result};
use crate::model::{ConversationId, MessageId};
use crate::store::vault::VaultStore;
use crate::store::vault::envelope::Broken;
use crate::store::vault::held::Trouble;
use crate::store::vault::message::{Chain, Plain, SealedNote};
use crate::store::vault::quarantine::Record;
use crate::store::{Seen, Selection, Visit};

/// A record that did not open, copied while it was at hand.
struct Failed {
    what: &'static str,
    name: MessageId,
    sealed: String,
    why: Broken,
}

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
        let mut ring = self.held.ring(Some(inner));
        let (mut buffer, mut chain, mut failed) = (Vec::new(), Chain::default(), None);
        let read = self.inner.read(inner, what, &mut |seen| {
            let mut fail = |what: &'static str, sealed: &str, trouble: Trouble| {
                if let Trouble::Broken(why) = trouble {
                    failed = Some(Failed { what, name: seen.id, sealed: sealed.to_owned(), why });
                }
                trouble.of(&format!("the {what} `{}` of conversation `{id}`, number {},", seen.id, seen.seq))
            };
            let opened = Plain::open(&mut ring, names, inner, &seen, &mut buffer);
            let plain = opened
                .and_then(|plain| chain.follow(&plain).map(|()| plain).map_err(Trouble::from))
                .map_err(|trouble| fail("message", seen.body, trouble))?;
            let note = SealedNote::open(&mut ring, inner, &seen)
                .map_err(|trouble| fail("note", seen.note.label.unwrap_or_default(), trouble))?;
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
        });
        if let Some(Failed { what, name, sealed, why }) = failed {
            self.learn_name(inner, id);
            let record = Record {
                what,
                space: None,
                inner: Some(inner),
                name: name.to_string(),
                sealed: &sealed,
                why,
            };
            self.quarantine(&record);
        }
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
