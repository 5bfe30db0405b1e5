//! The project's repository: the commit that a conversation begins at, and commits of sessions.

mod head;
mod programs;
mod repository;
mod session;
mod start;

pub(crate) use head::{first_commit, head_of};
pub(crate) use session::commit_session;
pub(crate) use start::version;
