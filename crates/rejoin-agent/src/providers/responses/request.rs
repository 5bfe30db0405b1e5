//! Writes a request of the Responses language.

use rejoin::view::Recipient;
use rejoin::{Block, Fields, Message, Role};
use serde::Serialize;

use crate::providers::responses::{Responses, items};
use crate::providers::wire::Wire;
use crate::providers::{Request, ToolSpec, openai};

/// The body of a request. Nothing is kept at the provider: what it needs again comes back from history.
#[derive(Serialize)]
struct ResponsesBody<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'static [&'static str],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ResponsesTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    /// Last, so that the next request repeats this one to its end.
    input: Vec<InputItem>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum InputItem {
    Message { r#type: &'static str, role: &'static str, content: Vec<InputContent> },
    Output { r#type: &'static str, call_id: String, output: String },
    Exact(Fields),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum InputContent {
    InputText { text: String },
    InputImage { image_url: String, detail: &'static str },
}

#[derive(Serialize)]
struct ResponsesTool<'a> {
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
    let body = ResponsesBody {
        model: request.model,
        stream: true,
        store: false,
        instructions: request.system,
        input: input(language, request),
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

fn tool(spec: &ToolSpec) -> ResponsesTool<'_> {
    ResponsesTool {
        r#type: "function",
        name: &spec.name,
        description: &spec.description,
        parameters: &spec.input_schema,
        strict: false,
    }
}

fn input(language: &Responses, request: &Request<'_>) -> Vec<InputItem> {
    let recipient = language.recipient();
    let messages = request.messages.iter().map(|viewed| viewed.message.as_ref());
    messages.flat_map(|message| items_of(message, &recipient)).collect()
}

fn items_of(message: &Message, recipient: &Recipient) -> Vec<InputItem> {
    match message.role {
        Role::Assistant if recipient.is_own(message) => exact(items::from_blocks(&message.blocks)),
        Role::Assistant => exact(items::plain(&message.blocks)),
        Role::System | Role::User => heard(message).into_iter().collect(),
        Role::Tool => message.blocks.iter().filter_map(output).collect(),
    }
}

fn exact(items: Vec<Fields>) -> Vec<InputItem> {
    items.into_iter().map(InputItem::Exact).collect()
}

fn output(block: &Block) -> Option<InputItem> {
    let Block::ToolResult(result) = block else { return None };
    let (call_id, output) = (result.call_id.clone(), openai::answer(result));
    Some(InputItem::Output { r#type: "function_call_output", call_id, output })
}

fn heard(message: &Message) -> Option<InputItem> {
    let content = message.blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(InputContent::InputText { text: text.text.clone() }),
        Block::Media(media) => {
            Some(InputContent::InputImage { image_url: openai::address(media), detail: "auto" })
        }
        _ => None,
    });
    let content: Vec<InputContent> = content.collect();
    let role = message.role.as_str();
    (!content.is_empty()).then_some(InputItem::Message { r#type: "message", role, content })
}
