//! A backend around another one: what a test wants of every commit or of every look is said once.

use std::sync::Arc;
use std::time::Duration;

use super::Write;
use rejoin::Result;
use rejoin::store::backend::{
    Backend, Batch, CommitHint, ConversationRow, MessageRow, Node, Presence, Rows, State, Which,
};
use rejoin::store::{
    BlobNames, Capabilities, Changed, Found, Hit, ListQuery, Page, Progress, Put, Safety, SearchQuery, Space,
    Task,
};
use rejoin::{ConversationId, Digest, MessageId, Time};

/// What a test does around every call of a backend. What is not said here passes through.
pub(crate) trait Interpose: Send + Sync {
    /// The backend that does the work.
    fn backend(&self) -> &dyn Backend;

    /// What every commit and all upkeep passes through.
    fn writing(&self, _: Write, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        work()
    }

    /// What every look passes through.
    fn reading(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        work()
    }

    /// What a look at messages visits.
    fn messages(
        &self,
        rows: &dyn Rows,
        id: ConversationId,
        which: Which<'_>,
        visit: &mut dyn FnMut(&MessageRow<'_>) -> Result<()>,
    ) -> Result<()> {
        rows.messages(id, which, visit)
    }

    /// Called after blobs were looked at, with how many bytes they have.
    fn looked(&self, _: Space, _: BlobNames<'_>, _: usize) {}

    /// Called with the blobs that are about to be stored.
    fn storing(&self, _: &[Put<'_>]) {}
}

/// A backend with a test around it.
#[derive(Debug)]
pub(crate) struct Interposed<T>(pub Arc<T>);

impl Write {
    /// What a commit is for.
    fn of(hint: &CommitHint<'_>) -> Self {
        match hint.attempt {
            "append a turn" => Self::Append,
            "change a conversation" => Self::Amend,
            "remove a conversation" | "remove messages" => Self::Remove,
            _ => Self::Put,
        }
    }
}

/// The answer of `work`, which `around` lets happen.
fn through<T>(
    around: impl FnOnce(&mut dyn FnMut() -> Result<()>) -> Result<()>,
    mut work: impl FnMut() -> Result<T>,
) -> Result<T> {
    let mut answer = None;
    around(&mut || {
        answer = Some(work()?);
        Ok(())
    })?;
    Ok(answer.expect("what succeeded was done"))
}

impl<T: Interpose> Backend for Interposed<T> {
    fn capabilities(&self) -> Capabilities {
        self.0.backend().capabilities()
    }

    fn snapshot(&self, work: &mut dyn FnMut(&dyn Rows) -> Result<()>) -> Result<()> {
        self.0.reading(&mut || {
            self.0.backend().snapshot(&mut |rows| work(&Shown { test: self.0.as_ref(), rows }))
        })
    }

    fn commit<'a>(
        &self,
        hint: &CommitHint<'_>,
        safety: Safety,
        decide: &mut dyn FnMut(&dyn Rows) -> Result<Batch<'a>>,
    ) -> Result<()> {
        self.0.writing(Write::of(hint), &mut || {
            self.0.backend().commit(hint, safety, &mut |rows| {
                let batch = decide(&Shown { test: self.0.as_ref(), rows })?;
                self.0.storing(&batch.blobs);
                Ok(batch)
            })
        })
    }

    fn commit_each<'a>(
        &self,
        hints: &[CommitHint<'_>],
        safety: Safety,
        decide: &mut dyn FnMut(usize, &dyn Rows) -> Result<Batch<'a>>,
    ) -> Result<()> {
        let Some(first) = hints.first() else { return Ok(()) };
        self.0.writing(Write::of(first), &mut || {
            self.0.backend().commit_each(hints, safety, &mut |place, rows| {
                let batch = decide(place, &Shown { test: self.0.as_ref(), rows })?;
                self.0.storing(&batch.blobs);
                Ok(batch)
            })
        })
    }

    fn erasing(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        self.0.backend().erasing(work)
    }

    fn make_room(&self, id: ConversationId, trim: &mut dyn FnMut(&[MessageId]) -> Result<()>) -> Result<()> {
        self.0.backend().make_room(id, trim)
    }

    fn blob(&self, space: Space, owner: Option<ConversationId>, name: &[u8]) -> Result<Option<Vec<u8>>> {
        let found = through(|work| self.0.reading(work), || self.0.backend().blob(space, owner, name))?;
        self.0.looked(space, BlobNames::One(name), found.as_ref().map_or(0, Vec::len));
        Ok(found)
    }

    fn changes(&self, after: u64, wait: Duration) -> Result<Vec<Changed>> {
        through(|work| self.0.reading(work), || self.0.backend().changes(after, wait))
    }

    fn upkeep(&self, task: Task, budget: Duration) -> Result<Progress> {
        through(|work| self.0.writing(Write::Maintain, work), || self.0.backend().upkeep(task, budget))
    }

    fn list_indexed(&self, query: &ListQuery<'_>) -> Result<Option<Page<ConversationRow>>> {
        through(|work| self.0.reading(work), || self.0.backend().list_indexed(query))
    }

    fn search_indexed(&self, query: &SearchQuery<'_>) -> Result<Option<Page<Hit>>> {
        through(|work| self.0.reading(work), || self.0.backend().search_indexed(query))
    }

    fn find_indexed(&self, text: &str, limit: usize) -> Result<Option<Vec<Found>>> {
        through(|work| self.0.reading(work), || self.0.backend().find_indexed(text, limit))
    }
}

/// Rows as a test shows them.
struct Shown<'r, T> {
    test: &'r T,
    rows: &'r dyn Rows,
}

impl<T: Interpose> Rows for Shown<'_, T> {
    fn has(&self, id: ConversationId) -> Result<bool> {
        self.rows.has(id)
    }

    fn state(&self, id: ConversationId) -> Result<Presence> {
        self.rows.state(id)
    }

    fn active(&self, id: ConversationId, state: &State) -> Result<Time> {
        self.rows.active(id, state)
    }

    fn node(&self, id: ConversationId, message: MessageId) -> Result<Option<Node>> {
        self.rows.node(id, message)
    }

    fn vouches(&self, node: &Node, link: Digest) -> bool {
        self.rows.vouches(node, link)
    }

    fn nodes(&self, id: ConversationId, visit: &mut dyn FnMut(&Node) -> Result<()>) -> Result<()> {
        self.rows.nodes(id, visit)
    }

    fn messages(
        &self,
        id: ConversationId,
        which: Which<'_>,
        visit: &mut dyn FnMut(&MessageRow<'_>) -> Result<()>,
    ) -> Result<()> {
        self.test.messages(self.rows, id, which, visit)
    }

    fn conversation(&self, id: ConversationId) -> Result<Option<ConversationRow>> {
        self.rows.conversation(id)
    }

    fn conversations(&self, visit: &mut dyn FnMut(ConversationRow) -> Result<()>) -> Result<()> {
        self.rows.conversations(visit)
    }

    fn blobs(
        &self,
        space: Space,
        owner: Option<ConversationId>,
        named: BlobNames<'_>,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut bytes = 0;
        self.rows.blobs(space, owner, named, &mut |name, own| {
            bytes += own.len();
            visit(name, own)
        })?;
        self.test.looked(space, named, bytes);
        Ok(())
    }
}
