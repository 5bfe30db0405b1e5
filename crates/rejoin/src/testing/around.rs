//! A store around another one: what a test wants of every write or of every read is said once.

use std::time::Duration;

use crate::error::Result;
use crate::model::{ConversationId, Time};
use crate::store::{
    Appended, BlobNames, Capabilities, Change, Changed, Found, Hit, ListQuery, Outcome, Page, Progress, Put,
    Read, Row, Safety, SearchQuery, Selection, Space, Stamp, Store, Target, Task, Turn, Version, Visit,
    VisitBlob,
};

/// A call that writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
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
///
/// ```
/// use std::sync::Arc;
///
/// use rejoin::store::{MemoryStore, Store};
/// use rejoin::testing::{Around, Write};
/// use rejoin::{Error, ErrorKind, Result};
///
/// struct Full(MemoryStore);
///
/// impl Around for Full {
///     fn inner(&self) -> &dyn Store {
///         &self.0
///     }
///
///     fn writing<T>(&self, _: Write, _: impl FnOnce(&dyn Store) -> Result<T>) -> Result<T> {
///         Err(Error::new(ErrorKind::Unavailable, "the disk is full"))
///     }
/// }
///
/// let archive = rejoin::Archive::with_store(Arc::new(Full(MemoryStore::new())));
/// ```
pub trait Around: Send + Sync {
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
    fn visit(&self, id: ConversationId, what: Selection<'_>, visit: &mut Visit<'_>) -> Result<()> {
        self.reading(|inner| inner.read(id, what, visit))
    }

    /// What a read of blobs visits.
    fn visit_blobs(
        &self,
        space: Space,
        owner: Option<ConversationId>,
        named: BlobNames<'_>,
        visit: &mut VisitBlob<'_>,
    ) -> Result<()> {
        self.reading(|inner| inner.get(space, owner, named, visit))
    }

    /// What a write of blobs stores.
    fn put_blobs(&self, blobs: &[Put<'_>], safety: Safety) -> Result<()> {
        self.writing(Write::Put, |inner| inner.put(blobs, safety))
    }
}

impl<S: Around> Read for S {
    fn capabilities(&self) -> Capabilities {
        self.inner().capabilities()
    }

    fn read(&self, id: ConversationId, what: Selection<'_>, visit: &mut Visit<'_>) -> Result<()> {
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

    fn changes(&self, after: Stamp, wait: Duration) -> Result<Vec<Changed>> {
        self.reading(|inner| inner.changes(after, wait))
    }

    fn get(
        &self,
        space: Space,
        owner: Option<ConversationId>,
        named: BlobNames<'_>,
        visit: &mut VisitBlob<'_>,
    ) -> Result<()> {
        self.visit_blobs(space, owner, named, visit)
    }
}

impl<S: Around> Store for S {
    fn append(&self, turn: &Turn<'_>) -> Result<Appended> {
        self.writing(Write::Append, |inner| inner.append(turn))
    }

    fn append_all(&self, turns: &[Turn<'_>]) -> Result<Vec<Appended>> {
        self.writing(Write::Append, |inner| inner.append_all(turns))
    }

    fn amend(
        &self,
        id: ConversationId,
        expected: Option<Version>,
        change: &Change<'_>,
        at: Time,
    ) -> Result<Version> {
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
