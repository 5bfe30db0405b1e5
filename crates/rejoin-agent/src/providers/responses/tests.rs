//! Recorded streams of the Responses language: whole, cut, broken off, with strange events, and sent back.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use rejoin::view::Viewed;
use rejoin::{Block, Fields, Json, Media, MediaKind, Message, Role, ToolResult};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::*;
use crate::error::ErrorKind;
use crate::providers::replay::{
    check_every_break, check_every_cut, check_strange_events, replay, shown, stored, viewed,
};
use crate::providers::written::check_written;
use crate::providers::{Reply, Stop, ToolSpec};

/// Streams that end in a reply.
const REPLIES: [&str; 7] =
    ["text", "turn", "after_tools", "refusal", "length", "content_filter", "web_search"];

/// Streams that end in an error.
const ERRORS: [&str; 2] = ["failed", "error"];

/// What no version of the language has had so far.
const STRANGE: [&str; 5] = [
    ": a comment\n\n",
    "event: response.sang\ndata: {\"type\":\"response.sang\",\"output_index\":\"high\",\"item\":7}\n\n",
    "data: {\"sequence_number\":1}\n\n",
    "event: ping\ndata: {}\n\n",
    "id: 7\nretry: 10\ndata:\n\n",
];

type Raw = BTreeMap<String, Box<RawValue>>;

fn wire() -> Responses {
    Responses { provider: "mine".to_owned(), ..Responses::default() }
}

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/streams/responses")
}

fn stream(name: &str) -> String {
    fs::read_to_string(directory().join(format!("{name}.sse"))).unwrap()
}

fn reply(name: &str) -> Reply {
    replay(&wire(), [stream(name).as_bytes()]).0.unwrap()
}

fn request<'a>(messages: &'a [Viewed<'a>]) -> Request<'a> {
    Request { model: "gpt-5.3-codex", system: "Be brief.", messages, tools: &[], max_tokens: None }
}

fn input(messages: &[Message]) -> Vec<Value> {
    let body: Value = serde_json::from_str(&wire().post(&request(&viewed(messages, &wire()))).body).unwrap();
    serde_json::from_value(body["input"].clone()).unwrap()
}

/// The items of a request, each value to the letter.
fn raw_input(messages: &[Message]) -> Vec<BTreeMap<String, String>> {
    #[derive(serde::Deserialize)]
    struct Body {
        input: Vec<Raw>,
    }
    let body: Body = serde_json::from_str(&wire().post(&request(&viewed(messages, &wire()))).body).unwrap();
    body.input.into_iter().map(letters).collect()
}

/// The finished items of a stream, each value to the letter.
fn raw_items(name: &str) -> Vec<BTreeMap<String, String>> {
    #[derive(serde::Deserialize)]
    struct Done {
        item: Raw,
    }
    let stream = stream(name);
    let done =
        stream.lines().filter_map(|line| line.strip_prefix("data: {\"type\":\"response.output_item.done\""));
    done.map(|rest| letters(serde_json::from_str::<Done>(&format!("{{\"x\":0{rest}")).unwrap().item))
        .collect()
}

fn letters(raw: Raw) -> BTreeMap<String, String> {
    raw.into_iter().map(|(name, value)| (name, value.get().to_owned())).collect()
}

#[test]
fn every_stream_becomes_the_reply_written_beside_it() {
    for name in REPLIES {
        check_written(&directory(), name, &reply(name));
    }
}

#[test]
fn a_failed_reply_is_an_error_of_its_kind() {
    let errors = ERRORS.map(|name| {
        let error = replay(&wire(), [stream(name).as_bytes()]).0.unwrap_err();
        (error.kind(), error.wait().map(|wait| wait.as_millis()))
    });

    assert_eq!(errors, [(ErrorKind::Limited, Some(1500)), (ErrorKind::Overloaded, None)]);
}

#[test]
fn a_stream_reads_the_same_wherever_it_is_cut() {
    for name in ["text", "refusal", "failed", "error"] {
        check_every_cut(&wire(), stream(name).as_bytes());
    }
}

#[test]
fn a_stream_reads_the_same_byte_by_byte() {
    for name in REPLIES.into_iter().chain(ERRORS) {
        let stream = stream(name);
        let whole = replay(&wire(), [stream.as_bytes()]);
        assert_eq!(shown(&replay(&wire(), stream.as_bytes().chunks(1))), shown(&whole));
    }
}

#[test]
fn a_stream_that_breaks_off_is_never_a_reply() {
    for name in REPLIES.into_iter().chain(ERRORS) {
        check_every_break(&wire(), stream(name).as_bytes());
    }
}

#[test]
fn strange_events_and_fields_change_nothing() {
    for name in REPLIES.into_iter().chain(ERRORS) {
        check_strange_events(&wire(), &stream(name), &STRANGE);
        let strange = stream(name).replace("data: {\"type\"", "data: {\"mood\":{\"type\":\"calm\"},\"type\"");
        let whole = replay(&wire(), [stream(name).as_bytes()]);
        assert_eq!(shown(&replay(&wire(), [strange.as_bytes()])), shown(&whole));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn chunks_of_any_size_read_the_same(sizes in prop::collection::vec(1_usize..200, 1..400)) {
        let stream = stream("turn");
        let mut rest = stream.as_bytes();
        let mut chunks = Vec::new();
        for size in sizes {
            let (first, after) = rest.split_at(size.min(rest.len()));
            chunks.push(first);
            rest = after;
        }
        chunks.push(rest);

        prop_assert_eq!(shown(&replay(&wire(), chunks)), shown(&replay(&wire(), [stream.as_bytes()])));
    }

    #[test]
    fn data_of_any_kind_never_panics(data in ".{0,200}", kind in "(error|response\\.(completed|incomplete|failed|output_item\\.(added|done)|output_text\\.delta))") {
        let wire = wire();
        let events = format!("event: {kind}\ndata: {data}\n\ndata: {{\"type\":\"{kind}\",\"item\":{{\"type\":\"message\",\"content\":[1]}},\"response\":{{}}}}\n\n");

        let _ = replay(&wire, [events.as_bytes()]);
    }
}

#[test]
fn every_item_is_sent_back_as_it_came() {
    let messages = ["text", "refusal", "web_search", "after_tools"].map(|name| stored(&reply(name).message));
    let expected: Vec<_> =
        ["text", "refusal", "web_search", "after_tools"].into_iter().flat_map(raw_items).collect();

    assert_eq!(raw_input(&messages), expected);
}

#[test]
fn a_turn_with_calls_is_sent_back_with_both_results() {
    let result = |id: &str, text: &str, is_error| {
        let output = Json::of(&text).unwrap();
        let result = ToolResult { call_id: id.to_owned(), output, is_error, extra: Fields::new() };
        Message::new(Role::Tool, vec![Block::ToolResult(result)])
    };
    let messages = [
        Message::user("Compare the files."),
        stored(&reply("turn").message),
        result("call_turn_01", "first", false),
        result("call_turn_02", "no such file", true),
    ];

    let mut expected = vec![BTreeMap::from(
        [
            ("type", "\"message\""),
            ("role", "\"user\""),
            ("content", "[{\"type\":\"input_text\",\"text\":\"Compare the files.\"}]"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned())),
    )];
    expected.extend(raw_items("turn"));
    let output = |id: &str, text: &str| {
        [("type", "function_call_output"), ("call_id", id), ("output", text)]
            .map(|(name, value)| (name.to_owned(), format!("\"{value}\"")))
    };
    expected.push(BTreeMap::from(output("call_turn_01", "first")));
    expected.push(BTreeMap::from(output("call_turn_02", "Error: no such file")));
    assert_eq!(raw_input(&messages), expected);
}

#[test]
fn reasoning_that_nothing_follows_is_not_sent() {
    let mut message = reply("length").message;
    message.blocks.truncate(1);

    assert_eq!(input(&[message]), Vec::<Value>::new());
}

#[test]
fn what_another_provider_said_is_sent_plain() {
    let mut message = reply("turn").message;
    message.extra.set("provider", Json::of(&"another").unwrap());

    let said = "I will read both files.\n\nThen I compare them.\n\nReading now.";
    let call = |id: &str, arguments: &str| json!({"type": "function_call", "call_id": id, "name": "read", "arguments": arguments});
    let output = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "Error: no result of this call was recorded"});
    let expected = [
        json!({"type": "message", "role": "assistant", "content": said}),
        call("call_turn_01", "{\"path\":\"notes/a.txt\"}"),
        call("call_turn_02", "{ \"path\" : \"notes/\\u00fc.txt\",\n  \"lines\": 1.50 } "),
        output("call_turn_01"),
        output("call_turn_02"),
    ];
    assert_eq!(input(&[message]), expected);
}

#[test]
fn a_request_says_everything_that_is_asked() {
    let wire = Responses { effort: Some("high".to_owned()), summary: Some("auto".to_owned()), ..wire() };
    let image = Block::Media(Media {
        kind: MediaKind::Image,
        mime_type: "image/png".to_owned(),
        data: Some("AAAA".to_owned()),
        uri: None,
        extra: Fields::new(),
    });
    let messages = [
        Message::new(Role::System, vec![Block::text("Speak French.")]),
        Message::new(Role::User, vec![Block::text("What is this?"), image]),
    ];
    let tools = [ToolSpec {
        name: "read".to_owned(),
        description: "Reads a file.".to_owned(),
        input_schema: Json::parse(r#"{"type":"object"}"#).unwrap(),
    }];
    let messages = viewed(&messages, &wire);
    let request = Request { max_tokens: Some(100), tools: &tools, ..request(&messages) };

    let post = wire.post(&request);

    let expected = json!({
        "model": "gpt-5.3-codex",
        "stream": true,
        "store": false,
        "instructions": "Be brief.",
        "input": [
            {"type": "message", "role": "system", "content": [{"type": "input_text", "text": "Speak French."}]},
            {"type": "message", "role": "user", "content": [
                {"type": "input_text", "text": "What is this?"},
                {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"},
            ]},
        ],
        "include": ["reasoning.encrypted_content"],
        "tools": [{
            "type": "function",
            "name": "read",
            "description": "Reads a file.",
            "parameters": {"type": "object"},
            "strict": false,
        }],
        "parallel_tool_calls": true,
        "reasoning": {"effort": "high", "summary": "auto"},
        "max_output_tokens": 100,
    });
    assert_eq!((post.path, serde_json::from_str::<Value>(&post.body).unwrap()), ("responses", expected));
}

#[test]
fn a_model_that_cannot_reason_is_not_asked_for_its_reasoning() {
    let asked = ["gpt-4.1", "chatgpt-4o-latest", "gpt-5", "o3", "served-model"].map(|model| {
        let body = wire().post(&Request { model, ..request(&[]) }).body;
        body.contains("reasoning.encrypted_content")
    });

    assert_eq!(asked, [false, false, true, true, true]);
}

fn events(events: &[&str]) -> Reply {
    let stream: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    replay(&wire(), [stream.as_bytes()]).0.unwrap()
}

#[test]
fn items_of_any_shape_are_sent_back_as_they_came() {
    let items = [
        r#"{"type":"custom_tool_call","id":"ctc_1","call_id":"c1","name":"sh","input":"ls"}"#,
        r#"{"type":"image_generation_call","id":"ig_1","status":"completed","result":"AAAA"}"#,
        r#"{"type":"mcp_call","id":"mcp_1","name":"f","arguments":"{}","output":null,"n":1.50}"#,
        r#"{"type":"text","text":7,"id":"odd_1"}"#,
        r#"{"type":"image","id":"odd_2"}"#,
        r#"{"type":"output_item","item":{"id":"odd_3"}}"#,
        r#"{"type":"message","id":"msg_1","role":"assistant","content":[]}"#,
        r#"{"type":"message","id":"msg_2","role":"assistant","content":[{"type":"output_text","text":"a"},{"type":"hologram","data":[1.50]},{"type":"output_text","text":""}]}"#,
        r#"{"type":"function_call","id":"fc_1","name":"f"}"#,
        r#"{"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"hm"}],"signature":"s","text":"t"}"#,
        r#"{"type":"compaction","id":"cmp_1","encrypted_content":"x"}"#,
    ];
    let mut stream: Vec<String> =
        items.iter().map(|item| format!(r#"{{"type":"response.output_item.done","item":{item}}}"#)).collect();
    stream.push(r#"{"type":"response.completed","response":{"id":"r"}}"#.to_owned());
    let reply = events(&stream.iter().map(String::as_str).collect::<Vec<_>>());

    let mut expected: Vec<_> =
        items.iter().map(|item| letters(serde_json::from_str::<Raw>(item).unwrap())).collect();
    let answer = [
        ("type", "\"custom_tool_call_output\""),
        ("call_id", "\"c1\""),
        ("output", "\"Error: there is no such tool\""),
    ];
    expected.push(answer.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    assert_eq!(raw_input(&[stored(&reply.message)]), expected);
}

#[test]
fn what_came_on_several_lines_is_stored_on_one() {
    let stream = "data: {\"type\":\"response.completed\",\ndata: \"response\":{\"output\":[{\"type\":\"odd\",\ndata: \"list\":[1,\ndata: 2]}]}}\n\n";

    let reply = replay(&wire(), [stream.as_bytes()]).0.unwrap();

    let body = stored(&reply.message).to_body();
    assert!(body.contains(r#"{"type":"odd","list":[1, 2]}"#) && !body.contains('\n'), "{body}");
}

#[test]
fn items_that_come_only_with_the_end_are_read() {
    let whole = events(&[
        r#"{"type":"response.completed","response":{"id":"r","model":"m","output":[{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"hi"}]}]}}"#,
    ]);

    assert_eq!(whole.message.text(), "hi");
}

#[test]
fn words_of_an_item_that_the_limit_cut_off_are_kept() {
    let cut = events(&[
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","content":[]}}"#,
        r#"{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"half a"}"#,
        r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":""}}"#,
        r#"{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}"#,
    ]);

    assert_eq!(
        (cut.message.text(), cut.message.blocks.len(), cut.stop),
        ("half a".to_owned(), 1, Stop::Length)
    );
}

#[test]
fn a_complete_reply_with_an_open_item_is_malformed() {
    let stream = "data: {\"type\":\"response.output_item.added\",\"item\":{\"type\":\"message\"}}\n\n\
                  data: {\"type\":\"response.completed\",\"response\":{}}\n\n";

    assert_eq!(replay(&wire(), [stream.as_bytes()]).0.unwrap_err().kind(), ErrorKind::Malformed);
}
