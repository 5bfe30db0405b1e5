//! Wraps a store in one of your own: every method is forwarded, and appends are counted on the way. The trait has no
//! default bodies, so a wrapper that forgets a method does not compile.
//!
//!     cargo run -p rejoin --example own_store

#![expect(clippy::wildcard_imports, reason = "a wrapper names almost everything of the contract")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rejoin::store::*;
use rejoin::{Archive, Conversation, ConversationId, Message, Result, Time};

/// Counts the turns that were stored.
struct Counted<S> {
    inner: S,
    turns: AtomicU64,
}

impl<S: Read> Read for Counted<S> {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn read(&self, id: ConversationId, what: Selection<'_>, visit: &mut Visit<'_>) -> Result<()> {
        self.inner.read(id, what, visit)
    }

    fn list(&self, query: &ListQuery<'_>) -> Result<Page<Row>> {
        self.inner.list(query)
    }

    fn find(&self, text: &str, limit: usize) -> Result<Vec<Found>> {
        self.inner.find(text, limit)
    }

    fn search(&self, query: &SearchQuery<'_>) -> Result<Page<Hit>> {
        self.inner.search(query)
    }

    fn changes(&self, after: Stamp, wait: Duration) -> Result<Vec<Changed>> {
        self.inner.changes(after, wait)
    }

    fn get(
        &self,
        space: Space,
        owner: Option<ConversationId>,
        named: Named<'_>,
        visit: &mut VisitBlob<'_>,
    ) -> Result<()> {
        self.inner.get(space, owner, named, visit)
    }
}

impl<S: Store> Store for Counted<S> {
    fn append(&self, turn: &Turn<'_>) -> Result<Appended> {
        let appended = self.inner.append(turn)?;
        // A turn without messages opens a conversation; a replayed one was stored before.
        if !turn.entries.is_empty() && !appended.replayed {
            self.turns.fetch_add(1, Ordering::Relaxed);
        }
        Ok(appended)
    }

    fn append_all(&self, turns: &[Turn<'_>]) -> Result<Vec<Appended>> {
        turns.iter().map(|turn| self.append(turn)).collect()
    }

    fn amend(
        &self,
        id: ConversationId,
        expected: Option<Version>,
        change: &Change<'_>,
        at: Time,
    ) -> Result<Version> {
        self.inner.amend(id, expected, change, at)
    }

    fn remove(&self, targets: &[Target<'_>], reason: &str, at: Time) -> Result<Vec<Outcome>> {
        self.inner.remove(targets, reason, at)
    }

    fn put(&self, blobs: &[Put<'_>], safety: Safety) -> Result<()> {
        self.inner.put(blobs, safety)
    }

    fn maintain(&self, task: Task, budget: Duration) -> Result<Progress> {
        self.inner.maintain(task, budget)
    }
}

fn main() -> Result<()> {
    let store = Arc::new(Counted { inner: MemoryStore::new(), turns: AtomicU64::new(0) });
    let archive = Archive::with_store(store.clone());
    let mut trip = archive.start(Conversation::titled("Lisbon"))?;
    trip.append(Message::user("Where should we eat?"))?;
    trip.append(Message::assistant("A tasca in Alfama."))?;
    assert_eq!(store.turns.load(Ordering::Relaxed), 2);
    println!("2 turns were stored");
    Ok(())
}
