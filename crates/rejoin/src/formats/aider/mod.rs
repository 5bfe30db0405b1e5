//! Aider: `.aider.chat.history.md`, one Markdown file for every launch in a project.
//!
//! ```text
//!   # aider chat started at 2026-05-01 10:00:00       a conversation
//!   > Main model: some-model with diff edit format    console     what the program printed
//!   #### add a test                                   user
//!   Here is a test: …                                 assistant
//!   > Applied edit to test.py                         console
//! ```
//!
//! The file has no ids. A conversation is named after its directory, start time and first prompt, and a
//! message after its position in it. Both are stable when the file grows and when its beginning is cut off.
//! Two projects with the same prompt in the same second stay separate; a moved project is a new one. A launch
//! without a prompt is not a conversation.

mod launch;

use crate::error::Result;
use crate::formats::aider::launch::{Launches, START};
use crate::formats::lines::SourceLines;
use crate::formats::{Detection, Format, Reading, Source};

/// Histories of aider.
pub(super) const FORMAT: Format = Format {
    name: "aider",
    program: "aider",
    places: &[".aider.chat.history.md"],
    fidelity: "It is only read. The file says who spoke by the first letters of a line, so a reply that \
               begins a line like a prompt or like output is divided there, unless it is code. Only launches \
               have a time, without a zone; it is read as UTC. What the program printed is kept as such, and \
               not sent to a model.",
    expects: "prompts after `####` and the replies to them",
    detect,
    beside: Format::alone,
    read,
    write: None,
};

/// A history begins with the first line of a launch; a truncated one is recognised by its name.
fn detect(source: &Source) -> Detection {
    if source.is_directory() {
        return Detection::No;
    }
    let mut lines = source.first_lines().filter(|line| !line.trim().is_empty());
    let is_begun = lines.next().is_some_and(|line| line.starts_with(START));
    let is_named = || source.path().file_name().is_some_and(|name| name == ".aider.chat.history.md");
    if is_begun || (is_named() && lines.any(|line| line.starts_with(START))) {
        Detection::Yes
    } else {
        Detection::No
    }
}

fn read(source: &Source, reading: &mut Reading<'_>) -> Result<()> {
    let mut lines = SourceLines::open(source.path(), reading)?;
    let mut launches = Launches::new(source.path());
    while lines.advance_text(reading)? {
        launches.line(lines.whole(), lines.number(), reading)?;
    }
    launches.finish(reading)
}
