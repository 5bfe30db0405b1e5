//! OpenAI Responses: every call has one output after it, reasoning is followed by what it led to.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::valid::{Thinking, array, is_name, text};

pub(crate) fn faults_of_responses(body: &Value, thinking: Thinking) -> Vec<String> {
    let mut faults = Vec::new();
    let (mut open, mut seen, mut ids) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let items = array(&body["input"]);
    for (place, item) in items.iter().enumerate() {
        let next = items.get(place + 1).map(|next| text(&next["type"])).unwrap_or_default();
        let call_id = text(&item["call_id"]);
        let fault = match text(&item["type"]) {
            "message" => message_fault(item),
            "reasoning" if thinking == Thinking::Foreign => Some("the reasoning of another".to_owned()),
            "reasoning" if matches!(next, "" | "function_call_output") => {
                Some("reasoning that leads nowhere".to_owned())
            }
            "reasoning" => None,
            "function_call" => {
                let is_new = seen.insert(call_id) && open.insert(call_id);
                let is_sound = is_new && (1..=64).contains(&call_id.len()) && item["arguments"].is_string();
                (!is_sound || !is_name(text(&item["name"]))).then(|| format!("a call is not one: {item}"))
            }
            "function_call_output" => {
                let is_sound = open.remove(call_id) && item["output"].is_string();
                (!is_sound).then(|| format!("an output answers nothing: {item}"))
            }
            "web_search_call" if thinking == Thinking::Allowed => None,
            other => Some(format!("an item is of the kind `{other}`")),
        };
        let is_twice = item.get("id").is_some_and(|id| !ids.insert(text(id)));
        let fault = fault.or_else(|| is_twice.then(|| "an item comes twice".to_owned()));
        let is_foreign = thinking == Thinking::Foreign && item.get("id").is_some();
        let fault = fault.or_else(|| is_foreign.then(|| "the id of another".to_owned()));
        faults.extend(fault.map(|fault| format!("item {place}: {fault}")));
    }
    faults.extend(open.iter().map(|call| format!("the call `{call}` is not answered")));
    faults
}

fn message_fault(item: &Value) -> Option<String> {
    let parts = array(&item["content"]);
    let role = text(&item["role"]);
    let kind = if role == "assistant" { "output_text" } else { "input_text" };
    let is_sound = |part: &Value| match text(&part["type"]) {
        "input_image" => role == "user" && !text(&part["image_url"]).is_empty(),
        "refusal" => role == "assistant" && !text(&part["refusal"]).is_empty(),
        own => own == kind && !text(&part["text"]).is_empty(),
    };
    let is_known = matches!(role, "user" | "assistant" | "system" | "developer");
    (parts.is_empty() || !is_known || !parts.iter().all(is_sound))
        .then(|| format!("a message is not one: {item}"))
}
