//! Cortext: a folder per conversation, with a Markdown file to read and a session to resume.
//!
//! ```text
//! conversations/2025-11-22/001-brainstorm-topic/
//! ├── brainstorm.md
//! └── .session/
//!     ├── session.json      what is known of the conversation
//!     └── messages.jsonl    a line for each message: role, content, timestamp
//! ```
//!
//! The source is the folder. The program numbers the folders of a day. Rejoin sees one conversation at a time
//! and uses the thousandth of the day at which it began, so that a conversation always gets the same folder
//! and the order of the day is kept. A conversation that was read from such a folder keeps its name.

mod markdown;
mod read;
mod session;
mod write;

use crate::formats::{Detection, Format, Source};

/// The directory of the session.
const SESSION: &str = ".session";
/// The metadata of the conversation.
const STATE: &str = "session.json";
/// Its messages.
const MESSAGES: &str = "messages.jsonl";

/// Sessions of Cortext.
pub(super) const FORMAT: Format = Format {
    name: "cortext",
    program: "Cortext",
    places: &["conversations"],
    fidelity: "A session is a line of messages: every branch but the chosen one is written to a folder of \
               its own, and reading all of them gives the tree again. The project is not written: it is the \
               directory that holds the folders. The markdown is made for readers and not read back; one \
               that Cortext wrote is kept beside the messages, section by section. Holds, origins and \
               compactions that were undone stay in the store.",
    expects: "lines of `messages.jsonl` with `content`",
    detect,
    beside: Format::alone,
    read: read::read,
    write: Some(write::write),
};

fn detect(source: &Source) -> Detection {
    let Some(session) = read::session_of(source) else { return Detection::No };
    let is_session =
        [STATE, MESSAGES].iter().any(|name| crate::formats::whole_file::is_file(&session.join(name)));
    match (is_session, source.is_directory()) {
        (true, true) => Detection::Yes,
        (true, false) => Detection::Part,
        (false, _) => Detection::No,
    }
}
