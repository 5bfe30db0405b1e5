//! Writes a request of the Responses language.

use rejoin::{Fields, Role};
use serde::Serialize;

use crate::providers::responses::{Responses, items};
use crate::providers::sendable::{self, Origin, Part, Step, steps};
use crate::providers::{Api, Request, ToolSpec};

/// The body of a request. Nothing is kept at the provider: what it needs again comes back from history.
#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    input: Vec<Item>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'static [&'static str],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Item {
    Message { r#type: &'static str, role: &'static str, content: Vec<Content> },
    Output { r#type: &'static str, call_id: String, output: String },
    Exact(Fields),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Content {
    InputText { text: String },
    InputImage { image_url: String, detail: &'static str },
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a rejoin::Json,
    /// Said, because the API takes silence for yes and then changes the schema.
    strict: bool,
}

#[derive(Serialize)]
struct Reasoning<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
}

pub(super) fn body(language: &Responses, request: &Request<'_>) -> String {
    let (effort, summary) = (language.effort.as_deref(), language.summary.as_deref());
    let include: &[&str] = if thinks(request.model) { &["reasoning.encrypted_content"] } else { &[] };
    let body = Body {
        model: request.model,
        stream: true,
        store: false,
        instructions: request.system,
        input: steps(request.messages, Api::Responses, &language.provider).iter().flat_map(input).collect(),
        include,
        tools: request.tools.iter().map(tool).collect(),
        parallel_tool_calls: (!request.tools.is_empty()).then_some(true),
        reasoning: (effort.is_some() || summary.is_some()).then_some(Reasoning { effort, summary }),
        max_output_tokens: request.max_tokens,
    };
    serde_json::to_string(&body).expect("a request is plain data")
}

/// False for the models of OpenAI that cannot reason: they refuse a request that asks for their reasoning.
fn thinks(model: &str) -> bool {
    !["gpt-3", "gpt-4", "chatgpt-4"].iter().any(|family| model.starts_with(family))
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    Tool {
        r#type: "function",
        name: &spec.name,
        description: &spec.description,
        parameters: &spec.input_schema,
        strict: false,
    }
}

fn input(step: &Step<'_>) -> Vec<Item> {
    match step {
        Step::Heard { role, parts } => vec![heard(*role, parts)],
        Step::Said { message, origin, calls } => {
            let items = match origin {
                Origin::Own => items::from_blocks(&message.blocks, calls),
                Origin::Foreign => {
                    let parts: Vec<Fields> =
                        message.blocks.iter().filter_map(sendable::said).map(items::plain_part).collect();
                    let words = (!parts.is_empty()).then(|| items::plain_message(parts));
                    words.into_iter().chain(calls.iter().map(|call| items::call_item(None, call))).collect()
                }
            };
            let custom = items.iter().filter_map(custom_output).collect::<Vec<_>>();
            let outputs = calls.iter().map(|call| Item::Output {
                r#type: "function_call_output",
                call_id: call.id.to_string(),
                output: call.answer(),
            });
            let outputs = outputs.collect::<Vec<_>>();
            items.into_iter().map(Item::Exact).chain(outputs).chain(custom).collect()
        }
    }
}

/// The answer to a call of a tool that takes text. No such tool is offered, but every call must have an answer.
fn custom_output(item: &Fields) -> Option<Item> {
    let is_custom = items::text_of(item, "type").as_deref() == Some("custom_tool_call");
    let call_id = items::text_of(item, "call_id").filter(|_| is_custom)?;
    let output = "Error: there is no such tool".to_owned();
    Some(Item::Output { r#type: "custom_tool_call_output", call_id, output })
}

fn heard(role: Role, parts: &[Part<'_>]) -> Item {
    let content = parts.iter().map(|part| match part {
        Part::Text(text) => Content::InputText { text: text.to_string() },
        Part::Image(address) => Content::InputImage { image_url: address.clone(), detail: "auto" },
    });
    Item::Message { r#type: "message", role: role.as_str(), content: content.collect() }
}
