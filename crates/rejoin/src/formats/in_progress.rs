//! The mark of a reply that was being written while it was read.
//!
//! It stands where an import notes what a message was read from. A message that has it may be other the next time, and
//! is still the same message.

use crate::formats::SOURCE;
use crate::model::{Json, Message};

const OPEN: &str = "open";

/// Marks a message of which more may come.
pub(super) fn mark(message: &mut Message) {
    let source = serde_json::json!({ OPEN: true });
    message.extra.set(SOURCE, Json::of(&source).expect("a boolean is JSON"));
}

/// True when more of a message may have come since it was read.
pub(crate) fn is_marked(message: &Message) -> bool {
    let source = message.extra.field(SOURCE).and_then(|source| source.to::<serde_json::Value>().ok());
    source.is_some_and(|source| source[OPEN] == serde_json::json!(true))
}

/// What an import notes of a message: its id at the source, the hash of its text, and the mark, if it has one.
pub(crate) fn provenance(message: &Message, id: &str, hash: &str) -> serde_json::Value {
    let mut source = serde_json::json!({ "id": id, "text": hash });
    if is_marked(message) {
        source[OPEN] = serde_json::json!(true);
    }
    source
}
