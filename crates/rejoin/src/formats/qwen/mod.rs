//! Qwen Code: `projects/<place>/chats/<session>.jsonl`, a line per message, linked by `parentUuid`.
//!
//! ```text
//!   file                                    tree
//!   user         u1  parts: text            user       u1
//!   system       s1  a note                 (kept, no message)
//!   assistant    a1  parts: text, call      assistant  a1 < u1
//!   tool_result  r1  parts: response        tool       r1 < a1
//! ```
//!
//! The envelope of a line is that of Claude Code, and its contents are parts of the Gemini API.

mod line;
mod read;

use crate::formats::{Detection, Format, Source};

/// Sessions of Qwen Code.
pub(super) const FORMAT: Format = Format {
    name: "qwen",
    program: "Qwen Code",
    places: &["~/.qwen/projects"],
    fidelity: "It is only read. What the program notes for itself (telemetry, snapshots, how a result was \
               shown) stays in the lines that are kept beside the messages.",
    expects: "lines whose `message` has `parts`",
    detect,
    beside: Format::alone,
    read: read::read,
    write: None,
};

fn detect(source: &Source) -> Detection {
    if !source.is_directory() && is_session(source) { Detection::Yes } else { Detection::No }
}

/// True when the first message consists of parts.
pub(super) fn is_session(source: &Source) -> bool {
    let said =
        source.first_lines().filter_map(|line| line::parse(line).ok()).find(line::QwenLine::says_something);
    match said {
        Some(line) => line.is_of_a_session(),
        None => source.cut_line().is_some_and(line::begins),
    }
}
