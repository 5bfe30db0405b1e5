//! The keeper decides appends, changes and removals, once for all backends.
//!
//! It reads a snapshot, decides, and hands the backend changes, never whole rows. `append.rs` decides where a
//! turn goes and whether it starts a branch, `amend.rs` and `remove.rs` what becomes of a conversation,
//! `read.rs` which messages a read visits. Lists, lookups and searches go to the backend's index if it has
//! one; otherwise `scan.rs` visits everything.

mod activity;
mod amend;
mod append;
mod read;
mod remove;
mod scan;

use std::time::Duration;

pub(in crate::store) use amend::amend_rows;
pub(crate) use amend::rewrite;
pub(in crate::store) use read::visit_rows;

use crate::error::{Error, Result};
use crate::model::{ConversationId, MessageId, Time};
use crate::store::backend::{
    Backend, Batch, CommitHint, ConversationRow, Decide, Presence, Rows, State, Trim, forward, unknown,
};
use crate::store::{
    Appended, BlobNames, Capabilities, Change, Changed, Found, Hit, ListQuery, Outcome, Page, Progress, Put,
    Read, Row, Safety, SearchQuery, Selection, Space, Stamp, Store, Target, Task, Turn, Version, Visit,
    VisitBlob,
};

/// Keeps conversations in a backend: a [`Store`] with every rule of the contract, which asks the
/// backend for rows and hands it edits.
///
/// It pages, filters, searches and looks up names by reading rows where the backend has no index for it.
#[derive(Clone, Debug)]
pub struct Keeper<B> {
    backend: B,
}

impl<B: Backend> Keeper<B> {
    /// Makes a store of a backend.
    pub const fn over(backend: B) -> Self {
        Self { backend }
    }

    /// The backend.
    pub const fn backend(&self) -> &B {
        &self.backend
    }

    /// Gives the backend back.
    pub fn into_backend(self) -> B {
        self.backend
    }
}

/// A store stands for its backend where one is asked for.
impl<B: Backend> Backend for Keeper<B> {
    forward!(self, self.backend);
}

/// The answer of `work`, which reads a snapshot.
fn snapshot<T>(backend: &dyn Backend, mut work: impl FnMut(&dyn Rows) -> Result<T>) -> Result<T> {
    let mut answer = None;
    backend.snapshot(&mut |rows| {
        answer = Some(work(rows)?);
        Ok(())
    })?;
    Ok(answer.expect("a snapshot that succeeded was read"))
}

/// A page of a list, as the backend has it.
pub(crate) fn list_rows(backend: &dyn Backend, query: &ListQuery<'_>) -> Result<Page<ConversationRow>> {
    match backend.list_indexed(query)? {
        Some(page) => Ok(page),
        None => snapshot(backend, |rows| scan::list(rows, query)),
    }
}

/// What decisions need to know of a conversation, which has to be there.
fn present(rows: &dyn Rows, id: ConversationId) -> Result<State> {
    match rows.state(id)? {
        Presence::Stored(state) => Ok(state),
        Presence::Absent => Err(unknown(id)),
        Presence::Lost(error) => Err(error),
    }
}

/// Refuses blobs of conversations that are not there; one may be made together with its blobs.
fn check_owners(rows: &dyn Rows, blobs: &[Put<'_>], being_made: Option<ConversationId>) -> Result<()> {
    // Blobs that are stored together mostly belong together.
    let mut seen = being_made;
    for owner in blobs.iter().filter_map(|blob| blob.owner) {
        if seen != Some(owner) && being_made != Some(owner) {
            if !rows.has(owner)? {
                return Err(unknown(owner));
            }
            seen = Some(owner);
        }
    }
    Ok(())
}

fn no_message(id: MessageId) -> Error {
    Error::not_found(format!("no message `{id}` in this conversation"))
}

impl<B: Backend> Read for Keeper<B> {
    fn capabilities(&self) -> Capabilities {
        self.backend.capabilities()
    }

    fn read(&self, id: ConversationId, what: Selection<'_>, visit: &mut Visit<'_>) -> Result<()> {
        self.backend.snapshot(&mut |rows| read::read(rows, id, what, visit))
    }

    fn list(&self, query: &ListQuery<'_>) -> Result<Page<Row>> {
        Ok(list_rows(&self.backend, query)?.map(ConversationRow::into_row))
    }

    fn find(&self, text: &str, limit: usize) -> Result<Vec<Found>> {
        match self.backend.find_indexed(text, limit)? {
            Some(found) => Ok(found),
            None => snapshot(&self.backend, |rows| scan::find(rows, text, limit)),
        }
    }

    fn search(&self, query: &SearchQuery<'_>) -> Result<Page<Hit>> {
        match self.backend.search_indexed(query)? {
            Some(page) => Ok(page),
            None => {
                let reads_on = self.backend.capabilities().reads_past_damage;
                snapshot(&self.backend, |rows| scan::search(rows, query, reads_on))
            }
        }
    }

    fn changes(&self, after: Stamp, wait: Duration) -> Result<Vec<Changed>> {
        self.backend.changes(after, wait)
    }

    fn get(
        &self,
        space: Space,
        owner: Option<ConversationId>,
        named: BlobNames<'_>,
        visit: &mut VisitBlob<'_>,
    ) -> Result<()> {
        match named {
            BlobNames::One(name) => match self.backend.blob(space, owner, name)? {
                Some(bytes) => visit(name, &bytes),
                None => Ok(()),
            },
            BlobNames::Prefix(_) => self.backend.snapshot(&mut |rows| rows.blobs(space, owner, named, visit)),
        }
    }
}

impl<B: Backend> Store for Keeper<B> {
    fn append(&self, turn: &Turn<'_>) -> Result<Appended> {
        append::append(&self.backend, turn)
    }

    fn append_all(&self, turns: &[Turn<'_>]) -> Result<Vec<Appended>> {
        append::append_all(&self.backend, turns)
    }

    fn amend(
        &self,
        id: ConversationId,
        expected: Option<Version>,
        change: &Change<'_>,
        at: Time,
    ) -> Result<Version> {
        amend::amend(&self.backend, id, expected, change, at)
    }

    fn remove(&self, targets: &[Target<'_>], reason: &str, at: Time) -> Result<Vec<Outcome>> {
        remove::remove(&self.backend, targets, reason, at)
    }

    fn put(&self, blobs: &[Put<'_>], safety: Safety) -> Result<()> {
        let hint = CommitHint { attempt: "store blobs", ..CommitHint::default() };
        self.backend.commit(&hint, safety, &mut |rows| {
            check_owners(rows, blobs, None)?;
            Ok(Batch { blobs: blobs.into(), ..Batch::NOTHING })
        })
    }

    fn maintain(&self, task: Task, budget: Duration) -> Result<Progress> {
        self.backend.upkeep(task, budget)
    }
}

#[cfg(test)]
impl<B: Backend> Keeper<B> {
    /// What a search answers that reads every message, whatever index the backend has.
    pub(crate) fn search_without_index(&self, query: &SearchQuery<'_>) -> Result<Page<Hit>> {
        let reads_on = self.backend.capabilities().reads_past_damage;
        snapshot(&self.backend, |rows| scan::search(rows, query, reads_on))
    }
}
