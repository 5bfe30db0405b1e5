//! Writes a request of the Chat Completions language.
//!
//! Templates of open models want user and assistant in turn and the system first, so messages of one role
//! that follow each other are sent as one.

use rejoin::{Block, Fields, Json, Message, Role, ToolCall};
use serde::Serialize;

use crate::providers::chat::calls::CALL;
use crate::providers::chat::stream::is_refusal;
use crate::providers::chat::{Chat, LimitField, ParallelCalls, thoughts};
use crate::providers::openai::{self, string};
use crate::providers::wire::Wire;
use crate::providers::{Request, ToolSpec};

/// What separates texts that are sent as one.
const BETWEEN: &str = "\n\n";

#[derive(Serialize)]
struct ChatBody<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ChatTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
    /// Last, so that the next request repeats this one to its end.
    messages: Vec<Sent>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct ChatTool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Json,
}

/// A message as it is sent.
#[derive(Serialize)]
#[serde(untagged)]
enum Sent {
    System { role: &'static str, content: String },
    User { role: &'static str, content: Vec<ChatContent> },
    UserText { role: &'static str, content: String },
    Assistant(Fields),
    Tool { role: &'static str, tool_call_id: String, content: String },
}

#[derive(Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ChatContent {
    Text { text: String },
    ImageUrl { image_url: ImageAddress },
}

#[derive(Clone, Serialize)]
struct ImageAddress {
    url: String,
}

pub(super) fn body(language: &Chat, request: &Request<'_>) -> String {
    let (limit, parallel) = (language.quirks.limit, language.quirks.parallel);
    let has_tools = !request.tools.is_empty();
    let body = ChatBody {
        model: request.model,
        messages: messages(language, request),
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        tools: request.tools.iter().map(tool).collect(),
        parallel_tool_calls: (has_tools && parallel == ParallelCalls::Asked).then_some(true),
        max_tokens: request.max_tokens.filter(|_| limit == LimitField::MaxTokens),
        max_completion_tokens: request.max_tokens.filter(|_| limit == LimitField::MaxCompletionTokens),
        reasoning_effort: language.effort.as_deref(),
    };
    serde_json::to_string(&body).expect("a request is plain data")
}

fn tool(spec: &ToolSpec) -> ChatTool<'_> {
    let function =
        Function { name: &spec.name, description: &spec.description, parameters: &spec.input_schema };
    ChatTool { r#type: "function", function }
}

fn messages(language: &Chat, request: &Request<'_>) -> Vec<Sent> {
    let recipient = language.recipient();
    let mut system = request.system.to_owned();
    let mut sent: Vec<Sent> = Vec::new();
    for message in request.messages.iter().map(|viewed| viewed.message.as_ref()) {
        match message.role {
            Role::System if sent.is_empty() => {
                message.blocks.iter().filter_map(text).for_each(|text| append(&mut system, text));
            }
            Role::System | Role::User => heard(&mut sent, message),
            Role::Assistant if recipient.is_own(message) => said(&mut sent, message, ReplyOrigin::Own),
            Role::Assistant => said(&mut sent, message, ReplyOrigin::Foreign),
            Role::Tool => sent.extend(message.blocks.iter().filter_map(answer)),
        }
    }
    if !system.is_empty() {
        sent.insert(0, Sent::System { role: "system", content: system });
    }
    sent.into_iter().map(plainest).collect()
}

/// Where a reply comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReplyOrigin {
    /// From the provider that is asked: what it sent is sent back.
    Own,
    /// From another: text and calls are sent.
    Foreign,
}

fn text(block: &Block) -> Option<&str> {
    match block {
        Block::Text(text) if !text.text.is_empty() => Some(&text.text),
        _ => None,
    }
}

fn answer(block: &Block) -> Option<Sent> {
    let Block::ToolResult(result) = block else { return None };
    let tool_call_id = result.call_id.clone();
    Some(Sent::Tool { role: "tool", tool_call_id, content: openai::answer(result) })
}

fn heard(sent: &mut Vec<Sent>, message: &Message) {
    let more = message.blocks.iter().filter_map(|block| match block {
        Block::Media(media) => {
            Some(ChatContent::ImageUrl { image_url: ImageAddress { url: openai::address(media) } })
        }
        block => text(block).map(|text| ChatContent::Text { text: text.to_owned() }),
    });
    let more: Vec<ChatContent> = more.collect();
    if let Some(Sent::User { content, .. }) = sent.last_mut() {
        content.extend(more);
    } else if !more.is_empty() {
        sent.push(Sent::User { role: "user", content: more });
    }
}

/// Text alone is sent as a string, which every server reads.
fn plainest(message: Sent) -> Sent {
    let Sent::User { role, content } = message else { return message };
    let texts: Option<Vec<&str>> = content
        .iter()
        .map(|part| match part {
            ChatContent::Text { text } => Some(text.as_str()),
            ChatContent::ImageUrl { .. } => None,
        })
        .collect();
    match texts {
        Some(texts) => Sent::UserText { role, content: texts.join(BETWEEN) },
        None => Sent::User { role, content },
    }
}

fn said(sent: &mut Vec<Sent>, message: &Message, origin: ReplyOrigin) {
    let calls = message.blocks.iter().filter_map(|block| match block {
        Block::ToolCall(asked) => Some(call(asked, origin)),
        _ => None,
    });
    let calls: Vec<Fields> = calls.collect();
    let mut fields = Fields::new();
    fields.set("role", string(Role::Assistant.as_str()));
    let (content, refusal) = words(message, origin);
    if content.is_none() && refusal.is_none() && calls.is_empty() {
        return;
    }
    fields.set("content", content.as_deref().map_or_else(Json::default, string));
    if let Some(refusal) = &refusal {
        fields.set("refusal", string(refusal));
    }
    if origin == ReplyOrigin::Own {
        thoughts::write_back(message.blocks.iter(), &mut fields);
    }
    if !calls.is_empty() {
        fields.set("tool_calls", Json::of(&calls).expect("fields are JSON"));
    }
    match sent.last_mut() {
        Some(Sent::Assistant(last)) => join(last, &fields),
        _ => sent.push(Sent::Assistant(fields)),
    }
}

/// What a message says, and what it says in declining. The pieces of an own message belong to one text.
fn words(message: &Message, origin: ReplyOrigin) -> (Option<String>, Option<String>) {
    let joined = |blocks: Vec<&Block>| {
        let texts: Vec<&str> = blocks.into_iter().filter_map(text).collect();
        let between = if origin == ReplyOrigin::Own { "" } else { BETWEEN };
        (!texts.is_empty()).then(|| texts.join(between))
    };
    let (refusals, contents): (Vec<&Block>, Vec<&Block>) =
        message.blocks.iter().partition(|block| origin == ReplyOrigin::Own && is_refusal(block));
    (joined(contents), joined(refusals))
}

fn call(call: &ToolCall, origin: ReplyOrigin) -> Fields {
    let rest = call.extra.field(CALL).filter(|_| origin == ReplyOrigin::Own);
    let rest: Fields = rest.and_then(|rest| rest.to().ok()).unwrap_or_default();
    let mut function: Fields = rest.field("function").and_then(|rest| rest.to().ok()).unwrap_or_default();
    function.set("name", string(&call.name));
    function.set("arguments", string(&openai::arguments(call)));
    let mut fields = Fields::new();
    fields.set("id", string(&call.id));
    fields.set("type", string("function"));
    for (name, value) in rest.iter() {
        fields.set(name, value.clone());
    }
    fields.set("function", Json::of(&function).expect("fields are JSON"));
    fields
}

/// Adds a message of the assistant to the one before it.
fn join(last: &mut Fields, next: &Fields) {
    for (name, value) in next.iter().filter(|(name, value)| *name != "role" && value.as_str() != "null") {
        let before = last.field(name);
        let texts = (before.and_then(|text| text.to::<String>().ok()), value.to::<String>().ok());
        let lists = (before.and_then(|list| list.to::<Vec<Json>>().ok()), value.to::<Vec<Json>>().ok());
        let joined = match (texts, lists) {
            ((Some(mut text), Some(more)), _) => {
                append(&mut text, &more);
                string(&text)
            }
            (_, (Some(list), Some(more))) => Json::of(&[list, more].concat()).expect("values are JSON"),
            _ => value.clone(),
        };
        last.set(name, joined);
    }
}

fn append(text: &mut String, more: &str) {
    if !text.is_empty() {
        text.push_str(BETWEEN);
    }
    text.push_str(more);
}
