//! goose: `sessions.db`, or the older `sessions/*.jsonl` with one file per session.
//!
//! ```text
//!   first line   what is known of the session        sessions   a row for each
//!   other lines  a message for each                  messages   a row for each, in order of time and number
//! ```
//!
//! A compaction hides earlier messages from the model and adds a summary that is hidden from the user.
//! Visibility changes later, so it is not part of a message here and is kept next to it.
//!
//! The program copies an older file into its database with the same id and leaves the file in place. Such a
//! file counts as part of the database, or its messages would be imported twice.

mod content;
mod database;
mod legacy;
mod thread;

use crate::error::Result;
use crate::formats::database::is_database;
use crate::formats::{Detection, Format, Reading, Source};

/// Sessions of goose.
pub(super) const FORMAT: Format = Format {
    name: "goose",
    program: "goose",
    places: &[
        "~/.local/share/goose/sessions",
        "$XDG_DATA_HOME/goose/sessions",
        "$GOOSE_PATH_ROOT/data/sessions",
    ],
    fidelity: "It is only read. Who a message is hidden from, recipes and the state of extensions are kept \
               beside the messages. A run of a sub-agent does not say who asked for it.",
    expects: "messages with a list as their `content`",
    detect,
    beside: Format::alone,
    read,
    write: None,
};

fn detect(source: &Source) -> Detection {
    if !legacy::is_session(source) {
        return database::detect(source);
    }
    if database::has_taken_over(source) { Detection::Part } else { Detection::Yes }
}

fn read(source: &Source, reading: &mut Reading<'_>) -> Result<()> {
    if is_database(source) { database::read(source, reading) } else { legacy::read(source, reading) }
}
