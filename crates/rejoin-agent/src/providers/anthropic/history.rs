//! A view in the language of Anthropic Messages: turns that alternate, made of content items.
//!
//! What this provider sent goes back as it came. Of another provider's replies
//! the text and the calls are sent.

use std::collections::HashMap;

use rejoin::view::{Recipient, Viewed};
use rejoin::{Block, Fields, Json, Media, MediaKind, Role, ToolCall, ToolResult};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

/// Where a call keeps what the model wrote when that is not JSON.
pub(super) const ARGUMENTS: &str = "arguments";

/// What one side said until the other spoke.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SpeakerTurn {
    /// User or assistant.
    pub(super) role: Role,
    /// Content items in the language of the API.
    pub(super) content: Vec<Fields>,
}

impl Serialize for SpeakerTurn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut turn = serializer.serialize_struct("Turn", 2)?;
        turn.serialize_field("role", &self.role)?;
        turn.serialize_field("content", &self.content)?;
        turn.end()
    }
}

/// The turns of a view that was made for this recipient.
pub(super) fn turns(messages: &[Viewed<'_>], recipient: &Recipient) -> Vec<SpeakerTurn> {
    let mut turns: Vec<SpeakerTurn> = Vec::new();
    for message in messages.iter().map(|viewed| viewed.message.as_ref()) {
        let (role, item): (Role, fn(&Block) -> Option<Fields>) = match message.role {
            // The system speaks in a field of its own.
            Role::System => continue,
            Role::Assistant if recipient.is_own(message) => (Role::Assistant, own),
            Role::Assistant => (Role::Assistant, foreign),
            Role::User | Role::Tool => (Role::User, heard),
        };
        add(&mut turns, role, message.blocks.iter().filter_map(item).collect());
    }
    turns
}

/// Adds content to the turn of that side. No content is no turn.
fn add(turns: &mut Vec<SpeakerTurn>, role: Role, content: Vec<Fields>) {
    match turns.last_mut() {
        _ if content.is_empty() => {}
        Some(last) if last.role == role => last.content.extend(content),
        _ => turns.push(SpeakerTurn { role, content }),
    }
}

/// A block that this provider sent, as it sent it.
fn own(block: &Block) -> Option<Fields> {
    match block {
        Block::Text(block) => Some(with(text(&block.text), &block.extra)),
        Block::Thinking(block) => {
            let signature = string(block.signature.as_ref()?);
            let fields = [("thinking", string(&block.text)), ("signature", signature)];
            Some(with(item("thinking", fields), &block.extra))
        }
        Block::ToolCall(block) => Some(with(call(block), &block.extra)),
        Block::Other(block) => Some(with(item(&block.kind, []), &block.fields)),
        _ => None,
    }
}

/// A block of another origin: text and calls.
fn foreign(block: &Block) -> Option<Fields> {
    match block {
        Block::Text(block) => Some(text(&block.text)),
        Block::ToolCall(block) => Some(call(block)),
        _ => None,
    }
}

fn call(block: &ToolCall) -> Fields {
    let fields = [("id", string(&block.id)), ("name", string(&block.name)), ("input", input(&block.input))];
    item("tool_use", fields)
}

/// The API takes objects only. What is none is wrapped in one, in the way the API's documentation proposes.
pub(super) fn input(input: &Json) -> Json {
    match input.as_str() {
        text if text.starts_with('{') => input.clone(),
        "null" => Json::parse("{}").expect("an empty object is JSON"),
        text => {
            let text = input.to::<String>().unwrap_or_else(|_| text.to_owned());
            Json::of(&HashMap::from([("INVALID_JSON", text)])).expect("a map of strings is JSON")
        }
    }
}

/// A block of what was said to the model.
fn heard(block: &Block) -> Option<Fields> {
    match block {
        Block::ToolResult(result) => Some(answer(result)),
        block => shown(block),
    }
}

fn answer(result: &ToolResult) -> Fields {
    let mut fields = item("tool_result", [("tool_use_id", string(&result.call_id))]);
    fields.set("content", content(&result.output));
    if result.is_error {
        fields.set("is_error", Json::of(&true).expect("a boolean is JSON"));
    }
    fields
}

/// What a tool gave back: text and media as such, other JSON as its text.
fn content(output: &Json) -> Json {
    if output.as_str().starts_with('"') {
        return output.clone();
    }
    let is_shown = |block: &Block| matches!(block, Block::Text(_) | Block::Media(_));
    match output.to::<Vec<Block>>() {
        Ok(blocks) if !blocks.is_empty() && blocks.iter().all(is_shown) => {
            let items: Vec<Fields> = blocks.iter().filter_map(shown).collect();
            Json::of(&items).expect("items are JSON")
        }
        _ => string(output.as_str()),
    }
}

/// A block of what was said to the model, apart from results.
fn shown(block: &Block) -> Option<Fields> {
    match block {
        // The API refuses text without a letter, also in what a tool gave back.
        Block::Text(block) => (!block.text.trim().is_empty()).then(|| text(&block.text)),
        Block::Media(media) => attached(media),
        _ => None,
    }
}

fn attached(media: &Media) -> Option<Fields> {
    let kind = match media.kind {
        MediaKind::Image => "image",
        MediaKind::File => "document",
        MediaKind::Audio | MediaKind::Video => return None,
    };
    let uri = media.uri.as_deref().unwrap_or_default();
    let inline = uri.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    let bytes = match &media.data {
        Some(data) if !data.is_empty() => Some((media.mime_type.as_str(), data.as_str())),
        _ => inline,
    };
    let source = match bytes {
        Some((mime_type, data)) => {
            item("base64", [("media_type", string(mime_type)), ("data", string(data))])
        }
        None => item("url", [("url", string(uri))]),
    };
    Some(item(kind, [("source", Json::of(&source).expect("fields are JSON"))]))
}

/// A content item.
pub(super) fn item<const N: usize>(kind: &str, fields: [(&str, Json); N]) -> Fields {
    let mut item = Fields::new();
    item.set("type", string(kind));
    for (name, value) in fields {
        item.set(name, value);
    }
    item
}

fn text(text: &str) -> Fields {
    item("text", [("text", string(text))])
}

/// The item with the fields that were kept beside those that Rejoin knows.
fn with(mut item: Fields, extra: &Fields) -> Fields {
    for (name, value) in extra.iter().filter(|(name, _)| *name != ARGUMENTS) {
        item.set(name, value.clone());
    }
    item
}

/// A string as JSON.
pub(super) fn string(text: &str) -> Json {
    Json::of(&text).expect("a string is JSON")
}

/// True for what a model thought before it spoke.
pub(super) fn is_thinking(item: &Fields) -> bool {
    word(item, "type").is_some_and(|kind| kind == "thinking" || kind == "redacted_thinking")
}

/// The string in a field of an item.
pub(super) fn word(item: &Fields, name: &str) -> Option<String> {
    item.field(name).and_then(|value| value.to::<String>().ok())
}
