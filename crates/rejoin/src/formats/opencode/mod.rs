//! opencode: `opencode.db`, a database of sessions, or one session as `opencode export` writes it.
//!
//! ```text
//!   session ── message ── part                 conversation
//!              user       text                 user       text
//!              assistant  step-start           assistant  text, call
//!                         text                 tool       result
//!                         tool (with result)   assistant  text
//!                         step-start
//!                         text
//! ```
//!
//! A session is a line of messages; one that a tool started has a parent. What was taken back is still there, and the
//! session says from where on. The program keeps noting things about messages that are long said (the files that were
//! changed, that a result was dropped from the view); those are no part of a message here, or it would change with them.

mod database;
mod export;
mod parts;
mod session;
mod thread;

use crate::error::Result;
use crate::formats::database::is_database;
use crate::formats::{Detection, Format, Reading, Source};

/// Sessions of opencode.
pub(super) const FORMAT: Format = Format {
    name: "opencode",
    program: "opencode",
    places: &["~/.local/share/opencode/opencode.db", "$XDG_DATA_HOME/opencode/opencode.db"],
    fidelity: "It is only read. Marks of steps, snapshots of files and what the program noted later are kept beside the \
               messages. Sessions of versions before 1.2, which are folders of small files, and the tables of the event \
               log are not read.",
    expects: "messages with `parts`",
    detect,
    beside: Format::alone,
    read,
    write: None,
};

fn detect(source: &Source) -> Detection {
    if export::is_export(source) { Detection::Yes } else { database::detect(source) }
}

fn read(source: &Source, reading: &mut Reading<'_>) -> Result<()> {
    if is_database(source) { database::read(source, reading) } else { export::read(source, reading) }
}
