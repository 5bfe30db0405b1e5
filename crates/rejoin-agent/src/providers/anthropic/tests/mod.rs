//! Recorded streams, read in every way they can arrive, and what the next request makes of them.

mod any_history;
mod reading;
mod sending;

use rejoin::{Json, Message};

use crate::providers::anthropic::Anthropic;
use crate::providers::replay::{NOTHING, replay, viewed};
use crate::providers::wire::Wire;
use crate::providers::{Reply, Request, ThinkingBudget};

macro_rules! stream {
    ($name:literal) => {
        (
            include_str!(concat!("../../../../tests/streams/anthropic/", $name, ".sse")),
            include_str!(concat!("../../../../tests/streams/anthropic/", $name, ".items.jsonl")),
        )
    };
}

/// Each stream, with the items that the next request must carry, to the letter.
const STREAMS: [(&str, &str); 9] = [
    stream!("plain_text"),
    stream!("thinking_tools"),
    stream!("redacted_thinking"),
    stream!("web_search"),
    stream!("refusal"),
    stream!("pause_turn"),
    stream!("max_tokens"),
    stream!("cut_input"),
    stream!("cached_usage"),
];

const ERROR_MID_STREAM: &str = include_str!("../../../../tests/streams/anthropic/error_mid_stream.sse");

fn wire() -> Anthropic {
    Anthropic { provider: "mine".to_owned(), thinking: ThinkingBudget::Usual }
}

fn read(stream: &str) -> Reply {
    replay(&wire(), [stream.as_bytes()]).0.unwrap()
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

fn body(messages: &[Message]) -> String {
    wire().post(&Request { messages: &viewed(messages, &wire()), ..NOTHING }).body
}

/// The messages of a request, without the mark for the cache.
fn sent(messages: &[Message]) -> String {
    let body = body(messages).replace(r#","cache_control":{"type":"ephemeral"}"#, "");
    let (_, messages) = body.split_once(r#""messages":"#).unwrap();
    messages.strip_suffix('}').unwrap().to_owned()
}

fn items(lines: &str) -> String {
    format!("[{}]", lines.lines().collect::<Vec<_>>().join(","))
}
