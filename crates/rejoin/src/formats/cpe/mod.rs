//! CPE: `.cpeconvo`, a database with a forest of messages and their blocks.
//!
//! ```text
//!   messages      aB3xY9 ─ Kp0q2Z ─ m7Wd1c               a conversation is the tree below one root
//!                        └ 9sLk2a
//!                 tT41xb  compaction_parent_id = m7Wd1c   a summary starts a tree of its own and continues
//!                                                         the conversation that it replaces
//!   blocks        one or more per message, in order
//!   acp_sessions  the leaves to continue from, with title and directory; newer versions only
//! ```
//!
//! The tables grew over time. Whatever columns exist are read. The written file has the columns of all
//! versions, so that each of them can open it.

mod forest;
mod parts;
mod read;
mod shape;
mod tag;
mod write;

use crate::error::Result;
use crate::formats::database::{self, Database};
use crate::formats::{Detection, Format, Source};

/// Conversations of CPE.
pub(super) const FORMAT: Format = Format {
    name: "cpe",
    program: "CPE",
    places: &[".cpeconvo", "~/.config/cpe/.cpeconvo", "$XDG_CONFIG_HOME/cpe/.cpeconvo"],
    fidelity: "What CPE has no place for (instructions as a role of their own, other files than pictures, \
               sounds, films and PDF, marks of other programs, finish and details of usage) is written \
               beside the message in fields that CPE keeps and does not send. Ids become six characters. \
               Status, participants, pins and the other fields of a conversation are not written, apart from \
               title, directory and model.",
    expects: "messages with blocks of content",
    detect,
    beside: Format::alone,
    read: read::read,
    write: Some(write::write),
};

/// The columns that every version has.
fn is_own(database: &Database) -> Result<bool> {
    Ok(database.has("messages", &["id", "parent_id", "role", "tool_result_error", "created_at"])?
        && database
            .has("blocks", &["message_id", "block_type", "modality_type", "content", "sequence_order"])?)
}

fn detect(source: &Source) -> Detection {
    database::detect(source, is_own)
}
