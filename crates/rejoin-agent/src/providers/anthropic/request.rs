//! The body of a request.
//!
//! Two places are marked for the provider's cache: the end of the initial context, and the end of the last message of
//! the user. What stands before a mark and has not changed since the last request costs a tenth.

use rejoin::view::Viewed;
use rejoin::{Fields, Json, Message, Role};
use serde::Serialize;

use crate::providers::anthropic::Anthropic;
use crate::providers::anthropic::history::{self, Turn, item, string};
use crate::providers::wire::Wire;
use crate::providers::{Request, ThinkingBudget, ToolSpec};

/// Every model of the last years can write this much; the API wants a number, and refuses one beyond the model's own.
const MAX_TOKENS: u64 = 32_000;

/// The smallest budget the API accepts.
const LEAST_BUDGET: u64 = 1024;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u64,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Json>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Offered<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Fields>,
    messages: Vec<Turn>,
}

#[derive(Serialize)]
struct Offered<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Json,
}

/// The JSON text of a request.
pub(super) fn body(wire: &Anthropic, request: &Request<'_>) -> String {
    let (thinking, max_tokens) = thinking(wire.thinking, request.max_tokens.unwrap_or(MAX_TOKENS));
    let mut system = system(request.system, request.messages);
    if let Some(last) = system.last_mut() {
        mark(last);
    }
    let mut messages = history::turns(request.messages, &wire.recipient());
    let last_heard = messages.iter_mut().rev().find(|turn| turn.role == Role::User);
    if let Some(last) = last_heard.and_then(|turn| turn.content.last_mut()) {
        mark(last);
    }
    let tools = request.tools.iter().map(offered).collect();
    let body = Body { model: request.model, max_tokens, stream: true, thinking, tools, system, messages };
    serde_json::to_string(&body).expect("a request is plain data")
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
    Offered { name: &tool.name, description: &tool.description, input_schema: &tool.input_schema }
}

fn mark(item: &mut Fields) {
    item.set("cache_control", Json::parse(r#"{"type":"ephemeral"}"#).expect("the text is a JSON object"));
}
