//! The rules of OpenAI Responses that its schema does not state.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::valid::{Fault, Found, array, is_image_address, is_name, text};

/// How the ids of items begin.
const PREFIXES: [(&str, &str); 4] =
    [("message", "msg"), ("reasoning", "rs"), ("function_call", "fc"), ("web_search_call", "ws")];

pub(super) fn faults(body: &Value) -> Vec<Fault> {
    let mut found = Found::default();
    settings(&mut found, body);
    let items = array(&body["input"]);
    // "One of "input" or "previous_response_id" or 'prompt' or 'conversation_id' must be provided".
    found.check(!items.is_empty() || !text(&body["input"]).is_empty(), "some input", "input");
    let mut ids = BTreeSet::new();
    // The calls so far, and whether an output has come.
    let mut calls: BTreeMap<&str, bool> = BTreeMap::new();
    for (place, item) in items.iter().enumerate() {
        item_id(&mut found, item, &mut ids);
        let call_id = text(&item["call_id"]);
        match kind(item) {
            "message" => message(&mut found, place, item),
            "reasoning" => reasoning(&mut found, item, items.get(place + 1), body["store"] == false),
            "function_call" | "custom_tool_call" => {
                // "Invalid 'input[1].call_id': string too long. Expected a string with maximum length 64".
                found.check((1..=64).contains(&call_id.len()), "call id", item);
                // "Duplicate 'call_id'".
                found.check(calls.insert(call_id, false).is_none(), "unique call ids", item);
                // "Invalid 'input[1].name': string does not match pattern. Expected … '^[a-zA-Z0-9_-]+$'".
                found.check(is_name(text(&item["name"]), 64), "tool name", item);
            }
            "function_call_output" | "custom_tool_call_output" => {
                let before = calls.insert(call_id, true);
                // "No tool call found for function call output with call_id".
                found.check(before.is_some(), "output asked for", item);
                // "Duplicate function call output".
                found.check(before != Some(true), "one output", item);
            }
            // "Item with id '…' not found. Items are not persisted when `store` is set to false".
            "item_reference" => found.check(body["store"] != false, "stored reference", item),
            _ => {}
        }
    }
    for (call, _) in calls.iter().filter(|(_, is_answered)| !**is_answered) {
        // "No tool output found for function call call_…".
        found.check(false, "call answered", call);
    }
    found.0
}

fn settings(found: &mut Found, body: &Value) {
    let tools = array(&body["tools"]).iter().filter(|tool| tool["type"] == "function");
    let names: Vec<&str> = tools.map(|tool| text(&tool["name"])).collect();
    // "Invalid 'tools[0].name': string does not match pattern. Expected …
    // '^[a-zA-Z0-9_-]+$'", at most 64 letters.
    found.check(names.iter().all(|name| is_name(name, 64)), "tool name", format!("{names:?}"));
    // "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16".
    let limit = body["max_output_tokens"].as_u64();
    found.check(limit.is_none_or(|limit| limit >= 16), "limit", limit.unwrap_or_default());
}

/// The kind of an item; a message needs not say it.
fn kind(item: &Value) -> &str {
    if item["type"].is_null() && !item["role"].is_null() { "message" } else { text(&item["type"]) }
}

fn item_id<'a>(found: &mut Found, item: &'a Value, ids: &mut BTreeSet<&'a str>) {
    let Some(id) = item["id"].as_str() else { return };
    // "Duplicate item found with id rs_…. Remove duplicate items from your input and try again".
    found.check(ids.insert(id), "unique items", id);
    // "Invalid 'input[2].id': string too long. Expected a string with maximum length 64".
    found.check((1..=64).contains(&id.len()), "item id", id);
    let prefix = PREFIXES.iter().find(|(kind, _)| *kind == self::kind(item));
    // "Invalid 'input[2].id': '…'. Expected an ID that begins with 'msg'".
    found.check(prefix.is_none_or(|(_, prefix)| id.starts_with(prefix)), "item id", id);
}

fn reasoning(found: &mut Found, item: &Value, next: Option<&Value>, is_unstored: bool) {
    let is_own = |next: &Value| match kind(next) {
        "message" => next["role"] == "assistant",
        kind => !kind.is_empty() && !kind.ends_with("_output") && kind != "item_reference",
    };
    // "Item 'rs_…' of type 'reasoning' was provided without its required following item".
    found.check(next.is_some_and(is_own), "reasoning leads on", item);
    // "Item with id 'rs_…' not found. Items are not persisted when `store` is set to false": it has to bring
    // its content. Servers that are not OpenAI's bring it in words.
    let is_sealed = !text(&item["encrypted_content"]).is_empty() || !array(&item["content"]).is_empty();
    found.check(!is_unstored || is_sealed, "sealed reasoning", item);
}

fn message(found: &mut Found, place: usize, item: &Value) {
    let role = text(&item["role"]);
    let content = &item["content"];
    let words = text(content);
    let is_spoken = if role == "assistant" { !words.is_empty() } else { !words.trim().is_empty() };
    let is_filled = !array(content).is_empty() || is_spoken;
    // Not refused by every server, but a message without words is a mistake. A model may say an empty text.
    found.check(is_filled, "some content", format!("item {place}: {item}"));
    for part in array(content) {
        let at = || format!("item {place}: {part}");
        let kind = text(&part["type"]);
        // "Invalid value: 'input_text'. Supported values are: 'output_text' and
        // 'refusal'", and the other way round.
        let is_of_role = match role {
            "assistant" => matches!(kind, "output_text" | "refusal"),
            "user" => kind.starts_with("input_"),
            _ => kind == "input_text",
        };
        found.check(is_of_role, "part of the role", at());
        let is_said = kind != "input_text" || !text(&part["text"]).trim().is_empty();
        found.check(is_said, "some content", at());
        // "Invalid 'input[0].content[0].image_url'. Expected a valid URL"; "unsupported image".
        let is_shown = kind != "input_image"
            || part["file_id"].is_string()
            || is_image_address(text(&part["image_url"]));
        found.check(is_shown, "image address", at());
    }
}

/// Ids, reasoning and what hosted tools did.
pub(super) fn foreign(body: &Value) -> Vec<String> {
    let usual = ["message", "function_call", "function_call_output"];
    let items = array(&body["input"]).iter();
    let items = items.filter(|item| item.get("id").is_some() || !usual.contains(&kind(item)));
    items.map(ToString::to_string).collect()
}
