//! Anthropic Messages: roles in turn, a person first, every call answered in the very next message.

use serde_json::Value;

use crate::valid::{Thinking, array, is_name, text};

pub(crate) fn faults_of_anthropic(body: &Value, thinking: Thinking) -> Vec<String> {
    let mut faults = Vec::new();
    let messages = array(&body["messages"]);
    for (place, message) in messages.iter().enumerate() {
        let expected = if place % 2 == 0 { "user" } else { "assistant" };
        if message["role"] != expected {
            faults.push(format!("message {place} is not of the role {expected}"));
        }
        if array(&message["content"]).is_empty() && text(&message["content"]).is_empty() {
            faults.push(format!("message {place} is empty"));
        }
        for block in array(&message["content"]) {
            faults.extend(
                block_faults(block, thinking).into_iter().map(|fault| format!("message {place}: {fault}")),
            );
        }
        let asked = ids(message, "tool_use", "id");
        let answered =
            messages.get(place + 1).map(|next| ids(next, "tool_result", "tool_use_id")).unwrap_or_default();
        let strays = if place == 0 { ids(message, "tool_result", "tool_use_id") } else { Vec::new() };
        let follows = message["role"] == "assistant";
        if follows && asked != answered {
            faults.push(format!("calls {asked:?} of message {place} are answered by {answered:?}"));
        }
        if !strays.is_empty() {
            faults.push(format!("results {strays:?} answer nothing"));
        }
    }
    faults
}

/// Sorted, so that they can be compared.
fn ids(message: &Value, kind: &str, name: &str) -> Vec<String> {
    let blocks = array(&message["content"]).iter().filter(|block| block["type"] == kind);
    let mut ids: Vec<String> = blocks.map(|block| text(&block[name]).to_owned()).collect();
    ids.sort();
    ids
}

fn block_faults(block: &Value, thinking: Thinking) -> Option<String> {
    match text(&block["type"]) {
        "text" if text(&block["text"]).trim().is_empty() => Some("a text is empty".to_owned()),
        "thinking" | "redacted_thinking" if thinking == Thinking::Foreign => {
            Some("it holds the thinking of another".to_owned())
        }
        "thinking" if text(&block["signature"]).is_empty() => Some("thinking without a signature".to_owned()),
        "tool_use"
            if !is_name(text(&block["name"]))
                || !is_name(text(&block["id"]))
                || !block["input"].is_object() =>
        {
            Some(format!("a call is not one: {block}"))
        }
        "text" | "thinking" | "redacted_thinking" | "tool_use" | "tool_result" | "image" => None,
        "server_tool_use" | "web_search_tool_result" if thinking == Thinking::Allowed => None,
        other => Some(format!("a block is of the kind `{other}`")),
    }
}
