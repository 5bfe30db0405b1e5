//! The rules of Anthropic Messages that its schema does not state.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::valid::{Fault, Found, array, is_base64, is_name, text};

pub(super) fn faults(body: &Value) -> Vec<Fault> {
    let mut found = Found::default();
    settings(&mut found, body);
    let messages = array(&body["messages"]);
    order(&mut found, messages);
    let mut ids = BTreeSet::new();
    for (place, message) in messages.iter().enumerate() {
        let next = messages.get(place + 1);
        for block in blocks(message) {
            block_alone(&mut found, place, message, block);
        }
        calls(&mut found, place, message, next, &mut ids);
        results(&mut found, place, message, place.checked_sub(1).map(|before| &messages[before]));
        server_calls(&mut found, place, message, next);
    }
    thinking(&mut found, body, messages);
    found.0
}

fn settings(found: &mut Found, body: &Value) {
    let budget = body["thinking"]["budget_tokens"].as_u64();
    let (limit, is_thinking) = (body["max_tokens"].as_u64(), budget.is_some());
    // "max_tokens: must be greater than or equal to 1".
    found.check(limit.is_none_or(|limit| limit > 0), "limit", "max_tokens");
    // "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024".
    found.check(budget.is_none_or(|budget| budget >= 1024), "least budget", budget.unwrap_or_default());
    // "`max_tokens` must be greater than `thinking.budget_tokens`".
    found.check(budget < limit || !is_thinking, "budget below limit", budget.unwrap_or_default());
    // "`temperature` may only be set to 1 when thinking is enabled".
    let is_one = body["temperature"].as_f64().is_none_or(|heat| heat == 1.0);
    found.check(!is_thinking || is_one, "temperature while thinking", &body["temperature"]);
    // "Thinking may not be enabled when tool_choice forces tool use".
    let is_forced = matches!(text(&body["tool_choice"]["type"]), "any" | "tool");
    found.check(!is_thinking || !is_forced, "forced call while thinking", &body["tool_choice"]);
    let tools: Vec<&str> = array(&body["tools"]).iter().map(|tool| text(&tool["name"])).collect();
    // "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'".
    found.check(tools.iter().all(|name| is_name(name, 128)), "tool name", format!("{tools:?}"));
    // "tools: Tool names must be unique".
    found.check(is_unique(&tools), "unique tools", format!("{tools:?}"));
    // "Requests which include `tool_use` or `tool_result` blocks must define
    // tools"; Bedrock says it of `toolConfig`.
    let has_calls = array(&body["messages"])
        .iter()
        .flat_map(blocks)
        .any(|block| matches!(text(&block["type"]), "tool_use" | "tool_result"));
    found.check(!has_calls || !tools.is_empty(), "tools defined", "tools");
    // "A maximum of 4 blocks with cache_control may be provided".
    let marks = marks(&body["tools"]) + marks(&body["system"]) + marks(&body["messages"]);
    found.check(marks <= 4, "cache marks", marks);
    // "system: text content blocks must be non-empty".
    let is_said = |block: &Value| !text(&block["text"]).trim().is_empty();
    let system = &body["system"];
    found.check(array(system).iter().all(is_said), "blank text", "system");
}

fn order(found: &mut Found, messages: &[Value]) {
    // "messages: at least one message is required".
    found.check(!messages.is_empty(), "some message", "messages");
    // "messages: first message must use the "user" role".
    let first = messages.first().map(|message| text(&message["role"]));
    found.check(first.is_none_or(|role| role == "user"), "user first", "messages.0");
    for (place, pair) in messages.windows(2).enumerate() {
        // "messages: roles must alternate between "user" and "assistant""; the
        // API joins them, servers like it refuse.
        found.check(pair[0]["role"] != pair[1]["role"], "roles alternate", place + 1);
    }
    for (place, message) in messages.iter().enumerate() {
        // "messages.0: all messages must have non-empty content".
        let content = &message["content"];
        let is_filled = !array(content).is_empty() || !text(content).trim().is_empty();
        found.check(is_filled, "some content", place);
    }
    let last = messages.last().filter(|message| message["role"] == "assistant");
    let end = last.and_then(|message| {
        array(&message["content"]).last().map(|block| &block["text"]).or(Some(&message["content"]))
    });
    // "messages: final assistant content cannot end with trailing whitespace".
    let end = end.map(text).unwrap_or_default();
    found.check(end == end.trim_end(), "trailing space", format!("{end:?}"));
}

/// What a block must be, wherever it stands.
fn block_alone(found: &mut Found, place: usize, message: &Value, block: &Value) {
    let kind = text(&block["type"]);
    let is_assistant = message["role"] == "assistant";
    let at = || format!("message {place}: {block}");
    // "messages.1: `tool_use` blocks can only be in `assistant` messages", and so for the others.
    let is_placed = match kind {
        "tool_result" | "image" | "document" | "search_result" => !is_assistant,
        "tool_use" | "thinking" | "redacted_thinking" | "server_tool_use" => is_assistant,
        kind if kind.ends_with("_tool_result") => is_assistant,
        _ => true,
    };
    found.check(is_placed, "block of the role", at());
    match kind {
        // "messages: text content blocks must contain non-whitespace text".
        "text" => found.check(!text(&block["text"]).trim().is_empty(), "blank text", at()),
        // "messages.1.content.0.thinking.signature: Invalid `signature` in `thinking` block".
        "thinking" => found.check(!text(&block["signature"]).is_empty(), "signed thinking", at()),
        "redacted_thinking" => found.check(!text(&block["data"]).is_empty(), "signed thinking", at()),
        "image" | "document" => image(found, block),
        "tool_use" => {
            // "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'".
            found.check(is_name(text(&block["id"]), usize::MAX), "call id", at());
            // "messages.1.content.0.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'".
            found.check(is_name(text(&block["name"]), 128), "tool name", at());
            // "messages.1.content.0.tool_use.input: Input should be a valid dictionary".
            found.check(block["input"].is_object(), "call input", at());
        }
        "tool_result" => {
            for inner in array(&block["content"]) {
                match text(&inner["type"]) {
                    "text" => found.check(!text(&inner["text"]).trim().is_empty(), "blank text", at()),
                    "image" => image(found, inner),
                    _ => {}
                }
            }
        }
        // "messages.1.content.0.server_tool_use.id: String should match pattern '^srvtoolu_[a-zA-Z0-9_]+$'".
        "server_tool_use" => {
            found.check(text(&block["id"]).starts_with("srvtoolu_"), "server call id", at());
        }
        _ => {}
    }
}

fn image(found: &mut Found, block: &Value) {
    let source = &block["source"];
    let kinds = ["image/jpeg", "image/png", "image/gif", "image/webp"];
    let is_seen = source["media_type"].is_null()
        || block["type"] == "document"
        || kinds.contains(&text(&source["media_type"]));
    // "messages.0.content.0.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', …".
    found.check(is_seen, "image kind", block);
    // "messages.0.content.0.image.source.base64.data: image cannot be empty", "invalid base64 data".
    let is_whole = match text(&source["type"]) {
        "base64" => is_base64(text(&source["data"])),
        "url" => text(&source["url"]).starts_with("http"),
        _ => true,
    };
    found.check(is_whole, "image data", block);
}

fn calls<'a>(
    found: &mut Found,
    place: usize,
    message: &'a Value,
    next: Option<&Value>,
    ids: &mut BTreeSet<&'a str>,
) {
    let answered = next.map(|next| of_kind(next, "tool_result", "tool_use_id")).unwrap_or_default();
    for id in of_kind(message, "tool_use", "id") {
        // "messages: `tool_use` ids must be unique".
        found.check(ids.insert(id), "unique call ids", id);
        // "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after".
        found.check(answered.contains(&id), "call answered", format!("message {place}: {id}"));
    }
}

fn results(found: &mut Found, place: usize, message: &Value, before: Option<&Value>) {
    let asked = before.map(|before| of_kind(before, "tool_use", "id")).unwrap_or_default();
    let answers = of_kind(message, "tool_result", "tool_use_id");
    for id in &answers {
        // "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks".
        found.check(asked.contains(id), "result asked for", format!("message {place}: {id}"));
    }
    // "messages.2: each tool_use must have a single result. Found multiple `tool_result` blocks with id".
    found.check(is_unique(&answers), "one result", format!("message {place}: {answers:?}"));
    // "Messages following `tool_use` blocks must begin with a matching number of `tool_result` blocks".
    let is_result = |block: &&Value| block["type"] == "tool_result";
    let leading = blocks(message).iter().take_while(is_result).count();
    found.check(leading == answers.len(), "results first", place);
}

/// A server's tool answers in the same message; only a paused reply may end before it does.
fn server_calls(found: &mut Found, place: usize, message: &Value, next: Option<&Value>) {
    let results = blocks(message).iter().filter(|block| {
        let kind = text(&block["type"]);
        kind.ends_with("_tool_result")
    });
    let answered: Vec<&str> = results.map(|block| text(&block["tool_use_id"])).collect();
    let asked = of_kind(message, "server_tool_use", "id");
    for id in &answered {
        // "unexpected `tool_use_id` found in `web_search_tool_result` blocks. Each must have a corresponding
        // `server_tool_use` block before it".
        found.check(asked.contains(id), "server result asked for", format!("message {place}: {id}"));
    }
    let is_result = |block: &Value| block["type"] == "tool_result";
    let is_going_on = next.is_none_or(|next| !blocks(next).is_empty() && blocks(next).iter().all(is_result));
    for id in asked.iter().filter(|id| !answered.contains(id)) {
        // "`web_search` tool use with id `…` was found without a corresponding
        // `web_search_tool_result` block".
        found.check(is_going_on, "server call answered", format!("message {place}: {id}"));
    }
}

fn thinking(found: &mut Found, body: &Value, messages: &[Value]) {
    let is_thinking = |block: &Value| matches!(text(&block["type"]), "thinking" | "redacted_thinking");
    for (place, message) in messages.iter().enumerate() {
        // "messages.1: The final block in an assistant message cannot be `thinking`".
        let is_open = message["role"] == "assistant" && blocks(message).last().is_some_and(is_thinking);
        found.check(!is_open, "thinking leads on", place);
    }
    let mode = text(&body["thinking"]["type"]);
    let last = messages.iter().rev().find(|message| message["role"] == "assistant");
    let is_in_loop = messages.last().is_some_and(|last| {
        last["role"] == "user" && blocks(last).iter().any(|block| block["type"] == "tool_result")
    });
    let begins = last.and_then(|last| blocks(last).first()).is_some_and(is_thinking);
    // "Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final
    // `assistant` message must start with a thinking block".
    found.check(mode != "enabled" || !is_in_loop || begins, "thinking first", "messages");
    // "When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`".
    let is_last = messages.last().is_some_and(|last| last["role"] == "assistant");
    let thinks = is_last && last.is_some_and(|last| blocks(last).iter().any(is_thinking));
    found.check(mode != "disabled" || !thinks, "thinking disabled", "messages");
}

fn blocks(message: &Value) -> &[Value] {
    array(&message["content"])
}

fn of_kind<'a>(message: &'a Value, kind: &str, field: &str) -> Vec<&'a str> {
    let found = blocks(message).iter().filter(|block| block["type"] == kind);
    found.map(|block| text(&block[field])).collect()
}

fn is_unique(names: &[&str]) -> bool {
    names.iter().collect::<BTreeSet<_>>().len() == names.len()
}

fn marks(value: &Value) -> usize {
    match value {
        Value::Array(values) => values.iter().map(marks).sum(),
        Value::Object(fields) => {
            let own = usize::from(fields.get("cache_control").is_some_and(|mark| !mark.is_null()));
            own + fields
                .iter()
                .filter(|(name, _)| *name != "input")
                .map(|(_, value)| marks(value))
                .sum::<usize>()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// Thinking and what servers' tools said.
pub(super) fn foreign(body: &Value) -> Vec<String> {
    let usual = ["text", "tool_use", "tool_result", "image", "document"];
    let all = array(&body["messages"]).iter().flat_map(blocks);
    all.map(|block| text(&block["type"])).filter(|kind| !usual.contains(kind)).map(str::to_owned).collect()
}
