//! Converts items of the Responses API to blocks and back.
//!
//! Reasoning keeps its whole item in the field `item`, as replies from the API do, so that it can be sent
//! back. Calls other than function calls keep the rest of their item in the field `codex`.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::formats::codex::API;
use crate::formats::encoding::json_of;
use crate::formats::raw_object::{RawObject, is_text};
use crate::model::{
    Block, Fields, Json, Media, MediaKind, Message, Other, Role, Thinking, ToolCall, ToolResult,
};

/// The field with the whole item of a reasoning block.
const ITEM: &str = "item";

/// The field with the rest of an item that is not a plain function call.
const REST: &str = "codex";

/// The prefix of an output that is a failure: the API has no field for it, and the model should know.
const FAILED: &str = "Error: ";

/// What an item means for the conversation.
pub(in crate::formats) enum ConversationItem {
    /// A message of its own.
    Said(Role, Vec<Block>),
    /// A part of a reply.
    Reply(Vec<Block>),
    /// The output of a tool.
    Result(Block),
    /// Not part of the conversation.
    Mark,
}

/// Interprets an item. One that is not understood becomes part of a reply unchanged.
pub(in crate::formats) fn read(mut found: RawObject<'_>) -> ConversationItem {
    let kind = found.text("type").unwrap_or_default();
    let known = match kind.as_str() {
        "message" => message(&mut found),
        "reasoning" => Some(ConversationItem::Reply(vec![reasoning(&mut found)])),
        "function_call" => function_call(&mut found),
        "custom_tool_call" => custom_call(&mut found),
        "local_shell_call" => shell_call(&mut found),
        "function_call_output" | "custom_tool_call_output" => result(&kind, &mut found),
        "ghost_snapshot" => Some(ConversationItem::Mark),
        _ => None,
    };
    known.unwrap_or_else(|| ConversationItem::Reply(vec![Block::Other(Other { kind, fields: found.all() })]))
}

fn word(fields: &Fields, name: &str) -> Option<String> {
    fields.field(name)?.to().ok()
}

fn message(found: &mut RawObject<'_>) -> Option<ConversationItem> {
    let blocks = parts(found.raw("content")?)?;
    Some(match found.text("role")?.as_str() {
        "user" => ConversationItem::Said(Role::User, blocks),
        "assistant" => ConversationItem::Reply(blocks),
        "developer" | "system" => ConversationItem::Said(Role::System, blocks),
        _ => return None,
    })
}

/// Returns the program's id of a user message; a compaction repeats it with the same id.
pub(super) fn id_of_prompt(found: &mut RawObject<'_>) -> Option<String> {
    let is = |found: &mut RawObject<'_>, name: &str, quoted: &str| {
        found.raw(name).is_some_and(|raw| raw.get() == quoted)
    };
    let is_prompt = is(found, "type", "\"message\"") && is(found, "role", "\"user\"");
    is_prompt.then(|| found.text("id"))?
}

/// Returns the id and the text of a user message in the history of a compaction.
pub(super) fn prompt(item: &Json) -> Option<(Option<String>, String)> {
    let mut found: RawObject<'_> = serde_json::from_str(item.as_str()).ok()?;
    if found.text("type")? != "message" || found.text("role")? != "user" {
        return None;
    }
    let text = Message::new(Role::User, parts(found.raw("content")?)?).text();
    Some((found.text("id"), text))
}

/// Returns the blocks of a list of parts.
fn parts(content: &RawValue) -> Option<Vec<Block>> {
    if !content.get().starts_with('[') {
        return None;
    }
    let parts: Vec<RawObject<'_>> = serde_json::from_str(content.get()).ok()?;
    Some(parts.into_iter().map(part).collect())
}

fn part(mut found: RawObject<'_>) -> Block {
    let kind = found.text("type").unwrap_or_default();
    let known = match kind.as_str() {
        "input_text" | "output_text" | "text" => found.text("text").map(Block::text),
        "input_image" => found.text("image_url").map(|url| media(MediaKind::Image, url)),
        "input_audio" => found.text("audio_url").map(|url| media(MediaKind::Audio, url)),
        _ => None,
    };
    known.unwrap_or_else(|| Block::Other(Other { kind, fields: found.all() }))
}

/// Media from a URL, often a data URL.
fn media(kind: MediaKind, url: String) -> Block {
    let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    let (mime_type, data, uri) = match inline {
        Some((mime_type, data)) => (mime_type.to_owned(), Some(data.to_owned()), None),
        None => ("application/octet-stream".to_owned(), None, Some(url)),
    };
    Block::Media(Media { kind, mime_type, data, uri, extra: Fields::new() })
}

fn reasoning(found: &mut RawObject<'_>) -> Block {
    let mut joined = |name| {
        let parts =
            found.raw(name).and_then(|parts| serde_json::from_str::<Vec<RawObject<'_>>>(parts.get()).ok());
        let texts = parts.unwrap_or_default().into_iter().filter_map(|mut part| part.text("text"));
        texts.collect::<Vec<_>>().join("\n\n")
    };
    let (summary, content) = (joined("summary"), joined("content"));
    let text = if summary.is_empty() { content } else { summary };
    let mut extra = Fields::new();
    extra.set(ITEM, json_of(found.whole()));
    Block::Thinking(Thinking { text, signature: None, extra })
}

fn function_call(found: &mut RawObject<'_>) -> Option<ConversationItem> {
    let arguments = found.text("arguments")?;
    let input = Json::parse(arguments.as_str()).unwrap_or_else(|_| json_of(&arguments));
    let mut extra = Fields::new();
    if let Some(namespace) = found.raw("namespace") {
        extra.set("namespace", Json::from_raw(namespace));
    }
    // Arguments that are not JSON, or have white space around them, would not round-trip.
    if input.as_str() != arguments {
        extra.set("arguments", json_of(&arguments));
    }
    let name = found.text("name")?;
    call(found, name, input, extra)
}

fn custom_call(found: &mut RawObject<'_>) -> Option<ConversationItem> {
    let input = found.raw("input").filter(|input| is_text(input)).map(Json::from_raw)?;
    let mut extra = Fields::new();
    extra.set(REST, json_of("custom_tool_call"));
    let name = found.text("name")?;
    call(found, name, input, extra)
}

fn shell_call(found: &mut RawObject<'_>) -> Option<ConversationItem> {
    let mut extra = Fields::new();
    extra.set(REST, json_of("local_shell_call"));
    let action = Json::from_raw(found.raw("action")?);
    call(found, "local_shell".to_owned(), action, extra)
}

fn call(found: &mut RawObject<'_>, name: String, input: Json, extra: Fields) -> Option<ConversationItem> {
    let id = found.text("call_id").or_else(|| found.text("id"))?;
    Some(ConversationItem::Reply(vec![Block::ToolCall(ToolCall { id, name, input, extra })]))
}

fn result(kind: &str, found: &mut RawObject<'_>) -> Option<ConversationItem> {
    let output = found.raw("output")?;
    let output = parts(output).map_or_else(|| Json::from_raw(output), |blocks| json_of(&blocks));
    let mut extra = Fields::new();
    if kind != "function_call_output" {
        extra.set(REST, json_of(kind));
    }
    let call_id = found.text("call_id")?;
    Some(ConversationItem::Result(Block::ToolResult(ToolResult { call_id, output, is_error: false, extra })))
}

/// Returns the items of a message. Consecutive items of one API message become one item.
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
                // Each text of a reply is an item, as in the program's own files.
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
        Block::Snapshot(snapshot) if snapshot.is_of_files() => None,
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
            let mut item = json!({
                "type": "function_call", "name": call.name, "arguments": arguments, "call_id": call.id,
            });
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
    let text = |text: String| match result.is_error {
        true => Value::String(format!("{FAILED}{text}")),
        false => Value::String(text),
    };
    let output = match (result.output.to::<String>(), result.output.to::<Vec<Block>>()) {
        (Ok(said), _) => text(said),
        (Err(_), Ok(blocks))
            if blocks.iter().all(|block| matches!(block, Block::Text(_) | Block::Media(_))) =>
        {
            let mark = result.is_error.then(|| Block::text(FAILED));
            mark.iter().chain(&blocks).filter_map(|block| write_part(block, Role::Tool)).collect()
        }
        _ => text(result.output.as_str().to_owned()),
    };
    Some(json!({"type": kind, "call_id": result.call_id, "output": output}))
}

/// Restores a failed result that Rejoin has written.
pub(super) fn read_failure(result: &mut ToolResult) {
    result.is_error = true;
    if let Ok(text) = result.output.to::<String>() {
        result.output = json_of(text.strip_prefix(FAILED).unwrap_or(&text));
    } else if let Ok(mut blocks) = result.output.to::<Vec<Block>>() {
        let is_mark = matches!(blocks.first(), Some(Block::Text(text)) if text.text == FAILED);
        blocks.drain(..usize::from(is_mark));
        result.output = json_of(&blocks);
    }
}

/// Only encrypted reasoning can be sent back.
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
