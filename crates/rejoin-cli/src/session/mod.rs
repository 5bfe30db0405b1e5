//! A session: a conversation made ready to talk in, with its provider, what the model is told first and its
//! tools, and a single turn of it. The loop of a turn is in `rejoin_agent`, the prompt in `prompt`.

pub(crate) mod banner;
pub(crate) mod choose;
pub(crate) mod command_file;
pub(crate) mod idle;
mod initial;
pub(crate) mod leftover;
mod once;
mod partner;
mod prepare;
mod quiet;
pub(crate) mod reach;
mod state;
pub(crate) mod stop;
pub(crate) mod summary;
pub(crate) mod tools;
mod unsaved;
pub(crate) mod which;
mod writer;

pub(crate) use once::{TalkInput, Then, say};
pub(crate) use partner::{Partner, partner};
pub(crate) use prepare::{FirstSave, HintPlace, Session, SessionOverrides, Start};
pub(crate) use quiet::{Asked, Quiet};
pub(crate) use unsaved::UnsavedReason;
pub(crate) use writer::{lives as writer_lives, own as own_writer};

use std::time::Duration;

use crate::error::Failure;

/// How long a computed synopsis may take to be stored when a talk is left.
pub(crate) const GRACE: Duration = Duration::from_secs(2);

pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::io("start the runtime", error))
}
