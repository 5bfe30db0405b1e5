//! The systems that are measured, and the references they are measured against.

mod json_lines;
mod message;
mod raw_file;
mod rejoin;
mod sqlite_bare;
mod viewed;

use std::path::Path;

use crate::worker::{Serve, Worker};
use rejoin_bench::failure::Result;

use self::rejoin::{Jsonl, Rejoin};
use json_lines::JsonLines;
use raw_file::RawFile;
use sqlite_bare::SqliteBare;
use viewed::ViewedRejoin;

pub(crate) const RAW_FILE: &str = "raw-file";
pub(crate) const JSON_LINES: &str = "json-lines";
pub(crate) const SQLITE_BARE: &str = "sqlite-bare";
pub(crate) const REJOIN: &str = "rejoin";
pub(crate) const REJOIN_VIEWED: &str = "rejoin-viewed";
pub(crate) const REJOIN_JSONL: &str = "rejoin-jsonl";

/// The stores that take part in every run.
pub(crate) const BUILT_IN: &[&str] = &[REJOIN, SQLITE_BARE];

/// A store of conversations that can be measured.
///
/// One value lives in one process of its own. It remembers a current conversation, on which append, load and
/// fork work. What is timed is said at each method; everything else may take its time.
pub(crate) trait Contestant: Sized {
    /// A turn in the contestant's own types, ready to be handed to `append`.
    type Turn;

    /// A conversation's messages as typed values that own their text.
    type Messages;

    /// Opens the store in the directory `place`, which may be empty.
    fn open(place: &Path) -> Result<Self>;

    /// Starts a conversation and makes it the current one.
    fn begin(&mut self, title: &str) -> Result<()>;

    /// Makes the newest conversation the current one.
    fn resume(&mut self) -> Result<()>;

    /// Turns lines of JSON, one message each, into what `append` takes.
    fn prepare(&self, lines: &[&str]) -> Result<Self::Turn>;

    /// Timed: adds the messages at the end of the current conversation. On return they survive a power cut.
    ///
    /// Usually four messages, while a store is being filled up to a thousand.
    fn append(&mut self, turn: Self::Turn) -> Result<()>;

    /// Does what a program would do between two turns. Its syncs are counted apart.
    fn rest(&mut self) -> Result<()>;

    /// Timed: loads every message of the current conversation, oldest first.
    fn load(&mut self) -> Result<Self::Messages>;

    /// Counts what was loaded, by looking at every message.
    fn weigh(messages: &Self::Messages) -> Loaded;

    /// Timed: returns the `limit` conversations that were active last, newest first.
    fn list(&mut self, limit: usize) -> Result<Vec<Listed>>;

    /// Timed: finds the newest `limit` messages that contain `word`, reads their
    /// text, and returns how many there are.
    fn search(&mut self, word: &str, limit: usize) -> Result<usize>;

    /// Timed: forks the current conversation at its middle message. On return the fork survives a power cut.
    fn fork(&mut self, title: &str) -> Result<()>;

    /// Brings the full-text index up to date with all messages.
    fn index(&mut self) -> Result<()>;

    /// Leaves every byte in its final place, with an empty log, so that files can be weighed.
    fn checkpoint(&mut self) -> Result<()>;
}

/// What a load returned, so that the driver can check that nobody loads less than the others.
pub(crate) struct Loaded {
    pub(crate) messages: usize,
    /// Bytes in text blocks and tool results.
    pub(crate) text_bytes: usize,
}

/// One line of a list.
pub(crate) struct Listed {
    pub(crate) title: String,
    /// The beginning of the first message.
    pub(crate) first: String,
    /// The beginning of the last message.
    pub(crate) last: String,
    pub(crate) active: i64,
    pub(crate) messages: i64,
}

/// Opens a contestant or a reference by name, behind the protocol.
pub(crate) fn open(name: &str, place: &Path) -> Result<Box<dyn Serve>> {
    match name {
        RAW_FILE => Ok(Box::new(RawFile::open(place)?)),
        JSON_LINES => Ok(Box::new(JsonLines::new())),
        REJOIN_VIEWED => Ok(Box::new(ViewedRejoin::open(place)?)),
        REJOIN => Ok(Box::new(Worker::new(<Rejoin>::open(place)?))),
        REJOIN_JSONL => Ok(Box::new(Worker::new(Rejoin::<Jsonl>::open(place)?))),
        SQLITE_BARE => Ok(Box::new(Worker::new(SqliteBare::open(place)?))),
        unknown => Err(format!("there is no contestant `{unknown}`").into()),
    }
}

/// Lists the newest conversations once, as a one-shot command would.
pub(crate) fn list_once(name: &str, place: &Path, limit: usize) -> Result<Vec<Listed>> {
    match name {
        REJOIN => <Rejoin>::open(place)?.list(limit),
        REJOIN_JSONL => Rejoin::<Jsonl>::open(place)?.list(limit),
        SQLITE_BARE => SqliteBare::open(place)?.list(limit),
        unknown => Err(format!("`{unknown}` has no list").into()),
    }
}
