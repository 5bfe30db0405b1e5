//! Cody: `conversations/<id>.jsonl`, a line per turn, with items of the Responses API.
//!
//! ```text
//! {"timestamp":1699564800,"items":[{"type":"message",…}],"metadata":{"provider":"openai","model":"gpt-4"}}
//! {"type":"compacted","timestamp":1699564805000,"summary":"…","truncatedCount":0}
//! ```
//!
//! An older form has one item per line, `{"timestamp":…,"item":{"type":…,"data":…}}`, after a line with
//! metadata. Both forms are read, even mixed; the first is written. Rollouts of Codex have a `payload` and
//! are not of this format.
//!
//! A message is named after its line and its first item there: `l2.0`. A turn ends its line where branches
//! part, so that shared lines are identical in all files.

mod items;
mod line;
mod read;
mod write;

use crate::formats::{Detection, Format, Source};

/// Conversations of Cody.
pub(super) const FORMAT: Format = Format {
    name: "cody",
    program: "Cody",
    places: &["~/.cody/conversations", "~/.cody/sessions", "~/.codex/conversations"],
    fidelity: "A file is a line of turns: every branch but the chosen one is written to a file of its own, \
               and reading all of them gives the tree again. The program is not told of thinking and of \
               items of other providers, which it could not send on; these stand beside the turn in its \
               line, where it passes over them. Times are told to it in milliseconds. Holds, origins and \
               compactions that were undone stay in the store.",
    expects: "lines whose items have `content`",
    detect,
    beside: Format::alone,
    read: read::read,
    write: Some(write::write),
};

fn detect(source: &Source) -> Detection {
    let is_line = |text: &str| line::parse(text).is_some_and(|line| line.is_known());
    let begins = |start: &str| {
        let is_turn = start.contains("\"items\":") || start.contains("\"item\":{\"type\":");
        start.starts_with("{\"timestamp\":") && is_turn && !start.contains("\"payload\":")
    };
    let is_cody = source.first_lines().take(10).any(is_line) || source.long_line().is_some_and(begins);
    if !source.is_directory() && is_cody { Detection::Yes } else { Detection::No }
}
