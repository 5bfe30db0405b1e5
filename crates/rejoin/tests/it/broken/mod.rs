//! The test of the tests: for every rule a store that breaks it, which the rule must reject.

mod append;
mod change;
mod list;
mod lookup;
mod read;
mod rewrite;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rejoin::store::{
    Appended, BlobNames, Capabilities, Change, Changed, Found, Hit, ListQuery, MemoryStore, Outcome, Page,
    Progress, Put, Read, Row, Safety, SearchQuery, Seen, Selection, Space, Store, Target, Task, Turn,
};
use rejoin::testing::{Place, check, rules};
use rejoin::{ConversationId, Result, Time};

/// A way to remove.
type Removal = fn(&Broken, &[Target<'_>], &str, Time) -> Result<Vec<Outcome>>;

/// A rule, and a way to break it.
type Fault = (&'static str, Hook);

type Get = fn(
    &Broken,
    Space,
    Option<ConversationId>,
    BlobNames<'_>,
    &mut dyn FnMut(&[u8], &[u8]) -> Result<()>,
) -> Result<()>;

/// What a broken store does in the place of one method.
#[derive(Clone, Copy)]
enum Hook {
    Nothing,
    Capabilities(fn(&Broken) -> Capabilities),
    Read(fn(&Broken, ConversationId, Selection<'_>, &mut dyn FnMut(Seen<'_>) -> Result<()>) -> Result<()>),
    List(fn(&Broken, &ListQuery<'_>) -> Result<Page<Row>>),
    Find(fn(&Broken, &str, usize) -> Result<Vec<Found>>),
    Search(fn(&Broken, &SearchQuery<'_>) -> Result<Page<Hit>>),
    Changes(fn(&Broken, u64, Duration) -> Result<Vec<Changed>>),
    Get(Get),
    Append(fn(&Broken, &Turn<'_>) -> Result<Appended>),
    AppendAll(fn(&Broken, &[Turn<'_>]) -> Result<Vec<Appended>>),
    Amend(fn(&Broken, ConversationId, Option<u64>, &Change<'_>, Time) -> Result<u64>),
    Remove(Removal),
    Put(fn(&Broken, &[Put<'_>], Safety) -> Result<()>),
    Maintain(fn(&Broken, Task, Duration) -> Result<Progress>),
}

/// A good store with one method replaced.
struct Broken {
    inner: MemoryStore,
    hook: Hook,
    /// How often the place had been opened before.
    reopened: usize,
}

impl Read for Broken {
    fn capabilities(&self) -> Capabilities {
        let Hook::Capabilities(hook) = self.hook else { return self.inner.capabilities() };
        hook(self)
    }

    fn read(
        &self,
        id: ConversationId,
        what: Selection<'_>,
        visit: &mut dyn FnMut(Seen<'_>) -> Result<()>,
    ) -> Result<()> {
        let Hook::Read(hook) = self.hook else { return self.inner.read(id, what, visit) };
        hook(self, id, what, visit)
    }

    fn list(&self, query: &ListQuery<'_>) -> Result<Page<Row>> {
        let Hook::List(hook) = self.hook else { return self.inner.list(query) };
        hook(self, query)
    }

    fn find(&self, text: &str, limit: usize) -> Result<Vec<Found>> {
        let Hook::Find(hook) = self.hook else { return self.inner.find(text, limit) };
        hook(self, text, limit)
    }

    fn search(&self, query: &SearchQuery<'_>) -> Result<Page<Hit>> {
        let Hook::Search(hook) = self.hook else { return self.inner.search(query) };
        hook(self, query)
    }

    fn changes(&self, after: u64, wait: Duration) -> Result<Vec<Changed>> {
        let Hook::Changes(hook) = self.hook else { return self.inner.changes(after, wait) };
        hook(self, after, wait)
    }

    fn get(
        &self,
        space: Space,
        owner: Option<ConversationId>,
        named: BlobNames<'_>,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        let Hook::Get(hook) = self.hook else { return self.inner.get(space, owner, named, visit) };
        hook(self, space, owner, named, visit)
    }
}

impl Store for Broken {
    fn append(&self, turn: &Turn<'_>) -> Result<Appended> {
        let Hook::Append(hook) = self.hook else { return self.inner.append(turn) };
        hook(self, turn)
    }

    fn append_all(&self, turns: &[Turn<'_>]) -> Result<Vec<Appended>> {
        let Hook::AppendAll(hook) = self.hook else { return self.inner.append_all(turns) };
        hook(self, turns)
    }

    fn amend(&self, id: ConversationId, expected: Option<u64>, change: &Change<'_>, at: Time) -> Result<u64> {
        let Hook::Amend(hook) = self.hook else { return self.inner.amend(id, expected, change, at) };
        hook(self, id, expected, change, at)
    }

    fn remove(&self, targets: &[Target<'_>], reason: &str, at: Time) -> Result<Vec<Outcome>> {
        let Hook::Remove(hook) = self.hook else { return self.inner.remove(targets, reason, at) };
        hook(self, targets, reason, at)
    }

    fn put(&self, blobs: &[Put<'_>], safety: Safety) -> Result<()> {
        let Hook::Put(hook) = self.hook else { return self.inner.put(blobs, safety) };
        hook(self, blobs, safety)
    }

    fn maintain(&self, task: Task, budget: Duration) -> Result<Progress> {
        let Hook::Maintain(hook) = self.hook else { return self.inner.maintain(task, budget) };
        hook(self, task, budget)
    }
}

/// Memory whose stores are all broken in the same way.
struct Workshop {
    memory: MemoryStore,
    hook: Hook,
    opened: AtomicUsize,
}

impl Workshop {
    fn new(hook: Hook) -> Self {
        Self { memory: MemoryStore::new(), hook, opened: AtomicUsize::new(0) }
    }
}

impl Place for Workshop {
    fn open(&self) -> Arc<dyn Store> {
        let reopened = self.opened.fetch_add(1, Ordering::Relaxed);
        Arc::new(Broken { inner: self.memory.clone(), hook: self.hook, reopened })
    }
}

fn faults() -> Vec<Fault> {
    [read::FAULTS, list::FAULTS, lookup::FAULTS, append::FAULTS, change::FAULTS, rewrite::FAULTS].concat()
}

/// True when a rule is content with a store that has this hook.
fn accepts(rule: &str, hook: Hook) -> bool {
    catch_unwind(AssertUnwindSafe(|| check(rule, &Workshop::new(hook)))).is_ok()
}

#[test]
fn every_rule_is_content_with_a_store_that_is_not_broken() {
    let discontent: Vec<_> = rules().filter(|rule| !accepts(rule, Hook::Nothing)).collect();

    assert_eq!(discontent, [""; 0]);
}

#[test]
fn every_rule_rejects_a_store_that_breaks_it() {
    let blind: Vec<_> =
        faults().into_iter().filter(|(rule, hook)| accepts(rule, *hook)).map(|(rule, _)| rule).collect();

    assert_eq!(blind, [""; 0]);
}

#[test]
fn there_is_a_broken_store_for_every_rule() {
    let broken: BTreeSet<_> = faults().into_iter().map(|(rule, _)| rule).collect();
    let rules: BTreeSet<_> = rules().collect();

    assert_eq!(broken, rules);
}
