//! A store one of whose calls fails: whichever, one after the other, so that
//! every way out of a task is taken.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rejoin::store::backend::Backend;
use rejoin::store::{
    Appended, BlobNames, Capabilities, Change, Changed, Found, Hit, Keeper, ListQuery, MemoryStore, Outcome,
    Page, Progress, Put, Read, Row, Safety, SearchQuery, Seen, Selection, Space, Store, Target, Task, Turn,
};
use rejoin::vault::{Quarantined, VaultAdmin};
use rejoin::{ConversationId, Error, ErrorKind, Result, Time};

use crate::doubles::{Interpose, Interposed, Write};

/// What a failure says.
pub(crate) const TOLD: &str = "the store failed";

/// A store in memory, one of whose calls fails.
pub(crate) struct Failing {
    inner: MemoryStore,
    /// How many calls there are until one fails; none does at zero.
    left: AtomicU64,
    kind: ErrorKind,
    /// Where given, the store says that it replaces keys, and that these slots were not reached.
    keys: Option<&'static [&'static str]>,
}

impl Failing {
    pub(crate) fn with(kind: ErrorKind) -> Self {
        Self { inner: MemoryStore::new(), left: AtomicU64::new(0), kind, keys: None }
    }

    pub(crate) fn renewing(mut self, unreached: &'static [&'static str]) -> Self {
        self.keys = Some(unreached);
        self
    }

    /// Lets a call fail, the first from now on being 1.
    pub(crate) fn fail_at(&self, call: u64) {
        self.left.store(call, Ordering::Relaxed);
    }

    /// Fails no more, and tells whether it did.
    pub(crate) fn heal(&self) -> bool {
        self.left.swap(0, Ordering::Relaxed) == 0
    }

    fn pass(&self) -> Result<()> {
        let before = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        if before == Ok(1) { Err(Error::new(self.kind, TOLD)) } else { Ok(()) }
    }
}

/// Does something to a new world for each of its calls, which fails, until none
/// does. Then what must hold is looked at.
pub(crate) fn at_every_call<W>(
    make: impl Fn() -> (Arc<Failing>, W),
    work: impl Fn(&W),
    look: impl Fn(u64, &W),
) -> u64 {
    let mut call = 1;
    loop {
        let (store, world) = make();
        store.fail_at(call);
        work(&world);
        let has_failed = store.heal();
        look(call, &world);
        if !has_failed {
            return call - 1;
        }
        call += 1;
    }
}

impl Interpose for Failing {
    fn backend(&self) -> &dyn Backend {
        &self.inner
    }

    fn writing(&self, _: Write, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        self.pass()?;
        work()
    }

    fn reading(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        self.pass()?;
        work()
    }
}

impl Failing {
    /// The same as what a vault is in.
    pub(crate) fn inside(self: &Arc<Self>) -> Arc<Keeper<Interposed<Self>>> {
        Arc::new(Keeper::over(Interposed(Arc::clone(self))))
    }
}

impl Read for Failing {
    fn capabilities(&self) -> Capabilities {
        Read::capabilities(&self.inner)
    }

    fn read(
        &self,
        id: ConversationId,
        what: Selection<'_>,
        visit: &mut dyn FnMut(Seen<'_>) -> Result<()>,
    ) -> Result<()> {
        self.pass()?;
        self.inner.read(id, what, visit)
    }

    fn list(&self, query: &ListQuery<'_>) -> Result<Page<Row>> {
        self.pass()?;
        self.inner.list(query)
    }

    fn find(&self, text: &str, limit: usize) -> Result<Vec<Found>> {
        self.pass()?;
        self.inner.find(text, limit)
    }

    fn search(&self, query: &SearchQuery<'_>) -> Result<Page<Hit>> {
        self.pass()?;
        self.inner.search(query)
    }

    fn changes(&self, after: u64, wait: Duration) -> Result<Vec<Changed>> {
        self.pass()?;
        Read::changes(&self.inner, after, wait)
    }

    fn get(
        &self,
        space: Space,
        owner: Option<ConversationId>,
        named: BlobNames<'_>,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        self.pass()?;
        self.inner.get(space, owner, named, visit)
    }
}

impl Store for Failing {
    fn append(&self, turn: &Turn<'_>) -> Result<Appended> {
        self.pass()?;
        self.inner.append(turn)
    }

    fn append_all(&self, turns: &[Turn<'_>]) -> Result<Vec<Appended>> {
        self.pass()?;
        self.inner.append_all(turns)
    }

    fn amend(&self, id: ConversationId, expected: Option<u64>, change: &Change<'_>, at: Time) -> Result<u64> {
        self.pass()?;
        self.inner.amend(id, expected, change, at)
    }

    fn remove(&self, targets: &[Target<'_>], reason: &str, at: Time) -> Result<Vec<Outcome>> {
        self.pass()?;
        self.inner.remove(targets, reason, at)
    }

    fn put(&self, blobs: &[Put<'_>], safety: Safety) -> Result<()> {
        self.pass()?;
        self.inner.put(blobs, safety)
    }

    fn maintain(&self, task: Task, budget: Duration) -> Result<Progress> {
        self.pass()?;
        self.inner.maintain(task, budget)
    }
}

impl VaultAdmin for Failing {
    fn token_key(&self) -> [u8; 32] {
        [7; 32]
    }

    fn replaces_keys(&self) -> bool {
        self.keys.is_some()
    }

    fn replace_keys(&self, _: Duration) -> Result<Vec<String>> {
        self.pass()?;
        Ok(self.keys.unwrap_or_default().iter().map(|slot| (*slot).to_owned()).collect())
    }

    fn replace_key_of(&self, _: ConversationId, _: Duration) -> Result<()> {
        self.pass()
    }

    fn quarantined(&self) -> Result<Vec<Quarantined>> {
        Ok(Vec::new())
    }

    fn discard(&self, _: &[Quarantined]) -> Result<()> {
        Ok(())
    }
}
