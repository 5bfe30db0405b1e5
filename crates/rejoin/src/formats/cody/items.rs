//! Converts the items of a turn to messages and back. They are those of the Responses API, with texts of type
//! `text`.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::formats::codex::items::{ConversationItem, read as read_item};
use crate::formats::content;
use crate::formats::raw_object;
use crate::model::{Block, Fields, Json, MediaKind, Message, Other, Role, Snapshot};

/// The type of item that carries state across a compaction.
const GHOST: &str = "ghost_snapshot";

/// A message of a turn.
pub(super) struct TurnMessage {
    /// The index of its first item.
    pub(super) place: usize,
    pub(super) message: Message,
    /// Its items, one per line.
    pub(super) source: String,
}

/// The messages of a list of items.
pub(super) fn read(items: &RawValue) -> Vec<TurnMessage> {
    let items: Vec<&RawValue> = serde_json::from_str(items.get()).unwrap_or_default();
    let mut messages: Vec<TurnMessage> = Vec::new();
    let mut is_open = false;
    for (place, item) in items.into_iter().enumerate() {
        let (role, blocks) = match read_one(item) {
            ConversationItem::Said(role, blocks) => (role, blocks),
            ConversationItem::Result(block) => (Role::Tool, vec![block]),
            ConversationItem::Reply(blocks) => {
                if let Some(reply) = messages.last_mut().filter(|_| is_open) {
                    reply.message.blocks.extend(blocks);
                    reply.source.push('\n');
                    reply.source.push_str(item.get());
                    continue;
                }
                (Role::Assistant, blocks)
            }
            ConversationItem::Mark => continue,
        };
        is_open = role == Role::Assistant;
        let (message, source) = (Message::new(role, blocks), item.get().to_owned());
        messages.push(TurnMessage { place, message, source });
    }
    messages
}

/// Interprets an item. One without content is kept in a reply.
pub(super) fn read_one(item: &RawValue) -> ConversationItem {
    let mut found = serde_json::from_str::<raw_object::RawObject<'_>>(item.get()).ok();
    let kind = found.as_mut().and_then(|found| found.text("type"));
    if kind.as_deref() == Some(GHOST) {
        let data = Json::from_raw(item);
        return ConversationItem::Reply(vec![Block::Snapshot(Snapshot { data, extra: Fields::new() })]);
    }
    match found.map_or(ConversationItem::Mark, read_item) {
        ConversationItem::Mark => {
            let mut fields = Fields::new();
            fields.set("item", Json::from_raw(item));
            ConversationItem::Reply(vec![Block::Other(Other { kind: String::new(), fields })])
        }
        known => known,
    }
}

/// Returns the items of a message, without thinking and items of other providers, which cannot be sent.
pub(super) fn write(message: &Message) -> Vec<Value> {
    let role = match message.role {
        Role::System => "system",
        Role::User | Role::Tool => "user",
        Role::Assistant => "assistant",
    };
    let mut items = Vec::new();
    let mut parts: Vec<Value> = Vec::new();
    let said = |parts: &mut Vec<Value>| {
        let content = std::mem::take(parts);
        (!content.is_empty()).then(|| json!({"type": "message", "role": role, "content": content}))
    };
    for block in &message.blocks {
        let item = match block {
            Block::ToolCall(call) => Some(json!({
                "type": "function_call", "call_id": call.id,
                "name": call.name, "arguments": call.input.as_str(),
            })),
            Block::ToolResult(result) => {
                let output = result.output.to().unwrap_or_else(|_| result.output.as_str().to_owned());
                Some(json!({"type": "function_call_output", "call_id": result.call_id, "output": output}))
            }
            Block::Snapshot(snapshot) => Some(write_snapshot(snapshot)),
            Block::Thinking(_) | Block::Other(_) => None,
            Block::Text(_) | Block::Media(_) | Block::Summary(_) => {
                parts.push(write_part(block, message.role));
                continue;
            }
        };
        items.extend(said(&mut parts));
        items.extend(item);
    }
    items.extend(said(&mut parts));
    items
}

fn write_snapshot(snapshot: &Snapshot) -> Value {
    match snapshot.data.to::<Value>() {
        Ok(item) if item["type"] == GHOST => item,
        data => json!({"type": GHOST, "data": data.unwrap_or_default()}),
    }
}

fn write_part(block: &Block, role: Role) -> Value {
    if let Block::Media(media) = block
        && media.kind == MediaKind::Image
        && role == Role::User
    {
        let inline = media.data.as_ref().map(|data| format!("data:{};base64,{data}", media.mime_type));
        if let Some(url) = inline.or_else(|| media.uri.clone()) {
            return json!({"type": "input_image", "image_url": url});
        }
    }
    json!({"type": "text", "text": content::spoken(&Message::new(role, vec![block.clone()]))})
}
