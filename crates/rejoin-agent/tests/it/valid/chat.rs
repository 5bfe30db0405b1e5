//! The rules of OpenAI Chat Completions that its schema does not state, and what the templates of open models
//! ask on top: the system first, then roles in turn.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::valid::{Fault, Found, array, is_image_address, is_name, text};

/// The fields in which servers send thinking.
const THOUGHTS: [&str; 4] = ["reasoning", "reasoning_content", "thinking", "reasoning_details"];

pub(super) fn faults(body: &Value) -> Vec<Fault> {
    let mut found = Found::default();
    settings(&mut found, body);
    let messages = array(&body["messages"]);
    // "[] is too short - 'messages'".
    found.check(!messages.is_empty(), "some message", "messages");
    let mut open: Vec<&str> = Vec::new();
    let mut ids = BTreeSet::new();
    let mut before = "";
    for (place, message) in messages.iter().enumerate() {
        let role = text(&message["role"]);
        order(&mut found, place, before, role);
        if role == "tool" {
            let id = text(&message["tool_call_id"]);
            let answered = open.iter().position(|call| *call == id).map(|place| open.remove(place));
            // "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'".
            found.check(answered.is_some(), "answer asked for", format!("message {place}: {id}"));
        } else {
            // "An assistant message with 'tool_calls' must be followed by tool messages responding to each
            // 'tool_call_id'".
            found.check(open.is_empty(), "call answered", format!("message {place}: {open:?}"));
            open = array(&message["tool_calls"]).iter().map(|call| text(&call["id"])).collect();
        }
        for call in array(&message["tool_calls"]) {
            call_alone(&mut found, place, call, &mut ids);
        }
        content(&mut found, place, message);
        before = role;
    }
    found.check(open.is_empty(), "call answered", format!("{open:?}"));
    found.0
}

fn settings(found: &mut Found, body: &Value) {
    let tools = &body["tools"];
    let names: Vec<&str> = array(tools).iter().map(|tool| text(&tool["function"]["name"])).collect();
    // "Invalid 'tools[0].function.name': string does not match pattern
    // '^[a-zA-Z0-9_-]+$'", at most 64 letters.
    found.check(names.iter().all(|name| is_name(name, 64)), "tool name", format!("{names:?}"));
    // "[] is too short - 'tools'".
    found.check(tools.is_null() || !names.is_empty(), "some tool", "tools");
    // "'parallel_tool_calls' is only allowed when 'tools' are specified", and so for `tool_choice`.
    for name in ["parallel_tool_calls", "tool_choice"] {
        found.check(body[name].is_null() || !names.is_empty(), "needs tools", name);
    }
    // "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported".
    let has_both = !body["max_tokens"].is_null() && !body["max_completion_tokens"].is_null();
    found.check(!has_both, "one limit", "max_tokens");
    for name in ["max_tokens", "max_completion_tokens"] {
        // "Invalid 'max_tokens': integer below minimum value. Expected a value >= 1".
        found.check(body[name].as_u64() != Some(0), "limit", name);
    }
    // "The 'stream_options' parameter is only allowed when 'stream' is enabled".
    found.check(
        body["stream_options"].is_null() || body["stream"] == true,
        "stream options",
        "stream_options",
    );
}

fn order(found: &mut Found, place: usize, before: &str, role: &str) {
    let is_in_turn = match role {
        // "System message must be at the beginning", say the templates.
        "system" | "developer" => {
            found.check(place == 0, "system first", place);
            true
        }
        // "Conversation roles must alternate user/assistant/user/assistant/...", say the templates.
        "user" | "assistant" => role != before,
        _ => true,
    };
    found.check(is_in_turn, "roles alternate", format!("message {place}: `{role}` after `{before}`"));
}

fn call_alone<'a>(found: &mut Found, place: usize, call: &'a Value, ids: &mut BTreeSet<&'a str>) {
    let at = || format!("message {place}: {call}");
    let id = text(&call["id"]);
    // "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum
    // length 40"; empty ones cannot be answered.
    found.check((1..=40).contains(&id.len()), "call id", at());
    // Two calls of one id cannot be told apart by their answers.
    found.check(ids.insert(id), "unique call ids", at());
    // "Invalid 'messages[1].tool_calls[0].function.name': string does not match pattern '^[a-zA-Z0-9_-]+$'".
    found.check(is_name(text(&call["function"]["name"]), 64), "tool name", at());
}

fn content(found: &mut Found, place: usize, message: &Value) {
    let (role, content) = (text(&message["role"]), &message["content"]);
    let calls = &message["tool_calls"];
    // "[] is too short - 'messages.1.tool_calls'".
    found.check(calls.is_null() || !array(calls).is_empty(), "some call", place);
    let is_said = |part: &Value| match text(&part["type"]) {
        "text" => !text(&part["text"]).trim().is_empty(),
        "refusal" => !text(&part["refusal"]).is_empty(),
        _ => true,
    };
    let has_words = match content {
        Value::Array(parts) => !parts.is_empty() && parts.iter().all(is_said),
        other => !text(other).trim().is_empty(),
    };
    // "Invalid value for 'content': expected a string, got null": only calls
    // and a refusal stand in for words.
    let is_excused = match role {
        "assistant" if content.is_null() => !array(calls).is_empty() || message["refusal"].is_string(),
        // A model and a tool may have nothing to say.
        "assistant" | "tool" => content.is_string(),
        _ => false,
    };
    found.check(has_words || is_excused, "some content", format!("message {place}: {message}"));
    for part in array(content).iter().filter(|part| part["type"] == "image_url") {
        // "Invalid image URL"; "You uploaded an unsupported image. Please make sure your image is
        // one of ['png', 'jpeg', 'gif', 'webp']".
        found.check(is_image_address(text(&part["image_url"]["url"])), "image address", place);
        // "Image URLs are only allowed for messages with role 'user'".
        found.check(role == "user", "image of the role", place);
    }
}

/// Thinking, under whatever name.
pub(super) fn foreign(body: &Value) -> Vec<String> {
    let fields = array(&body["messages"]).iter().flat_map(|message| {
        THOUGHTS.into_iter().filter(|name| message.get(name).is_some()).map(str::to_owned)
    });
    fields.collect()
}
