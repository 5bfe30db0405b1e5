//! Items of the Responses API, as blocks and back.
//!
//! Reasoning keeps its whole item in the field `item`, as replies that come from the API do, so that it can be sent
//! back. A call of another kind than a function keeps the rest of its item in the field `codex`.

use serde_json::{Value, json};

use crate::formats::codex::API;
use crate::model::{
    Block, Fields, Json, Media, MediaKind, Message, Other, Role, Thinking, ToolCall, ToolResult,
};

/// The whole item that thinking came from.
const ITEM: &str = "item";

/// The rest of an item that is no plain function.
const REST: &str = "codex";

/// What an item is, in a conversation.
pub(super) enum Item {
    /// A message of its own.
    Said(Role, Vec<Block>),
    /// A piece of a reply.
    Reply(Vec<Block>),
    /// What a tool answered.
    Result(Block),
    /// Nothing that was said.
    Mark,
}

/// What an item is. One that is not understood is a piece of a reply, as it is.
pub(super) fn read(mut fields: Fields) -> Item {
    let kind = take(&mut fields, "type").unwrap_or_default();
    let known = match kind.as_str() {
        "message" => message(&fields),
        "reasoning" => Some(Item::Reply(vec![reasoning(&fields)])),
        "function_call" => function_call(&fields),
        "custom_tool_call" => custom_call(&fields),
        "local_shell_call" => shell_call(&fields),
        "function_call_output" | "custom_tool_call_output" => result(&kind, &fields),
        "ghost_snapshot" => Some(Item::Mark),
        _ => None,
    };
    known.unwrap_or_else(|| Item::Reply(vec![Block::Other(Other { kind, fields })]))
}

/// Takes a field that is a string; another one stays.
fn take(fields: &mut Fields, name: &str) -> Option<String> {
    let text = fields.field(name)?.to().ok()?;
    fields.remove(name);
    Some(text)
}

fn word(fields: &Fields, name: &str) -> Option<String> {
    fields.field(name)?.to().ok()
}

fn message(fields: &Fields) -> Option<Item> {
    let parts: Vec<Fields> = fields.field("content")?.to().ok()?;
    let blocks: Vec<Block> = parts.into_iter().map(part).collect();
    Some(match word(fields, "role")?.as_str() {
        "user" => Item::Said(Role::User, blocks),
        "assistant" => Item::Reply(blocks),
        "developer" | "system" => Item::Said(Role::System, blocks),
        _ => return None,
    })
}

/// The text of what a user's message in a compaction's history says.
pub(super) fn user_text(item: &Fields) -> Option<String> {
    if word(item, "type")? != "message" || word(item, "role")? != "user" {
        return None;
    }
    let parts: Vec<Fields> = item.field("content")?.to().ok()?;
    Some(Message::new(Role::User, parts.into_iter().map(part).collect()).text())
}

fn part(mut fields: Fields) -> Block {
    let kind = take(&mut fields, "type").unwrap_or_default();
    let known = match kind.as_str() {
        "input_text" | "output_text" | "text" => word(&fields, "text").map(Block::text),
        "input_image" => word(&fields, "image_url").map(|url| media(MediaKind::Image, url)),
        "input_audio" => word(&fields, "audio_url").map(|url| media(MediaKind::Audio, url)),
        _ => None,
    };
    known.unwrap_or(Block::Other(Other { kind, fields }))
}

/// Media by its address, which often holds the bytes themselves.
fn media(kind: MediaKind, url: String) -> Block {
    let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    let (mime_type, data, uri) = match inline {
        Some((mime_type, data)) => (mime_type.to_owned(), Some(data.to_owned()), None),
        None => ("application/octet-stream".to_owned(), None, Some(url)),
    };
    Block::Media(Media { kind, mime_type, data, uri, extra: Fields::new() })
}

fn reasoning(fields: &Fields) -> Block {
    let joined = |name| {
        let parts: Vec<Fields> = fields.field(name).and_then(|parts| parts.to().ok()).unwrap_or_default();
        parts.iter().filter_map(|part| word(part, "text")).collect::<Vec<_>>().join("\n\n")
    };
    let summary = joined("summary");
    let text = if summary.is_empty() { joined("content") } else { summary };
    let mut item = Fields::new();
    item.set("type", string("reasoning"));
    fields.iter().for_each(|(name, value)| item.set(name, value.clone()));
    let mut extra = Fields::new();
    extra.set(ITEM, json_of(&item));
    Block::Thinking(Thinking { text, signature: None, extra })
}

fn function_call(fields: &Fields) -> Option<Item> {
    let arguments = word(fields, "arguments")?;
    let input = Json::parse(arguments.as_str()).unwrap_or_else(|_| string(&arguments));
    let mut extra = Fields::new();
    if let Some(namespace) = fields.field("namespace") {
        extra.set("namespace", namespace.clone());
    }
    // Arguments that are not JSON, or are spelled with white space around them, would be spelled otherwise.
    if input.as_str() != arguments {
        extra.set("arguments", string(&arguments));
    }
    call(fields, word(fields, "name")?, input, extra)
}

fn custom_call(fields: &Fields) -> Option<Item> {
    let input = string(&word(fields, "input")?);
    let mut extra = Fields::new();
    extra.set(REST, string("custom_tool_call"));
    call(fields, word(fields, "name")?, input, extra)
}

fn shell_call(fields: &Fields) -> Option<Item> {
    let mut extra = Fields::new();
    extra.set(REST, string("local_shell_call"));
    call(fields, "local_shell".to_owned(), fields.field("action")?.clone(), extra)
}

fn call(fields: &Fields, name: String, input: Json, extra: Fields) -> Option<Item> {
    let id = word(fields, "call_id").or_else(|| word(fields, "id"))?;
    Some(Item::Reply(vec![Block::ToolCall(ToolCall { id, name, input, extra })]))
}

fn result(kind: &str, fields: &Fields) -> Option<Item> {
    let output = fields.field("output")?;
    let parts = output.to::<Vec<Fields>>().map(|parts| parts.into_iter().map(part).collect::<Vec<_>>());
    let output = parts.map_or_else(|_| output.clone(), |blocks| json_of(&blocks));
    let mut extra = Fields::new();
    if kind != "function_call_output" {
        extra.set(REST, string(kind));
    }
    Some(Item::Result(Block::ToolResult(ToolResult {
        call_id: word(fields, "call_id")?,
        output,
        is_error: false,
        extra,
    })))
}

/// The items of a message; those of one message of the API are one item.
pub(super) fn write(message: &Message) -> Vec<Value> {
    let is_own = message.extra.field("api").and_then(|api| api.to::<String>().ok()).as_deref() == Some(API);
    let role = match message.role {
        Role::System => "developer",
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
            Block::ToolCall(call) => write_call(call),
            Block::ToolResult(result) => write_result(result),
            Block::Thinking(thinking) if is_own => write_reasoning(thinking),
            Block::Other(other) if is_own && message.role == Role::Assistant => Some(write_other(other)),
            Block::Thinking(_) | Block::Other(_) => None,
            Block::Text(_) | Block::Media(_) | Block::Snapshot(_) | Block::Summary(_) => {
                parts.extend(write_part(block, message.role));
                // Each text of a reply is an item, as the program writes them.
                if message.role == Role::Assistant {
                    items.extend(said(&mut parts));
                }
                continue;
            }
        };
        items.extend(said(&mut parts));
        items.extend(item);
    }
    items.extend(said(&mut parts));
    items
}

fn write_part(block: &Block, role: Role) -> Option<Value> {
    let kind = if role == Role::Assistant { "output_text" } else { "input_text" };
    let described = |text: String| Some(json!({"type": kind, "text": text}));
    match block {
        Block::Text(text) => described(text.text.clone()),
        Block::Summary(summary) => described(summary.text.clone()),
        Block::Snapshot(snapshot) => described(format!("State to carry along: {}", snapshot.data.as_str())),
        Block::Media(media) if media.kind == MediaKind::Image && role != Role::Assistant => {
            let inline = media.data.as_ref().map(|data| format!("data:{};base64,{data}", media.mime_type));
            let url = inline.or_else(|| media.uri.clone())?;
            Some(json!({"type": "input_image", "image_url": url}))
        }
        Block::Media(media) => {
            described(format!("({}, {}; not written)", media.kind.as_str(), media.mime_type))
        }
        Block::Thinking(_) | Block::ToolCall(_) | Block::ToolResult(_) | Block::Other(_) => None,
    }
}

fn write_call(call: &ToolCall) -> Option<Value> {
    let input: Value = call.input.to().ok()?;
    Some(match word(&call.extra, REST).as_deref() {
        Some("custom_tool_call") => {
            let input = input.as_str().map_or_else(|| input.to_string(), str::to_owned);
            json!({"type": "custom_tool_call", "call_id": call.id, "name": call.name, "input": input})
        }
        Some("local_shell_call") => {
            json!({"type": "local_shell_call", "call_id": call.id, "status": "completed", "action": input})
        }
        _ => {
            let arguments = word(&call.extra, "arguments").unwrap_or_else(|| call.input.as_str().to_owned());
            let mut item = json!({"type": "function_call", "name": call.name, "arguments": arguments, "call_id": call.id});
            if let Some(namespace) = word(&call.extra, "namespace") {
                item["namespace"] = json!(namespace);
            }
            item
        }
    })
}

/// The program drops a line whose output is neither a text nor a list of parts.
fn write_result(result: &ToolResult) -> Option<Value> {
    let kind = word(&result.extra, REST).unwrap_or_else(|| "function_call_output".to_owned());
    let output = match (result.output.to::<String>(), result.output.to::<Vec<Block>>()) {
        (Ok(text), _) => Value::String(text),
        (Err(_), Ok(blocks))
            if blocks.iter().all(|block| matches!(block, Block::Text(_) | Block::Media(_))) =>
        {
            blocks.iter().filter_map(|block| write_part(block, Role::Tool)).collect()
        }
        _ => Value::String(result.output.as_str().to_owned()),
    };
    Some(json!({"type": kind, "call_id": result.call_id, "output": output}))
}

/// Only reasoning that is sealed can be sent back.
fn write_reasoning(thinking: &Thinking) -> Option<Value> {
    let item: Value = thinking.extra.field(ITEM)?.to().ok()?;
    item["encrypted_content"].is_string().then_some(item)
}

fn write_other(other: &Other) -> Value {
    let mut item = json!({ "type": other.kind });
    for (name, value) in other.fields.iter() {
        item[name] = value.to().unwrap_or_default();
    }
    item
}

fn string(text: &str) -> Json {
    json_of(&text)
}

fn json_of(value: &impl serde::Serialize) -> Json {
    Json::of(value).expect("texts, fields and blocks are JSON")
}
