//! A store that shows other messages than it holds, as one that somebody changed on the disk.

use std::sync::{Arc, Mutex};

use rejoin::store::backend::{Backend, MessageRow, Rows, Which};
use rejoin::store::{Keeper, MemoryStore, Order};
use rejoin::{ConversationId, Digest, MessageId, Result};

use crate::doubles::{Interpose, Interposed};

/// A message as the inner store keeps it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Kept {
    pub(super) id: MessageId,
    pub(super) parent: Option<MessageId>,
    pub(super) seq: u32,
    pub(super) turn: u32,
    pub(super) forked: bool,
    pub(super) link: Digest,
    pub(super) label: Option<String>,
    pub(super) is_pinned: bool,
    pub(super) body: String,
}

/// What the inner store keeps of a conversation, by its inner name.
pub(super) fn kept(inner: &dyn Backend, id: ConversationId) -> Vec<Kept> {
    let mut all = Vec::new();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let read = inner.snapshot(&mut |rows| {
        rows.messages(id, Which::Range(Order::OldestFirst, 0, u64::MAX), &mut |row| {
            all.push(Kept {
                id: row.id,
                parent: row.parent,
                seq: row.seq,
                turn: row.turn,
                forked: row.forked,
                link: row.link,
                label: row.label.map(text),
                is_pinned: row.is_pinned,
                body: text(row.body),
            });
            Ok(())
        })
    });
    read.unwrap();
    all
}

/// A store that shows other messages to whoever reads some, if that is set.
pub(super) type Altered = Keeper<Interposed<Showing>>;

/// What such a store shows.
pub(super) struct Showing {
    inner: MemoryStore,
    shown: Mutex<Option<Vec<Kept>>>,
}

impl Showing {
    pub(super) fn show(&self, shown: Vec<Kept>) {
        *self.shown.lock().unwrap() = Some(shown);
    }
}

pub(super) fn altered() -> Arc<Altered> {
    let showing = Showing { inner: MemoryStore::new(), shown: Mutex::default() };
    Arc::new(Keeper::over(Interposed(Arc::new(showing))))
}

impl Interpose for Showing {
    fn backend(&self) -> &dyn Backend {
        &self.inner
    }

    fn messages(
        &self,
        rows: &dyn Rows,
        id: ConversationId,
        which: Which<'_>,
        visit: &mut dyn FnMut(&MessageRow<'_>) -> Result<()>,
    ) -> Result<()> {
        let shown = self.shown.lock().unwrap();
        let Some(shown) = shown.as_ref() else { return rows.messages(id, which, visit) };
        shown.iter().try_for_each(|kept| {
            visit(&MessageRow {
                id: kept.id,
                parent: kept.parent,
                seq: kept.seq,
                turn: kept.turn,
                forked: kept.forked,
                link: kept.link,
                label: kept.label.as_deref().map(str::as_bytes),
                is_pinned: kept.is_pinned,
                body: kept.body.as_bytes(),
                size: kept.body.len() as u64,
            })
        })
    }
}
