//! Recorded streams of the Chat Completions language, as several servers send it: whole, cut, broken
//! off, with strange events, and sent back.

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use rejoin::view::Viewed;
use rejoin::{Block, Fields, Json, Media, MediaKind, Message, Role, ToolResult};
use serde_json::{Value, json};

use super::*;
use crate::error::ErrorKind;
use crate::providers::replay::{check_every_cut, check_strange_events, replay, shown, stored, viewed};
use crate::providers::written::check_written;
use crate::providers::{Reply, Stop, ToolSpec};

/// Streams that end in a reply.
const REPLIES: [&str; 11] = [
    "text",
    "turn",
    "after_tools",
    "refusal",
    "length",
    "content_filter",
    "ollama",
    "llama_cpp",
    "vllm",
    "openrouter",
    "bare",
];

/// What no server has sent so far.
const STRANGE: [&str; 5] = [
    ": a comment\n\n",
    "event: song\ndata: not even JSON? {\"choices\":7}\n\n",
    "data: {\"object\":\"chat.completion.song\"}\n\n",
    "data: {\"choices\":[]}\n\n",
    "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"another choice\"},\"finish_reason\":\"stop\"}]}\n\n",
];

fn wire() -> Chat {
    Chat { provider: "mine".to_owned(), ..Chat::default() }
}

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/streams/chat")
}

fn stream(name: &str) -> String {
    fs::read_to_string(directory().join(format!("{name}.sse"))).unwrap()
}

fn reply(name: &str) -> Reply {
    replay(&wire(), [stream(name).as_bytes()]).0.unwrap()
}

fn read(chunks: &[Value]) -> Reply {
    let stream: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    replay(&wire(), [stream.as_bytes()]).0.unwrap()
}

fn delta(delta: &Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta}]})
}

fn end(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn request<'a>(messages: &'a [Viewed<'a>]) -> Request<'a> {
    Request { model: "model-1", system: "Be brief.", messages, tools: &[], max_tokens: None }
}

/// The messages of a request after the system's.
fn sent(messages: &[Message]) -> Vec<Value> {
    let body: Value = serde_json::from_str(&wire().post(&request(&viewed(messages, &wire()))).body).unwrap();
    let mut messages: Vec<Value> = serde_json::from_value(body["messages"].clone()).unwrap();
    assert_eq!(messages.remove(0), json!({"role": "system", "content": "Be brief."}));
    messages
}

fn result(id: &str, text: &str) -> Message {
    Message::new(Role::Tool, vec![Block::tool_result(id, Json::of(&text).unwrap())])
}

fn failure(id: &str, text: &str) -> Message {
    let output = Json::of(&text).unwrap();
    let result = ToolResult { call_id: id.to_owned(), output, is_error: true, extra: Fields::new() };
    Message::new(Role::Tool, vec![Block::ToolResult(result)])
}

fn answer(id: &str, text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": text})
}

fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

#[test]
fn every_stream_becomes_the_reply_written_beside_it() {
    for name in REPLIES {
        check_written(&directory(), name, &reply(name));
    }
}

#[test]
fn an_error_in_the_stream_is_an_error_of_its_kind() {
    let error = replay(&wire(), [stream("error").as_bytes()]).0.unwrap_err();

    assert_eq!((error.kind(), error.wait().map(|wait| wait.as_millis())), (ErrorKind::Limited, Some(20)));
}

#[test]
fn a_stream_reads_the_same_wherever_it_is_cut() {
    for name in REPLIES.into_iter().chain(["error"]) {
        check_every_cut(&wire(), stream(name).as_bytes());
    }
}

#[test]
fn a_stream_that_breaks_off_before_the_finish_reason_is_never_a_reply() {
    for name in REPLIES.into_iter().chain(["error"]) {
        let stream = stream(name);
        let decisive = stream.split_inclusive('\n').scan(0, |end, line| {
            *end += line.len();
            Some((*end, line))
        });
        let complete = decisive
            .into_iter()
            .find(|(_, line)| line.contains("\"finish_reason\":\"") || line.contains("\"error\""))
            .map(|(end, _)| end)
            .unwrap();
        for end in 0..=complete {
            let (broken, _) = replay(&wire(), [&stream.as_bytes()[..end]]);
            assert_eq!(broken.map_err(|error| error.kind()), Err(ErrorKind::Malformed), "`{name}` at {end}");
        }
        let whole = replay(&wire(), [stream.as_bytes()]).0.is_ok();
        for end in complete + 2..stream.len() {
            let (broken, _) = replay(&wire(), [&stream.as_bytes()[..end]]);
            assert_eq!(broken.is_ok(), whole, "`{name}` at {end}");
        }
    }
}

#[test]
fn strange_events_change_nothing() {
    for name in REPLIES.into_iter().chain(["error"]) {
        check_strange_events(&wire(), &stream(name), &STRANGE);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn chunks_of_any_size_read_the_same(sizes in prop::collection::vec(1_usize..100, 1..200)) {
        let stream = stream("openrouter");
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
    fn deltas_of_any_shape_never_panic(
        name in "(content|refusal|reasoning|reasoning_details|tool_calls|function_call|role)",
        value in prop_oneof![Just("7"), Just("[7]"), Just("{}"), Just("[{}]"), Just("\"x\""), Just("[{\"function\":7,\"index\":\"a\",\"id\":[]}]")],
    ) {
        let stream = format!("data: {{\"choices\":[{{\"delta\":{{\"{name}\":{value}}},\"finish_reason\":\"stop\"}}]}}\n\n");

        prop_assert!(replay(&wire(), [stream.as_bytes()]).0.is_ok());
    }
}

#[test]
fn strange_fields_are_kept() {
    let reply = read(&[
        json!({"mood": "calm", "choices": [{"index": 0, "delta": {"content": "hi", "images": [1]}, "song": 1}]}),
        delta(
            &json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "read", "arguments": "{}", "x": 1}, "y": 2}]}),
        ),
        end("tool_calls"),
    ]);

    let kept = ["response", "message"].map(|name| reply.message.extra.field(name).unwrap().as_str());
    assert_eq!(kept, [r#"{"mood":"calm"}"#, r#"{"images":[1]}"#]);
    let mut expected = call("c", "read", "{}");
    expected["y"] = json!(2);
    expected["function"]["x"] = json!(1);
    assert_eq!(sent(&[stored(&reply.message)])[0]["tool_calls"], json!([expected]));
}

#[test]
fn calls_are_sent_back_to_the_letter_with_their_results() {
    let messages = [
        Message::user("Compare."),
        stored(&reply("turn").message),
        result("call_turn_01", "first"),
        failure("call_turn_02", "no such file"),
    ];

    let expected = [
        json!({"role": "user", "content": "Compare."}),
        json!({"role": "assistant", "content": "I will read both files.", "tool_calls": [
            call("call_turn_01", "read", "{\"path\":\"notes/a.txt\"}"),
            call("call_turn_02", "read", "{ \"path\" : \"notes/\\u00fc.txt\",\n  \"lines\": 1.50 } "),
        ]}),
        answer("call_turn_01", "first"),
        answer("call_turn_02", "Error: no such file"),
    ];
    assert_eq!(sent(&messages), expected);
}

#[test]
fn thinking_goes_back_under_the_name_it_came_under() {
    let fields = ["ollama", "llama_cpp", "vllm", "bare"].map(|name| {
        let message = sent(&[stored(&reply(name).message)]).remove(0);
        ["reasoning", "reasoning_content", "thinking"].map(|field| message[field].as_str().map(str::to_owned))
    });

    let expected = [
        [Some("Okay, two files."), None, None],
        [None, Some("The user wants a file."), None],
        [Some("A file then."), None, None],
        [None, None, Some("Hm.")],
    ];
    assert_eq!(fields, expected.map(|names| names.map(|text| text.map(str::to_owned))));
}

#[test]
fn what_a_router_needs_back_is_sent_back() {
    let message = sent(&[stored(&reply("openrouter").message)]).remove(0);

    let mut second = call("toolu_02DeF", "read", "{\"path\": \"notes/b.txt\"}");
    second["extra_content"] = json!({"google": {"thought_signature": "CvcQAdHtim9+"}});
    let expected = json!({
        "role": "assistant",
        "content": "I read both.",
        "reasoning": "Two files to read.",
        "reasoning_details": [
            {
                "type": "reasoning.text",
                "text": "Two files to read.",
                "format": "anthropic-claude-v1",
                "index": 0,
                "signature": "EqQBCkgIBRABGAIi/+==",
            },
            {
                "type": "reasoning.encrypted",
                "data": "gAAAAABoEncrypted==",
                "format": "openai-responses-v1",
                "id": "rs_0a1b",
                "index": 1,
            },
        ],
        "tool_calls": [call("toolu_01AbC", "read", "{\"path\": \"notes/a.txt\"}"), second],
    });
    assert_eq!(message, expected);
}

#[test]
fn a_refusal_goes_back_as_one() {
    let message = sent(&[stored(&reply("refusal").message)]).remove(0);

    assert_eq!(message, json!({"role": "assistant", "content": null, "refusal": "I can't help with that."}));
}

#[test]
fn what_another_provider_said_is_sent_plain() {
    let mut message = reply("openrouter").message;
    message.extra.set("provider", Json::of(&"another").unwrap());

    let missing = "Error: no result of this call was recorded";
    let expected = [
        json!({"role": "assistant", "content": "I read both.", "tool_calls": [
            call("toolu_01AbC", "read", "{\"path\": \"notes/a.txt\"}"),
            call("toolu_02DeF", "read", "{\"path\": \"notes/b.txt\"}"),
        ]}),
        answer("toolu_01AbC", missing),
        answer("toolu_02DeF", missing),
    ];
    assert_eq!(sent(&[message]), expected);
}

#[test]
fn messages_of_one_role_are_sent_as_one() {
    let messages = [
        Message::new(Role::System, vec![Block::text("Speak French.")]),
        Message::user("one"),
        Message::user("two"),
        Message::assistant("three"),
        Message::new(Role::Assistant, Vec::new()),
        Message::assistant("four"),
        Message::new(Role::System, vec![Block::text("five")]),
        Message::user("six"),
    ];
    let body: Value = serde_json::from_str(&wire().post(&request(&viewed(&messages, &wire()))).body).unwrap();

    let expected = json!([
        {"role": "system", "content": "Be brief.\n\nSpeak French."},
        {"role": "user", "content": "one\n\ntwo"},
        {"role": "assistant", "content": "three\n\nfour"},
        {"role": "user", "content": "five\n\nsix"},
    ]);
    assert_eq!(body["messages"], expected);
}

#[test]
fn a_request_says_everything_that_is_asked() {
    let quirks = Quirks { limit: LimitField::MaxCompletionTokens, parallel: ParallelCalls::Asked };
    let wire = Chat { quirks, effort: Some("low".to_owned()), ..wire() };
    let image = Block::Media(Media {
        kind: MediaKind::Image,
        mime_type: "image/png".to_owned(),
        data: Some("AAAA".to_owned()),
        uri: None,
        extra: Fields::new(),
    });
    let messages = [Message::new(Role::User, vec![Block::text("What is this?"), image])];
    let tools = [ToolSpec {
        name: "read".to_owned(),
        description: "Reads a file.".to_owned(),
        input_schema: Json::parse(r#"{"type":"object"}"#).unwrap(),
    }];

    let post =
        wire.post(&Request { max_tokens: Some(100), tools: &tools, ..request(&viewed(&messages, &wire)) });

    let expected = json!({
        "model": "model-1",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            ]},
        ],
        "stream": true,
        "stream_options": {"include_usage": true},
        "tools": [{"type": "function", "function": {
            "name": "read", "description": "Reads a file.", "parameters": {"type": "object"}}}],
        "parallel_tool_calls": true,
        "max_completion_tokens": 100,
        "reasoning_effort": "low",
    });
    assert_eq!(
        (post.path, serde_json::from_str::<Value>(&post.body).unwrap()),
        ("chat/completions", expected)
    );
}

#[test]
fn the_limit_goes_into_the_field_that_the_server_knows() {
    let body = wire().post(&Request { max_tokens: Some(100), ..request(&[]) }).body;

    assert!(body.contains(r#""max_tokens":100"#) && !body.contains("max_completion_tokens"), "{body}");
}

fn calls(reply: &Reply) -> Vec<(String, String, String)> {
    let calls = reply.message.blocks.iter().filter_map(|block| match block {
        Block::ToolCall(call) => Some((call.id.clone(), call.name.clone(), call.input.as_str().to_owned())),
        _ => None,
    });
    calls.collect()
}

fn strings(triples: &[[&str; 3]]) -> Vec<(String, String, String)> {
    triples.iter().map(|[a, b, c]| ((*a).to_owned(), (*b).to_owned(), (*c).to_owned())).collect()
}

#[test]
fn calls_in_pieces_of_every_kind_are_put_together() {
    let piece = |piece: Value| delta(&json!({"tool_calls": [piece]}));
    let ways = [
        // Id, name and arguments in pieces, two calls in turn.
        read(&[
            piece(json!({"index": 0, "id": "c", "function": {"name": "re"}})),
            piece(json!({"index": 1, "id": "d1", "function": {"name": "list", "arguments": "{"}})),
            piece(json!({"index": 0, "id": "0", "function": {"name": "", "arguments": "{"}})),
            piece(json!({"index": 0, "function": {"name": "ad", "arguments": "}"}})),
            piece(json!({"index": 1, "function": {"arguments": "}"}})),
            end("tool_calls"),
        ]),
        // Id and name with every piece.
        read(&[
            piece(json!({"index": 0, "id": "c0", "function": {"name": "read", "arguments": "{"}})),
            piece(json!({"index": 0, "id": "c0", "function": {"name": "read", "arguments": "}"}})),
            piece(json!({"index": 1, "id": "d1", "function": {"name": "list", "arguments": "{}"}})),
            end("tool_calls"),
        ]),
        // The same place for every call.
        read(&[
            piece(json!({"index": 0, "id": "c0", "function": {"name": "read", "arguments": "{}"}})),
            piece(json!({"index": 0, "id": "d1", "function": {"name": "list", "arguments": "{}"}})),
            end("stop"),
        ]),
        // No places.
        read(&[
            piece(json!({"id": "c0", "function": {"name": "read", "arguments": "{"}})),
            piece(json!({"function": {"arguments": "}"}})),
            piece(json!({"id": "d1", "function": {"name": "list", "arguments": {}}})),
            end("tool_calls"),
        ]),
    ];

    let expected = strings(&[["c0", "read", "{}"], ["d1", "list", "{}"]]);
    assert_eq!(ways.each_ref().map(calls), [&expected; 4].map(Clone::clone));
    assert_eq!(ways.map(|reply| reply.stop), [Stop::Tools; 4]);
}

#[test]
fn calls_without_an_id_of_their_own_get_one() {
    let reply = read(&[
        delta(&json!({"tool_calls": [
            {"index": 0, "function": {"name": "read", "arguments": "{}"}},
            {"index": 1, "id": "same", "function": {"name": "read", "arguments": "{}"}},
            {"index": 2, "id": "same", "function": {"name": "list", "arguments": ""}},
        ]})),
        end("tool_calls"),
    ]);

    let expected = strings(&[["call_0_0", "read", "{}"], ["same", "read", "{}"], ["call_0_2", "list", "{}"]]);
    assert_eq!(calls(&reply), expected);
}

#[test]
fn the_older_form_of_a_call_is_understood() {
    let reply = read(&[
        delta(&json!({"function_call": {"name": "read", "arguments": "{"}})),
        delta(&json!({"function_call": {"arguments": "}"}})),
        end("function_call"),
    ]);

    assert_eq!((calls(&reply), reply.stop), (strings(&[["call_0_0", "read", "{}"]]), Stop::Tools));
}

#[test]
fn thinking_between_texts_keeps_its_place_and_the_text_stays_one() {
    let reply = read(&[
        delta(&json!({"content": "one "})),
        delta(&json!({"reasoning": "hm"})),
        delta(&json!({"content": "two"})),
        end("stop"),
    ]);

    let kinds: Vec<&str> = reply.message.blocks.iter().map(Block::kind).collect();
    assert_eq!(kinds, ["text", "thinking", "text"]);
    let expected = json!({"role": "assistant", "content": "one two", "reasoning": "hm"});
    assert_eq!(sent(&[reply.message]), [expected]);
}

#[test]
fn done_without_a_finish_reason_is_a_reply_only_if_something_was_said() {
    let outcome = |chunks: &str| {
        let stream = format!("{chunks}data: [DONE]\n\n");
        replay(&wire(), [stream.as_bytes()]).0.map(|reply| reply.message.text()).map_err(|error| error.kind())
    };

    let said = outcome("data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"\"}]}\n\n");
    assert_eq!([said, outcome("")], [Ok("hi".to_owned()), Err(ErrorKind::Malformed)]);
}
