//! Talking: which conversation, with which provider, and one turn of it.

mod once;
mod partner;
mod session;
pub(crate) mod tools;

pub(crate) use once::once;
pub(crate) use session::{Overrides, Session, Start};

use crate::error::Failure;

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::io("start the runtime", error))
}
