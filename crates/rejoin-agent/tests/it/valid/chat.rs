//! OpenAI Chat Completions, with what the templates of open models ask on top: the system first, then roles in turn.

use serde_json::Value;

use crate::valid::{Thinking, array, is_name, text};

pub(crate) fn faults_of_chat(body: &Value, thinking: Thinking) -> Vec<String> {
    let mut faults = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    let mut before = "";
    for (place, message) in array(&body["messages"]).iter().enumerate() {
        let role = text(&message["role"]);
        let is_in_turn = match (before, role) {
            ("", "system") => place == 0,
            ("" | "system" | "assistant" | "tool", "user") => true,
            (_, "assistant") => before != "assistant",
            (_, "tool") => !open.is_empty(),
            _ => false,
        };
        if !is_in_turn {
            faults.push(format!("message {place}: `{role}` after `{before}`"));
        }
        if role != "tool" && !open.is_empty() {
            faults.push(format!("message {place}: the calls {open:?} are not answered"));
            open.clear();
        }
        let fault = match role {
            "assistant" => {
                open = array(&message["tool_calls"]).iter().map(|call| text(&call["id"])).collect();
                assistant_fault(message, thinking)
            }
            "tool" => {
                let id = text(&message["tool_call_id"]);
                let answered = open.iter().position(|call| *call == id).map(|place| open.remove(place));
                let is_sound = answered.is_some() && message["content"].is_string();
                (!is_sound).then(|| format!("an answer answers nothing: {message}"))
            }
            _ => (!has_words(&message["content"])).then(|| format!("a message is empty: {message}")),
        };
        faults.extend(fault.map(|fault| format!("message {place}: {fault}")));
        before = role;
    }
    faults.extend((!open.is_empty()).then(|| format!("the calls {open:?} are not answered")));
    faults
}

fn assistant_fault(message: &Value, thinking: Thinking) -> Option<String> {
    let calls = array(&message["tool_calls"]);
    let is_call = |call: &Value| {
        let function = &call["function"];
        !text(&call["id"]).is_empty() && is_name(text(&function["name"])) && function["arguments"].is_string()
    };
    let names = ["reasoning", "reasoning_content", "thinking", "reasoning_details"];
    if thinking == Thinking::Foreign && names.iter().any(|name| message.get(name).is_some()) {
        Some("it holds the thinking of another".to_owned())
    } else if !calls.iter().all(is_call) {
        Some(format!("a call is not one: {message}"))
    } else if has_words(&message["content"]) || !text(&message["refusal"]).is_empty() {
        None
    } else {
        (calls.is_empty() || !message["content"].is_null()).then(|| format!("a message is empty: {message}"))
    }
}

fn has_words(content: &Value) -> bool {
    let is_sound = |part: &Value| part["type"] == "image_url" || !text(&part["text"]).is_empty();
    !text(content).is_empty() || (!array(content).is_empty() && array(content).iter().all(is_sound))
}
