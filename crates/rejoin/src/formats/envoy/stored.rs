//! Lines of Rejoin's own JSONL store, which have the same shape: whole messages with ids and parents.

use serde_json::Value;
use serde_json::value::RawValue;

use crate::formats::SourceKept;
use crate::formats::raw_object::{RawObject, is_text};
use crate::model::{Block, Json, Message};

/// A message of the store.
pub(super) struct JsonlMessage {
    pub(super) id: String,
    pub(super) parent: Option<String>,
    pub(super) keeps: Vec<SourceKept>,
    pub(super) message: Message,
}

/// Parses a line; none if it is not from the store.
pub(super) fn read(found: &mut RawObject<'_>, body: &RawValue) -> Option<JsonlMessage> {
    found.raw("digest")?;
    let id = found.text("id")?;
    // A body that would not fit on one line is a string.
    let text: Option<String> = is_text(body).then(|| serde_json::from_str(body.get()).ok()).flatten();
    let mut message = Message::from_body(text.as_deref().unwrap_or(body.get())).ok()?;
    message.label = found.text("label");
    message.extra.remove("source");
    let keeps = message.blocks.iter_mut().flat_map(keeps).collect();
    Some(JsonlMessage { id, parent: found.text("parent"), keeps, message })
}

/// Returns what a compaction keeps, with the ids of the file, which the import replaces by its own.
fn keeps(block: &mut Block) -> Vec<SourceKept> {
    let Block::Summary(summary) = block else { return Vec::new() };
    let Some(Ok(compaction)) = summary.extra.remove("compaction").map(|json| json.to::<Value>()) else {
        return Vec::new();
    };
    for name in ["tokens_before", "tokens_after"] {
        if let Some(tokens) = compaction[name].as_u64().filter(|tokens| *tokens > 0) {
            summary.extra.set(name, Json::of(&tokens).expect("a number is JSON"));
        }
    }
    let kept = compaction["kept"].as_array().into_iter().flatten();
    let text = |field: &Value| field.as_str().map(str::to_owned);
    kept.filter_map(|kept| Some(SourceKept { message: text(&kept["message"])?, text: text(&kept["text"]) }))
        .collect()
}
