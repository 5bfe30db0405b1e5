//! Marks replies that were still being written when they were read.
//!
//! The mark is stored with the provenance that an import records. A marked message may have changed at the
//! next import and still be the same message.

use crate::formats::SOURCE;
use crate::model::{Json, Message};

const OPEN: &str = "open";

/// Marks a message that may continue.
pub(super) fn mark(message: &mut Message) {
    let source = serde_json::json!({ OPEN: true });
    message.extra.set(SOURCE, Json::of(&source).expect("a boolean is JSON"));
}

/// True when a message may have continued since it was read.
pub(crate) fn is_marked(message: &Message) -> bool {
    let source = message.extra.field(SOURCE).and_then(|source| source.to::<serde_json::Value>().ok());
    source.is_some_and(|source| source[OPEN] == serde_json::json!(true))
}

/// Returns the provenance that an import records: the id at the source, the hash of the text, and the mark,
/// if any.
pub(crate) fn provenance(message: &Message, id: &str, hash: &str) -> serde_json::Value {
    let mut source = serde_json::json!({ "id": id, "text": hash });
    if is_marked(message) {
        source[OPEN] = serde_json::json!(true);
    }
    source
}
