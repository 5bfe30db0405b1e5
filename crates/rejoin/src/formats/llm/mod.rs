//! llm: `logs.db`, with one or both of two schemas.
//!
//! ```text
//!   since 0.32   threads ── turns          a thread points to its newest message; a turn is one call of a
//!                  │          │            model, with its cost
//!                  ▼          ▼
//!                messages ◄─ messages      named by a hash of contents and parent, shared by threads
//!                  └ parts
//!
//!   before       conversations ── responses      a prompt and its answer in one row
//! ```
//!
//! A database that was used by both versions has both. A conversation that was started before and continued
//! since is a thread with the same id, whose messages repeat the earlier ones; its earlier rows are kept next
//! to it.

mod message;
mod references;
mod responses;
mod threads;

use crate::error::Result;
use crate::formats::database::{self, Database};
use crate::formats::llm::responses::ResponseIds;
use crate::formats::{Detection, Format, Reading, Source};

/// Logs of llm.
pub(super) const FORMAT: Format = Format {
    name: "llm",
    program: "llm",
    places: &[
        "~/.config/io.datasette.llm/logs.db",
        "~/Library/Application Support/io.datasette.llm/logs.db",
        "$LLM_USER_PATH/logs.db",
    ],
    fidelity: "It is only read. What a provider answered to the letter, options and timings are kept beside \
               the messages. A message has the time of the call that it was first part of.",
    expects: "messages with parts, or responses with a prompt",
    detect,
    beside: Format::alone,
    read,
    write: None,
};

const THREADS: [(&str, &[&str]); 4] = [
    ("threads", &["id", "name", "tip_message_hash"]),
    ("turns", &["id", "thread_id", "tip_message_hash", "datetime_utc"]),
    ("messages", &["hash", "parent_hash", "role"]),
    ("parts", &["message_hash", "position", "type", "text", "payload"]),
];

const RESPONSES: [(&str, &[&str]); 2] = [
    ("conversations", &["id", "name", "model"]),
    ("responses", &["id", "model", "prompt", "system", "response", "conversation_id", "datetime_utc"]),
];

fn has_all(database: &Database, tables: &[(&str, &[&str])]) -> Result<bool> {
    tables.iter().try_fold(true, |all, (table, columns)| Ok(all && database.has(table, columns)?))
}

fn detect(source: &Source) -> Detection {
    database::detect(source, |database| Ok(has_all(database, &THREADS)? || has_all(database, &RESPONSES)?))
}

fn read(source: &Source, reading: &mut Reading<'_>) -> Result<()> {
    Database::read(source, reading, |database, reading| {
        let has_threads = has_all(database, &THREADS)?;
        let has_responses = !has_threads || has_all(database, &RESPONSES)?;
        let mut earlier = ResponseIds::new();
        if has_responses {
            RESPONSES.iter().try_for_each(|(table, columns)| database.need(table, columns))?;
            earlier = responses::list(database)?;
        }
        if has_threads {
            threads::read(database, &mut earlier, reading)?;
        }
        if has_responses { responses::read(database, &earlier, reading) } else { Ok(()) }
    })
}
