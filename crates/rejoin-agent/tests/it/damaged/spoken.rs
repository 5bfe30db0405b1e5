//! Histories as they are really spoken: replies of every API as their streams
//! were recorded, with results and media.

use rejoin::{Block, Fields, Json, Media, MediaKind, Message, Role, Snapshot, ToolResult};
use rejoin_agent::{Api, Http, HttpSettings, Quirks};
use serde_json::Value;

use crate::asking::{ask, settings};
use crate::dice::Dice;
use crate::server::{Answer, Server};
use crate::stored_talk::read_spec;

pub(crate) const APIS: [Api; 3] = [Api::Anthropic, Api::Responses, Api::Chat];

/// Streams of replies that ended by themselves.
const ANTHROPIC: [&str; 7] = [
    include_str!("../../streams/anthropic/thinking_tools.sse"),
    include_str!("../../streams/anthropic/cut_input.sse"),
    include_str!("../../streams/anthropic/redacted_thinking.sse"),
    include_str!("../../streams/anthropic/max_tokens.sse"),
    include_str!("../../streams/anthropic/plain_text.sse"),
    include_str!("../../streams/anthropic/refusal.sse"),
    include_str!("../../streams/anthropic/web_search.sse"),
];
const RESPONSES: [&str; 7] = [
    include_str!("../../streams/responses/turn.sse"),
    include_str!("../../streams/responses/after_tools.sse"),
    include_str!("../../streams/responses/content_filter.sse"),
    include_str!("../../streams/responses/length.sse"),
    include_str!("../../streams/responses/refusal.sse"),
    include_str!("../../streams/responses/text.sse"),
    include_str!("../../streams/responses/web_search.sse"),
];
const CHAT: [&str; 11] = [
    include_str!("../../streams/chat/turn.sse"),
    include_str!("../../streams/chat/openrouter.sse"),
    include_str!("../../streams/chat/llama_cpp.sse"),
    include_str!("../../streams/chat/ollama.sse"),
    include_str!("../../streams/chat/vllm.sse"),
    include_str!("../../streams/chat/bare.sse"),
    include_str!("../../streams/chat/after_tools.sse"),
    include_str!("../../streams/chat/content_filter.sse"),
    include_str!("../../streams/chat/length.sse"),
    include_str!("../../streams/chat/refusal.sse"),
    include_str!("../../streams/chat/text.sse"),
];

/// Where a message names itself, a call or a reply: no two real replies share these.
const NAMES: [&str; 4] = ["id", "call_id", "tool_use_id", "response_id"];

/// A provider that speaks an API, named as the recorded replies name theirs.
pub(crate) fn provider(api: Api, settings: HttpSettings) -> Http {
    match api {
        Api::Anthropic => Http::anthropic(settings).unwrap(),
        Api::Responses => Http::responses(settings).unwrap(),
        _ => Http::chat(settings, Quirks::default()).unwrap(),
    }
}

/// Recorded replies of every API.
#[derive(Debug)]
pub(crate) struct Replies {
    /// By API, in the order of [`APIS`].
    finished: [Vec<Message>; 3],
    /// One that its provider paused.
    paused: Message,
}

impl Replies {
    /// Reads the streams as a talk would, from a real server.
    pub(crate) async fn read() -> Self {
        let paused = include_str!("../../streams/anthropic/pause_turn.sse");
        Self {
            finished: [
                read(Api::Anthropic, &ANTHROPIC).await,
                read(Api::Responses, &RESPONSES).await,
                read(Api::Chat, &CHAT).await,
            ],
            paused: read(Api::Anthropic, &[paused]).await.remove(0),
        }
    }

    /// Some reply of an API. `number` tells it apart from others made of the same stream.
    pub(crate) fn some(&self, api: Api, dice: &mut Dice, number: usize) -> Message {
        let place = APIS.iter().position(|other| *other == api).unwrap();
        fresh(pick(dice, &self.finished[place]), number)
    }

    /// A reply that was paused in the middle of a search.
    pub(crate) fn paused(&self, number: usize) -> Message {
        fresh(&self.paused, number)
    }
}

async fn read(api: Api, streams: &[&str]) -> Vec<Message> {
    let server = Server::start(streams.iter().copied().map(Answer::stream)).await;
    let provider = provider(api, settings(&server));
    let mut replies = Vec::new();
    for _ in streams {
        let asked = [Message::user("Go on.")];
        replies.push(ask(&provider, &asked, &[read_spec()]).await.0.unwrap().message);
    }
    replies
}

/// The reply under other ids.
fn fresh(reply: &Message, number: usize) -> Message {
    let mut body: Value = serde_json::from_str(&reply.to_body()).unwrap();
    rename(&mut body, number);
    Message::from_body(&body.to_string()).unwrap()
}

fn rename(value: &mut Value, number: usize) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(|value| rename(value, number)),
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if NAMES.contains(&name.as_str()) => {
                        text.push_str(&format!("n{number}"));
                    }
                    value => rename(value, number),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// One of several.
pub(crate) fn pick<'a, T>(dice: &mut Dice, all: &'a [T]) -> &'a T {
    &all[dice.below(all.len() as u64) as usize]
}

/// A history of several turns: what a talk with one API stores, and sometimes with another in between.
pub(crate) fn spoken(replies: &Replies, dice: &mut Dice) -> Vec<Message> {
    let mut messages = Vec::new();
    if dice.below(4) == 0 {
        messages.push(Message::new(Role::System, vec![Block::text("Be brief.")]));
    }
    let usual = *pick(dice, &APIS);
    for _ in 0..=dice.below(4) {
        messages.push(heard(dice, messages.len()));
        for _ in 0..3 {
            let api = if dice.below(5) == 0 { *pick(dice, &APIS) } else { usual };
            let reply = replies.some(api, dice, messages.len());
            let calls = calls(&reply);
            messages.push(reply);
            answer(&mut messages, &calls, dice);
            if calls.is_empty() {
                break;
            }
        }
    }
    messages
}

/// What a person says: words, and sometimes an image, a file or a state to carry along.
fn heard(dice: &mut Dice, number: usize) -> Message {
    let mut blocks = vec![Block::text(format!("Question {number}: where is größer.rs?"))];
    match dice.below(8) {
        0 => blocks.push(media(MediaKind::Image, "image/png", Some("iVBORw0KGgo="), None)),
        1 => blocks.insert(0, media(MediaKind::File, "application/pdf", Some("JVBERi0x"), Some("paper.pdf"))),
        2 => blocks.push(media(MediaKind::Image, "image/webp", None, Some("https://a.example/a.webp"))),
        3 => blocks.push(Block::Snapshot(Snapshot {
            data: Json::parse(r#"{"commit":"abc"}"#).unwrap(),
            extra: Fields::new(),
        })),
        _ => {}
    }
    Message::new(Role::User, blocks)
}

pub(crate) fn media(kind: MediaKind, mime_type: &str, data: Option<&str>, uri: Option<&str>) -> Block {
    Block::Media(Media {
        kind,
        mime_type: mime_type.to_owned(),
        data: data.map(str::to_owned),
        uri: uri.map(str::to_owned),
        extra: Fields::new(),
    })
}

fn calls(reply: &Message) -> Vec<String> {
    let calls = reply.blocks.iter().filter_map(|block| match block {
        Block::ToolCall(call) => Some(call.id.clone()),
        _ => None,
    });
    calls.collect()
}

/// The results of calls, in one message or in several.
fn answer(messages: &mut Vec<Message>, calls: &[String], dice: &mut Dice) {
    let blocks: Vec<Block> = calls
        .iter()
        .map(|call| {
            let output = output(dice);
            let is_error = dice.below(4) == 0;
            let result = ToolResult { call_id: call.clone(), output, is_error, ..ToolResult::default() };
            Block::ToolResult(result)
        })
        .collect();
    if dice.below(2) == 0 {
        messages.extend(blocks.into_iter().map(|block| Message::new(Role::Tool, vec![block])));
    } else if !blocks.is_empty() {
        messages.push(Message::new(Role::Tool, blocks));
    }
}

/// What a tool gives back.
fn output(dice: &mut Dice) -> Json {
    let image = || media(MediaKind::Image, "image/png", Some("iVBORw0KGgo="), None);
    match dice.below(7) {
        0 => Json::of(&"").unwrap(),
        1 => Json::of(&" \n").unwrap(),
        2 => Json::parse(r#"{"lines":[1,2.50]}"#).unwrap(),
        3 => Json::of(&[Block::text("a picture"), image()]).unwrap(),
        4 => Json::of(&[Block::text("")]).unwrap(),
        _ => Json::of(&"fn main() {}\n").unwrap(),
    }
}
