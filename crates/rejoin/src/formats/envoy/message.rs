//! The forms of a message: a prompt, a reply or thinking, and a call with its result.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::formats::content;
use crate::formats::raw_object::RawObject;
use crate::model::{Block, Fields, Json, Message, Role, Thinking, ToolCall, ToolResult};

/// The field of a message's `extra` with unknown fields.
const REST: &str = "envoy";

/// A message as it is written.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EnvoyMessage<'a> {
    role: Role,
    content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_thinking_complete: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_signature: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_args: Option<&'a Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_result: Option<&'a Json>,
}

/// Returns the form of a message. `calls` are those made before it.
pub(super) fn write<'a>(message: &'a Message, calls: &HashMap<&'a str, &'a ToolCall>) -> EnvoyMessage<'a> {
    let mut said = EnvoyMessage {
        role: message.role,
        content: content::spoken(message),
        thinking: None,
        is_thinking_complete: None,
        thinking_signature: None,
        tool_name: None,
        tool_args: None,
        tool_call_id: None,
        tool_result: None,
    };
    match message.blocks.as_slice() {
        [Block::Thinking(thinking)] if message.role == Role::Assistant => {
            said.content.clone_from(&thinking.text);
            said.thinking = Some(true);
            said.is_thinking_complete = Some(true);
            said.thinking_signature = thinking.signature.as_deref();
        }
        [Block::ToolResult(result)] if message.role == Role::Tool => {
            if let Some(call) = calls.get(result.call_id.as_str()) {
                said.content = format!("Tool call: {}", call.name);
                said.tool_name = Some(&call.name);
                said.tool_args = Some(&call.input);
                said.tool_call_id = Some(&call.id);
                said.tool_result = Some(&result.output);
            }
        }
        _ => {}
    }
    said
}

/// Returns the messages of a form; none if its role is unknown.
pub(super) fn read(raw: &RawValue, is_called: &dyn Fn(&str) -> bool) -> Vec<Message> {
    let Ok(mut found) = serde_json::from_str::<RawObject<'_>>(raw.get()) else { return Vec::new() };
    let Some(role) = found.text("role").as_deref().and_then(content::role) else { return Vec::new() };
    let said = found.raw("content");
    let mut messages = match role {
        Role::Tool => tool(&mut found, is_called),
        Role::Assistant => thinking(&mut found, said).into_iter().collect(),
        Role::User | Role::System => Vec::new(),
    };
    if messages.is_empty() {
        messages.push(Message::new(role, said.map(content::blocks).unwrap_or_default()));
    }
    let rest = found.rest();
    if let (false, Some(last)) = (rest.is_empty(), messages.last_mut()) {
        last.extra.set(REST, Json::of(&rest).expect("fields are JSON"));
    }
    messages
}

fn thinking(found: &mut RawObject<'_>, said: Option<&RawValue>) -> Option<Message> {
    let is_thinking = found.raw("thinking").is_some_and(|thinking| thinking.get() == "true");
    let text = said.and_then(|said| serde_json::from_str(said.get()).ok()).filter(|_| is_thinking)?;
    let signature = found.text("thinkingSignature");
    let mut extra = Fields::new();
    if let Some(complete) = found.raw("isThinkingComplete").filter(|complete| complete.get() != "true") {
        extra.set("isThinkingComplete", Json::from_raw(complete));
    }
    Some(Message::new(Role::Assistant, vec![Block::Thinking(Thinking { text, signature, extra })]))
}

/// Returns a call and its result. A call from an earlier line is not repeated; an empty result is still a
/// result.
fn tool(found: &mut RawObject<'_>, is_called: &dyn Fn(&str) -> bool) -> Vec<Message> {
    let (Some(id), Some(name)) = (found.text("toolCallId"), found.text("toolName")) else {
        return Vec::new();
    };
    let input = found.raw("toolArgs").map(Json::from_raw).unwrap_or_default();
    let mut messages = Vec::new();
    if !is_called(&id) {
        let mut call = ToolCall { id: id.clone(), name: name.clone(), input, extra: Fields::new() };
        let usual = format!("\"Tool call: {name}\"");
        if let Some(said) = found.raw("content").filter(|said| said.get() != usual) {
            call.extra.set("content", Json::from_raw(said));
        }
        messages.push(Message::new(Role::Assistant, vec![Block::ToolCall(call)]));
    }
    if let Some(output) = found.raw("toolResult") {
        let is_error = found.raw("isError").is_some_and(|error| error.get() == "true");
        let output = Json::from_raw(output);
        let result = ToolResult { call_id: id, output, is_error, extra: Fields::new() };
        messages.push(Message::new(Role::Tool, vec![Block::ToolResult(result)]));
    }
    messages
}
