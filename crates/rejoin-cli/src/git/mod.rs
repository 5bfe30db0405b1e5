//! The project's repository: the commit that a conversation begins at, and commits of sessions.

mod head;
mod repository;
mod session;

pub(crate) use head::head_of;
pub(crate) use session::commit_session;
