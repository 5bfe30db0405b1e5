//! What the driver asks of a contestant's process and what it answers: one JSON object a line, each way.
//!
//! The README describes it for contestants in other languages. A contestant times itself, so
//! the cost of the pipe is in no sample.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(crate) enum Request {
    /// Stores the messages of a file of JSON lines, a new conversation every
    /// `per_conversation` lines. Not timed.
    Fill { file: PathBuf, per_conversation: usize },
    /// Starts a conversation and makes it the current one. Not timed.
    Begin,
    /// Makes the newest conversation the current one. Not timed.
    Resume,
    /// Reads turns of four lines from a file, for later appends. Not timed.
    Turns { file: PathBuf, skip: usize, count: usize },
    /// Appends the next turns to the current conversation, each durable before the next begins.
    Append { count: usize },
    /// Does what the contestant does while a person reads the answer, such as a checkpoint. Not timed.
    Rest,
    /// Loads every message of the current conversation into typed values.
    Load { count: usize },
    /// Lists the conversations that were active last.
    List { limit: usize, count: usize },
    /// Finds the newest messages that contain a word, and reads their text.
    Search { word: String, limit: usize, count: usize },
    /// Forks the current conversation at its middle message, durably.
    Fork { count: usize },
    /// Brings the full-text index up to date. Not timed.
    Index,
    /// Leaves every byte in its final place, with an empty log. Not timed.
    Checkpoint,
}

/// The answer to one request; an empty object says that the work is done.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Reply {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) samples: Vec<Sample>,
    /// How many messages or conversations the last sample returned.
    pub(crate) found: usize,
    /// How many bytes of text the last load returned.
    pub(crate) bytes: usize,
    /// The contestant has no such operation; its row is left out.
    pub(crate) unsupported: bool,
    pub(crate) error: Option<String>,
}

/// What one operation took, in microseconds.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Sample {
    pub(crate) wall: f64,
    /// Processor time of the whole process, user and kernel; zero if the contestant cannot tell.
    #[serde(default)]
    pub(crate) cpu: f64,
}
