//! Gemini CLI: `tmp/<project>/chats/session-<time>-<id>.jsonl`, a log of operations on a list of messages.
//!
//! ```text
//!   log                                             tree
//!   {"sessionId": …, "projectHash": …}              a conversation
//!   {"id":"u1","type":"user"}                       user       u1
//!   {"id":"g1","type":"gemini", one call}           assistant  g1      call
//!   {"id":"g1","type":"gemini", and its result}     tool       g1/results
//!   {"id":"u2","type":"user"}                       ├ user     u2      a branch that was given up
//!   {"$rewindTo":"u2"}                              │
//!   {"id":"u3","type":"user"}                       └ user     u3
//!   {"$set":{"messages":[…]}}                       the list is this from now on
//! ```
//!
//! A repeated record replaces the earlier one. If that is the newest record, apart from program output, and
//! the new one contains everything it said, it is the same message, continued. Otherwise it is another
//! message, `g1#2`, and the earlier one stays as a branch, like everything that a rewind or a new list
//! removes. Older files are one JSON object with a list.

pub(in crate::formats) mod parts;
mod paths;
mod read;
mod record;
mod replay;

use crate::formats::fingerprint::Companion;
use crate::formats::json_array::first_fields;
use crate::formats::partial_object::PartialObject;
use crate::formats::{Detection, Format, Source};

/// Sessions of Gemini CLI.
pub(super) const FORMAT: Format = Format {
    name: "gemini",
    program: "Gemini CLI",
    places: &["~/.gemini/tmp"],
    fidelity: "It is only read. How a tool's result was shown, its status and its times stay in the text \
               that is kept beside the message. A run of a sub-agent is linked to the newest message with a \
               call before it, because the file does not name one.",
    expects: "records with `content` or `toolCalls`",
    detect,
    beside,
    read: read::read,
    write: None,
};

/// The runs of a session are in a directory named after it, and its project is recorded elsewhere.
fn beside(source: &Source) -> Vec<Companion> {
    let head = source.head();
    let end = str::from_utf8(head).map_or_else(|error| error.valid_up_to(), str::len);
    let head = str::from_utf8(&head[..end]).unwrap_or_default();
    let session = PartialObject::of(head).text("sessionId");
    let runs = session.map(|session| paths::runs(source.path(), session)).transpose();
    match (runs, paths::project(source.path())) {
        (Ok(runs), Ok(project)) => {
            let runs = runs.into_iter().flatten().map(Companion::Path);
            runs.chain(project.map(Companion::Words)).collect()
        }
        _ => vec![Companion::Unreadable],
    }
}

/// Recognises the fields that every session begins with. A sub-agent run is read with the session that
/// started it.
fn detect(source: &Source) -> Detection {
    if source.is_directory() {
        return Detection::No;
    }
    let fields = first_fields(source.head());
    if !fields.contains(&"sessionId") || !fields.contains(&"projectHash") {
        return Detection::No;
    }
    if matches!(paths::session_of(source.path()), Ok(Some(_))) { Detection::Part } else { Detection::Yes }
}
