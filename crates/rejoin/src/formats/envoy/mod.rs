//! Envoy: `conversations/<project>/<session>.jsonl`, a line for each message that is complete.
//!
//! ```text
//! {"timestamp":…,"messageIndex":0,"messageType":"session-meta","sessionId":…,"message":{"type":"session-start",…}}
//! {"timestamp":…,"messageIndex":1,"messageType":"conversation","sessionId":…,"message":{"role":"user","content":…}}
//! ```
//!
//! The first line may be missing. The order is that of the lines; the index is not relied on. A line that holds a call
//! together with its result becomes two messages: who calls is the model, who answers is the tool. Files of Rejoin's own
//! JSONL store have lines of the same shape, with a tree and whole messages in them, and are read too.

mod message;
mod read;
mod stored;
mod write;

use crate::formats::raw_object::RawObject;
use crate::formats::{Detection, Format, Source};

/// Conversations of Envoy.
pub(super) const FORMAT: Format = Format {
    name: "envoy",
    program: "Envoy",
    places: &[
        "~/.local/share/envoy/conversations",
        "$XDG_DATA_HOME/envoy/conversations",
        "~/Library/Application Support/envoy/conversations",
    ],
    fidelity: "A file is a line of messages: every branch but the chosen one is written to a file of its own, and \
               reading all of them gives the tree again. The program is told of calls in words; what it has no field \
               for stands beside it in the line, where it passes over it. Holds, origins and compactions that were \
               undone stay in the store.",
    expects: "lines whose `message` has `content` or `parts`",
    detect,
    beside: Format::alone,
    read: read::read,
    write: Some(write::write),
};

/// What a line holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Conversation,
    SessionMeta,
}

/// What a line holds; none when it is no line of this format.
fn kind_of(found: &mut RawObject<'_>) -> Option<Kind> {
    found.raw("sessionId").filter(|id| crate::formats::raw_object::is_text(id))?;
    found.raw("message")?;
    match found.text("messageType")?.as_str() {
        "conversation" => Some(Kind::Conversation),
        "session-meta" => Some(Kind::SessionMeta),
        _ => None,
    }
}

fn detect(source: &Source) -> Detection {
    let is_line = |line: &str| {
        serde_json::from_str::<RawObject<'_>>(line).is_ok_and(|mut found| kind_of(&mut found).is_some())
    };
    let begins = |start: &str| {
        let names = ["\"messageIndex\":", "\"messageType\":\"", "\"sessionId\":\""];
        names.iter().all(|name| start.contains(name))
    };
    let is_envoy = source.first_lines().take(10).any(is_line) || source.long_line().is_some_and(begins);
    if !source.is_directory() && is_envoy { Detection::Yes } else { Detection::No }
}
