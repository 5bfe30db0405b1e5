//! What programs see of the archive.

mod attachment;
mod attachment_races;
mod audit;
mod cut_off;
mod delete;
mod describe;
mod fault;
pub(crate) mod moody;
mod name;
mod prompt_history;
mod purge;
mod query;
mod read;
mod record;
mod residue;
mod retention;
mod save;
mod share;
mod status;
mod subagent;
mod verify;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use rejoin::store::{MemoryStore, SqliteStore};
use rejoin::{Archive, Message, MessageId, Nature, StoredMessage, Time};

use crate::held::Held;

/// A nature that a test decides: the time stands still, and ids count up.
#[derive(Debug)]
pub(crate) struct Lab {
    micros: AtomicI64,
    drawn: AtomicU64,
    /// How often the same bytes come before the next; 1 in a healthy nature.
    repeats: u64,
}

impl Lab {
    pub(crate) fn new() -> Arc<Self> {
        Self::repeating(1)
    }

    fn repeating(repeats: u64) -> Arc<Self> {
        let micros = AtomicI64::new(1_800_000_000_000_000);
        Arc::new(Self { micros, drawn: AtomicU64::new(0), repeats })
    }

    pub(crate) fn turn_clock(&self, seconds: i64) {
        self.micros.fetch_add(seconds * 1_000_000, Ordering::Relaxed);
    }

    fn drawn(&self) -> u64 {
        self.drawn.load(Ordering::Relaxed)
    }
}

impl Nature for Lab {
    fn now(&self) -> Time {
        Time::from_micros(self.micros.load(Ordering::Relaxed))
    }

    fn fill(&self, bytes: &mut [u8]) {
        let number = self.drawn.fetch_add(1, Ordering::Relaxed) / self.repeats + 1;
        bytes.fill(0);
        // The last bytes make the short id, the first ones a message's.
        let end = bytes.len() - 4;
        bytes[end..].copy_from_slice(&u32::try_from(number).unwrap().to_be_bytes());
        bytes[..4].copy_from_slice(&u32::try_from(number * 7_919).unwrap().to_le_bytes());
    }
}

fn archive() -> Held {
    archive_in(&Lab::new())
}

fn archive_in(lab: &Arc<Lab>) -> Held {
    Held::over(Arc::new(MemoryStore::new())).with_nature(lab.clone())
}

/// An archive in a file, with the machine's own nature.
fn archive_at(path: &Path) -> Archive {
    Archive::with_store(Arc::new(SqliteStore::open(path).unwrap()))
}

/// What was said, one word per message.
fn said(messages: &[StoredMessage]) -> String {
    messages.iter().map(|stored| stored.message.text()).collect::<Vec<_>>().join(" ")
}

fn ids(messages: &[StoredMessage]) -> Vec<MessageId> {
    messages.iter().map(|stored| stored.id).collect()
}

/// Messages that say these words, in turn by a person and a model.
fn talk(words: &[&str]) -> Vec<Message> {
    let message = |(place, word): (usize, &&str)| match place % 2 {
        0 => Message::user(*word),
        _ => Message::assistant(*word),
    };
    words.iter().enumerate().map(message).collect()
}
