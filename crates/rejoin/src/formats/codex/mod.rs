//! Codex: `sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl`, a line per event.
//!
//! Only `response_item` and `compacted` lines are messages. A thread is linear: a rollback removes turns, and
//! a fork begins with the lines of another file. Here a rollback is a branch, and a fork is a conversation
//! with copies of those messages.
//!
//! ```text
//!   file                                      tree
//!   1  user        "first"                    user       l1
//!   2  reasoning   ┐                          assistant  l2   thinking, call 1, call 2
//!   3  call 1      │ one reply                tool       l5   result 1
//!   4  call 2      ┘                          tool       l6   result 2
//!   5  output 1
//!   6  output 2
//! ```
//!
//! A message is named after its first line: by the line's ordinal (`o5`), or without one by its number
//! (`l5`). Lines of the file that a fork begins with have a prefix (`b1.l5`). Rejoin writes the id of each
//! message, and what the format cannot hold, to the field `rejoin` of a line, which the program ignores.

mod caller;
pub(super) mod items;
mod line;
mod paths;
mod prompts;
mod read;
mod thread;
mod write;

use crate::formats::{Detection, Format, Source};

/// The API whose reasoning and items the program can send back.
const API: &str = "openai-responses";

/// Rollouts of Codex.
pub(super) const FORMAT: Format = Format {
    name: "codex",
    program: "Codex",
    places: &[
        "~/.codex/sessions",
        "~/.codex/archived_sessions",
        "$CODEX_HOME/sessions",
        "$CODEX_HOME/archived_sessions",
    ],
    fidelity: "A rollout is a line: every branch but the chosen one is written as a file of its own, a fork. \
               Thinking of another provider, or without its sealed form, is not written, because it would be \
               refused; sealed items of other providers and marks of other programs are left out; sound, \
               film and state become a line of text. What a compaction kept of a message in part is kept \
               whole. Events and settings of the program are kept beside the messages when they are \
               imported, and not written again.",
    expects: "`response_item` lines with `content`, calls or their output",
    detect,
    beside: paths::beside,
    read: read::read,
    write: Some(write::write),
};

/// Every rollout begins with the metadata of its thread.
fn detect(source: &Source) -> Detection {
    let begins = |text: &str| line::parse(text).is_ok_and(|line| line.meta().is_some());
    let is_rollout =
        || source.first_lines().take(10).any(begins) || source.cut_line().is_some_and(line::begins);
    if !source.is_directory() && is_rollout() { Detection::Yes } else { Detection::No }
}
