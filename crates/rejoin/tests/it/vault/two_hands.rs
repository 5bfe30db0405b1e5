//! Two handles of one vault that take turns, so that each meets what the other did.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rejoin::store::{
    Appended, Capabilities, Change, Changed, Found, Hit, ListQuery, Named, Outcome, Page, Progress, Put,
    Read, Row, Safety, SearchQuery, Selection, Space, Stamp, Store, Target, Task, Turn, VaultStore, Version,
    Visit, VisitBlob,
};
use rejoin::{ConversationId, Result, Time};

use crate::vault::sealed;

/// Of so many calls the second handle gets the last two.
const CALLS: usize = 9;

/// A vault that is used through two handles.
pub(crate) struct TwoHands {
    hands: [VaultStore; 2],
    calls: AtomicUsize,
}

impl TwoHands {
    pub(crate) fn over(inner: Arc<dyn Store>) -> Self {
        let hands = [sealed(Arc::clone(&inner)), sealed(inner)];
        Self { hands, calls: AtomicUsize::new(0) }
    }

    fn next(&self) -> &VaultStore {
        let call = self.calls.fetch_add(1, Ordering::Relaxed) % CALLS;
        &self.hands[usize::from(call >= CALLS - 2)]
    }
}

impl Read for TwoHands {
    fn capabilities(&self) -> Capabilities {
        self.hands[0].capabilities()
    }

    fn read(&self, id: ConversationId, what: Selection<'_>, visit: &mut Visit<'_>) -> Result<()> {
        self.hands[1].read(id, what, visit)
    }

    fn list(&self, query: &ListQuery<'_>) -> Result<Page<Row>> {
        self.hands[1].list(query)
    }

    fn find(&self, text: &str, limit: usize) -> Result<Vec<Found>> {
        self.hands[1].find(text, limit)
    }

    fn search(&self, query: &SearchQuery<'_>) -> Result<Page<Hit>> {
        self.hands[1].search(query)
    }

    fn changes(&self, after: Stamp, wait: Duration) -> Result<Vec<Changed>> {
        self.hands[1].changes(after, wait)
    }

    fn get(
        &self,
        space: Space,
        owner: Option<ConversationId>,
        named: Named<'_>,
        visit: &mut VisitBlob<'_>,
    ) -> Result<()> {
        self.hands[1].get(space, owner, named, visit)
    }
}

impl Store for TwoHands {
    fn append(&self, turn: &Turn<'_>) -> Result<Appended> {
        self.next().append(turn)
    }

    fn amend(
        &self,
        id: ConversationId,
        expected: Option<Version>,
        change: &Change<'_>,
        at: Time,
    ) -> Result<Version> {
        self.next().amend(id, expected, change, at)
    }

    fn remove(&self, targets: &[Target<'_>], reason: &str, at: Time) -> Result<Vec<Outcome>> {
        self.next().remove(targets, reason, at)
    }

    fn put(&self, blobs: &[Put<'_>], safety: Safety) -> Result<()> {
        self.next().put(blobs, safety)
    }

    fn maintain(&self, task: Task, budget: Duration) -> Result<Progress> {
        self.next().maintain(task, budget)
    }
}
