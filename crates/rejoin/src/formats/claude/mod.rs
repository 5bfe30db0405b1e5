//! Claude Code: `projects/<place>/<session>.jsonl`, a line per piece of a message, linked by `parentUuid`.
//!
//! ```text
//!   file                                             tree
//!   user        u1  ── "list them"                   user       u1
//!   assistant   a1  ┐ thinking ┐                     assistant  a1   thinking, call 1, call 2
//!   assistant   a2  │ call 1   │ one reply,          tool       r1   result 1
//!   user        r1  │ result 1 │ one message.id       tool       r2   result 2
//!   assistant   a3  │ call 2   │
//!   user        r2  ┘ result 2 ┘
//! ```
//!
//! A reply is written as it arrives, one line per block, with the results of its tools in between or below.
//! Here it is one message, and its results follow in a row, because a path through only one of them would
//! lack the others.

mod blocks;
mod calls;
mod line;
mod paths;
mod read;
mod reply;
mod thread;
mod write;

use crate::formats::{Detection, Format, Source, qwen};

/// Sessions of Claude Code.
pub(super) const FORMAT: Format = Format {
    name: "claude",
    program: "Claude Code",
    places: &["~/.claude/projects", "$CLAUDE_CONFIG_DIR/projects"],
    fidelity: "Thinking without a signature, thinking of another provider and its sealed items are not \
               written, because they would be refused; sound, film and state become a line of text. A reply \
               without a model gets one. Labels, pins and fields of other programs are not written. What the \
               program attaches to prompts and notes for itself (modes, queues, costs, logged requests) and \
               the envelope of a line (permissions, the structured form of a tool's result) are kept beside \
               the messages when they are imported, and not written again.",
    expects: "lines whose `message` has `content`: a text or a list of blocks",
    detect,
    beside: Format::alone,
    read: read::read,
    write: Some(write::write),
};

/// Recognises the combination of fields that no other program writes.
fn detect(source: &Source) -> Detection {
    if source.is_directory() {
        return Detection::No;
    }
    let is_read_with_another = read::session_of(source).is_some_and(|session| session.is_file());
    let is_session = || {
        source.first_lines().any(|line| line::parse(line).is_ok_and(|line| line.is_of_a_session()))
            || source.cut_line().is_some_and(line::begins)
    };
    // Another program uses the same envelope with other contents.
    if qwen::is_session(source) {
        return Detection::No;
    }
    // A run has a description file, which is not a source.
    if is_read_with_another && (read::is_description(source) || is_session()) {
        return Detection::Part;
    }
    if is_session() { Detection::Yes } else { Detection::No }
}
