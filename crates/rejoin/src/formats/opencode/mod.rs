//! opencode: `opencode.db`, a database of sessions, or one session written by `opencode export`.
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
//! A session is linear; one that a tool started has a parent. Reverted messages stay, and the session says
//! where they begin. The program later adds notes to old messages, such as changed files or results dropped
//! from the view. Those are not part of a message here, because the message would change with them.

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
    fidelity: "It is only read. Marks of steps, snapshots of files and what the program noted later are kept \
               beside the messages. Sessions of versions before 1.2, which are folders of small files, and \
               the tables of the event log are not read.",
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
