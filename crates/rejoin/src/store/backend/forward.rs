//! Backends that stand for another one.

use std::sync::Arc;
use std::time::Duration;

use crate::error::Result;
use crate::model::ConversationId;
use crate::store::backend::{Backend, CommitHint, ConversationRow, Decide, Rows, Trim};
use crate::store::{
    Capabilities, Changed, Found, Hit, ListQuery, Page, Progress, Safety, SearchQuery, Space, Stamp, Task,
};

/// Passes every call on to another backend.
macro_rules! forward {
    ($self:ident, $to:expr) => {
        fn commit<'a>(&$self, hint: &CommitHint<'_>, safety: Safety, decide: &mut Decide<'_, 'a>) -> Result<()> {
            $to.commit(hint, safety, decide)
        }

        fn commit_each<'a>(
            &$self,
            hints: &[CommitHint<'_>],
            safety: Safety,
            decide: &mut $crate::store::backend::DecideEach<'_, 'a>,
        ) -> Result<()> {
            $to.commit_each(hints, safety, decide)
        }

        $crate::store::backend::forward_but_commits!($self, $to);
    };
}

/// Passes every call on to another backend, but for commits.
macro_rules! forward_but_commits {
    ($self:ident, $to:expr) => {
        fn capabilities(&$self) -> Capabilities {
            $to.capabilities()
        }

        fn snapshot(&$self, work: &mut dyn FnMut(&dyn Rows) -> Result<()>) -> Result<()> {
            $to.snapshot(work)
        }

        fn erasing(&$self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
            $to.erasing(work)
        }

        fn make_room(&$self, id: ConversationId, trim: &mut Trim<'_>) -> Result<()> {
            $to.make_room(id, trim)
        }

        fn blob(&$self, space: Space, owner: Option<ConversationId>, name: &[u8]) -> Result<Option<Vec<u8>>> {
            $to.blob(space, owner, name)
        }

        fn changes(&$self, after: Stamp, wait: Duration) -> Result<Vec<Changed>> {
            $to.changes(after, wait)
        }

        fn upkeep(&$self, task: Task, budget: Duration) -> Result<Progress> {
            $to.upkeep(task, budget)
        }

        fn list_indexed(&$self, query: &ListQuery<'_>) -> Result<Option<Page<ConversationRow>>> {
            $to.list_indexed(query)
        }

        fn search_indexed(&$self, query: &SearchQuery<'_>) -> Result<Option<Page<Hit>>> {
            $to.search_indexed(query)
        }

        fn find_indexed(&$self, text: &str, limit: usize) -> Result<Option<Vec<Found>>> {
            $to.find_indexed(text, limit)
        }
    };
}

pub(crate) use {forward, forward_but_commits};

/// A backend that is borrowed.
impl<B: Backend + ?Sized> Backend for &B {
    forward!(self, (**self));
}

/// A backend that several share.
impl<B: Backend + ?Sized> Backend for Arc<B> {
    forward!(self, (**self));
}
