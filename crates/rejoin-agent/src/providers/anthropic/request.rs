//! The body of a request.
//!
//! Two places are marked for the provider's cache: the end of the initial context, and the end of the last
//! message of the user. What stands before a mark and has not changed since the last request costs a tenth.

use std::borrow::Cow;
use std::collections::BTreeSet;

use rejoin::view::Viewed;
use rejoin::{Fields, Json, Message, Role};
use serde::Serialize;

use crate::providers::anthropic::Anthropic;
use crate::providers::anthropic::history::{self, SpeakerTurn, is_thinking, item, string, word};
use crate::providers::wire::Wire;
use crate::providers::{Request, ThinkingBudget, ToolSpec};

/// Every model of the last years can write this much; the API wants a number,
/// and refuses one beyond the model's own.
const MAX_TOKENS: u64 = 32_000;

/// The smallest budget the API accepts.
const LEAST_BUDGET: u64 = 1024;

/// What a tool is said to do that was called and is not offered.
const NOT_OFFERED: &str = "Not available any more.";

#[derive(Serialize)]
struct AnthropicBody<'a> {
    model: &'a str,
    max_tokens: u64,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Json>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Offered<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Json>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Fields>,
    messages: Vec<SpeakerTurn>,
}

#[derive(Serialize)]
struct Offered<'a> {
    name: Cow<'a, str>,
    description: &'a str,
    input_schema: Cow<'a, Json>,
}

/// The JSON text of a request.
pub(super) fn body(wire: &Anthropic, request: &Request<'_>) -> String {
    let mut system = system(request.system, request.messages);
    if let Some(last) = system.last_mut() {
        mark(last);
    }
    let mut messages = history::turns(request.messages, &wire.recipient());
    let last_heard = messages.iter_mut().rev().find(|turn| turn.role == Role::User);
    if let Some(last) = last_heard.and_then(|turn| turn.content.last_mut()) {
        mark(last);
    }
    let budget = if is_thought_missing(&messages) { ThinkingBudget::Usual } else { wire.thinking };
    let (thinking, max_tokens) = thinking(budget, request.max_tokens.unwrap_or(MAX_TOKENS));
    let (tools, tool_choice) = tools(request.tools, &messages);
    let (model, stream) = (request.model, true);
    let body = AnthropicBody { model, max_tokens, stream, thinking, tools, tool_choice, system, messages };
    serde_json::to_string(&body).expect("a request is plain data")
}

/// True when results go back to a reply that did not think, such as one of another provider. With a budget,
/// the API wants the thinking that led to the calls.
fn is_thought_missing(turns: &[SpeakerTurn]) -> bool {
    let is_result = |item: &Fields| word(item, "type").is_some_and(|kind| kind == "tool_result");
    let [.., reply, heard] = turns else { return false };
    heard.role == Role::User
        && heard.content.iter().any(is_result)
        && !reply.content.first().is_some_and(is_thinking)
}

/// The tools that are offered. When there are none, those that were called before are named, because the API
/// refuses a history with calls otherwise, and it is said that none may be called.
fn tools<'a>(specs: &'a [ToolSpec], turns: &[SpeakerTurn]) -> (Vec<Offered<'a>>, Option<Json>) {
    if !specs.is_empty() {
        return (specs.iter().map(offered).collect(), None);
    }
    let calls = turns.iter().flat_map(|turn| &turn.content);
    let calls = calls.filter(|item| word(item, "type").is_some_and(|kind| kind == "tool_use"));
    let names: BTreeSet<String> = calls.filter_map(|item| word(item, "name")).collect();
    if names.is_empty() {
        return (Vec::new(), None);
    }
    let schema = Json::parse(r#"{"type":"object"}"#).expect("the text is a JSON object");
    let named = names.into_iter().map(|name| Offered {
        name: Cow::Owned(name),
        description: NOT_OFFERED,
        input_schema: Cow::Owned(schema.clone()),
    });
    let none = Json::parse(r#"{"type":"none"}"#).expect("the text is a JSON object");
    (named.collect(), Some(none))
}

/// What is asked about thinking, and the limit of tokens with room for it.
fn thinking(budget: ThinkingBudget, max_tokens: u64) -> (Option<Json>, u64) {
    let json = |text: String| Json::parse(text).expect("the text is a JSON object");
    match budget {
        ThinkingBudget::Usual => (None, max_tokens),
        ThinkingBudget::Free => {
            (Some(json(r#"{"type":"adaptive","display":"summarized"}"#.to_owned())), max_tokens)
        }
        ThinkingBudget::Tokens(tokens) => {
            let tokens = tokens.max(LEAST_BUDGET);
            let asked = json(format!(r#"{{"type":"enabled","budget_tokens":{tokens}}}"#));
            let room = if max_tokens > tokens { max_tokens } else { tokens.saturating_add(max_tokens) };
            (Some(asked), room)
        }
    }
}

/// The initial context, and what the system said later.
fn system(initial: &str, messages: &[Viewed<'_>]) -> Vec<Fields> {
    let messages = messages.iter().map(|viewed| viewed.message.as_ref());
    let later = messages.filter(|message: &&Message| message.role == Role::System).map(Message::text);
    std::iter::once(initial.to_owned())
        .chain(later)
        .filter(|text| !text.trim().is_empty())
        .map(|text| item("text", [("text", string(&text))]))
        .collect()
}

fn offered(tool: &ToolSpec) -> Offered<'_> {
    Offered {
        name: Cow::Borrowed(&tool.name),
        description: &tool.description,
        input_schema: Cow::Borrowed(&tool.input_schema),
    }
}

fn mark(item: &mut Fields) {
    item.set("cache_control", Json::parse(r#"{"type":"ephemeral"}"#).expect("the text is a JSON object"));
}
