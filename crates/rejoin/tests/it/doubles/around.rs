//! A store around another one: what a test wants of every write or of every read is said once.

use rejoin::store::{BlobNames, Put, Read, Safety, Seen, Selection, Space, Store};
use rejoin::{ConversationId, Result};

/// A call that writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Write {
    /// [`Store::append`] or [`Store::append_all`].
    Append,
    /// [`Store::amend`].
    Amend,
    /// [`Store::remove`].
    Remove,
    /// [`Store::put`].
    Put,
    /// [`Store::maintain`].
    Maintain,
}

/// A store that leaves the work to another one, for tests of what happens when that is slow, fails or dies.
///
/// What is not said here passes through. A wrapper that people use implements [`Store`]
/// itself, so that it forgets no method.
/// [`a_store!`] makes it a store.
pub(crate) trait Around: Send + Sync {
    /// The store that does the work.
    fn inner(&self) -> &dyn Store;

    /// What every write passes through.
    fn writing<T>(&self, _: Write, work: impl FnOnce(&dyn Store) -> Result<T>) -> Result<T> {
        work(self.inner())
    }

    /// What every read passes through.
    fn reading<T>(&self, work: impl FnOnce(&dyn Read) -> Result<T>) -> Result<T> {
        work(self.inner())
    }

    /// What a read of messages visits.
    fn visit(
        &self,
        id: ConversationId,
        what: Selection<'_>,
        visit: &mut dyn FnMut(Seen<'_>) -> Result<()>,
    ) -> Result<()> {
        self.reading(|inner| inner.read(id, what, visit))
    }

    /// What a read of blobs visits.
    fn visit_blobs(
        &self,
        space: Space,
        owner: Option<ConversationId>,
        named: BlobNames<'_>,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        self.reading(|inner| inner.get(space, owner, named, visit))
    }

    /// What a write of blobs stores.
    fn put_blobs(&self, blobs: &[Put<'_>], safety: Safety) -> Result<()> {
        self.writing(Write::Put, |inner| inner.put(blobs, safety))
    }
}

/// Makes a store of a type that is [`Around`] another one.
macro_rules! a_store {
    ($around:ty) => {
        const _: () = {
            use std::time::Duration;

            use rejoin::store::{
                Appended, BlobNames, Capabilities, Change, Changed, Found, Hit, ListQuery, Outcome, Page,
                Progress, Put, Read, Row, Safety, SearchQuery, Seen, Selection, Space, Store, Target, Task,
                Turn,
            };
            use rejoin::{ConversationId, Result, Time};

            use $crate::doubles::{Around, Write};

            impl Read for $around {
                fn capabilities(&self) -> Capabilities {
                    self.inner().capabilities()
                }

                fn read(
                    &self,
                    id: ConversationId,
                    what: Selection<'_>,
                    visit: &mut dyn FnMut(Seen<'_>) -> Result<()>,
                ) -> Result<()> {
                    self.visit(id, what, visit)
                }

                fn list(&self, query: &ListQuery<'_>) -> Result<Page<Row>> {
                    self.reading(|inner| inner.list(query))
                }

                fn find(&self, text: &str, limit: usize) -> Result<Vec<Found>> {
                    self.reading(|inner| inner.find(text, limit))
                }

                fn search(&self, query: &SearchQuery<'_>) -> Result<Page<Hit>> {
                    self.reading(|inner| inner.search(query))
                }

                fn changes(&self, after: u64, wait: Duration) -> Result<Vec<Changed>> {
                    self.reading(|inner| inner.changes(after, wait))
                }

                fn get(
                    &self,
                    space: Space,
                    owner: Option<ConversationId>,
                    named: BlobNames<'_>,
                    visit: &mut dyn FnMut(&[u8], &[u8]) -> Result<()>,
                ) -> Result<()> {
                    self.visit_blobs(space, owner, named, visit)
                }
            }

            impl Store for $around {
                fn append(&self, turn: &Turn<'_>) -> Result<Appended> {
                    self.writing(Write::Append, |inner| inner.append(turn))
                }

                fn append_all(&self, turns: &[Turn<'_>]) -> Result<Vec<Appended>> {
                    self.writing(Write::Append, |inner| inner.append_all(turns))
                }

                fn amend(
                    &self,
                    id: ConversationId,
                    expected: Option<u64>,
                    change: &Change<'_>,
                    at: Time,
                ) -> Result<u64> {
                    self.writing(Write::Amend, |inner| inner.amend(id, expected, change, at))
                }

                fn remove(&self, targets: &[Target<'_>], reason: &str, at: Time) -> Result<Vec<Outcome>> {
                    self.writing(Write::Remove, |inner| inner.remove(targets, reason, at))
                }

                fn put(&self, blobs: &[Put<'_>], safety: Safety) -> Result<()> {
                    self.put_blobs(blobs, safety)
                }

                fn maintain(&self, task: Task, budget: Duration) -> Result<Progress> {
                    self.writing(Write::Maintain, |inner| inner.maintain(task, budget))
                }
            }
        };
    };
}

pub(crate) use a_store;
