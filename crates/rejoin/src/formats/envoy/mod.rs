//! Envoy: `conversations/<project>/<session>.jsonl`, a line per complete message.
//!
//! ```text
//! {"timestamp":…,"messageIndex":0,"messageType":"session-meta","sessionId":…,"message":{"type":…}}
//! {"timestamp":…,"messageIndex":1,"messageType":"conversation","sessionId":…,"message":{"role":"user",…}}
//! ```
//!
//! The first line may be missing. The order of the lines counts, not the index. A line with a call and its
//! result becomes two messages, one by the model and one by the tool. Files of Rejoin's own JSONL store have
//! lines of the same shape, with a tree and whole messages, and are read too.

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
    fidelity: "A file is a line of messages: every branch but the chosen one is written to a file of its \
               own, and reading all of them gives the tree again. The program is told of calls in words; \
               what it has no field for stands beside it in the line, where it passes over it. Holds, \
               origins and compactions that were undone stay in the store.",
    expects: "lines whose `message` has `content` or `parts`",
    detect,
    beside: Format::alone,
    read: read::read,
    write: Some(write::write),
};

/// The content of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EnvoyKind {
    Conversation,
    SessionMeta,
}

/// Returns the content of a line; none if it does not belong to this format.
fn kind_of(found: &mut RawObject<'_>) -> Option<EnvoyKind> {
    found.raw("sessionId").filter(|id| crate::formats::raw_object::is_text(id))?;
    found.raw("message")?;
    match found.text("messageType")?.as_str() {
        "conversation" => Some(EnvoyKind::Conversation),
        "session-meta" => Some(EnvoyKind::SessionMeta),
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
