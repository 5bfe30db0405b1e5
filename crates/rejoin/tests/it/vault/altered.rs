//! A store that shows other messages than it holds, as one that somebody changed on the disk.

use std::sync::Mutex;

use rejoin::store::{MemoryStore, Note, Order, Read, Seen, Selection, Store, Visit};
use rejoin::testing::Around;
use rejoin::{ConversationId, Digest, MessageId, Result};

/// A message as the inner store keeps it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Kept {
    pub(super) id: MessageId,
    pub(super) parent: Option<MessageId>,
    pub(super) seq: u32,
    pub(super) link: Digest,
    pub(super) label: Option<String>,
    pub(super) is_pinned: bool,
    pub(super) body: String,
}

/// What the inner store keeps of a conversation, by its inner name.
pub(super) fn kept(inner: &dyn Read, id: ConversationId) -> Vec<Kept> {
    let mut all = Vec::new();
    let everything = Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX };
    let read = inner.read(id, everything, &mut |seen| {
        all.push(Kept {
            id: seen.id,
            parent: seen.parent,
            seq: seen.seq,
            link: seen.link,
            label: seen.note.label.map(str::to_owned),
            is_pinned: seen.note.is_pinned,
            body: seen.body.to_owned(),
        });
        Ok(())
    });
    read.unwrap();
    all
}

/// A store that shows `shown` to whoever reads messages, if that is set.
pub(super) struct Altered {
    pub(super) inner: MemoryStore,
    pub(super) shown: Mutex<Option<Vec<Kept>>>,
}

impl Altered {
    pub(super) fn new() -> Self {
        Self { inner: MemoryStore::new(), shown: Mutex::default() }
    }

    pub(super) fn show(&self, shown: Vec<Kept>) {
        *self.shown.lock().unwrap() = Some(shown);
    }
}

impl Around for Altered {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    fn visit(&self, id: ConversationId, what: Selection<'_>, visit: &mut Visit<'_>) -> Result<()> {
        let shown = self.shown.lock().unwrap();
        let Some(shown) = shown.as_ref() else { return self.inner.read(id, what, visit) };
        shown.iter().try_for_each(|kept| {
            visit(Seen {
                id: kept.id,
                parent: kept.parent,
                seq: kept.seq,
                turn: kept.seq,
                link: kept.link,
                note: Note { label: kept.label.as_deref(), is_pinned: kept.is_pinned },
                body: &kept.body,
                size: kept.body.len() as u64,
            })
        })
    }
}
