//! Recorded streams, read in every way they can arrive, and what the next request makes of them.

use proptest::prelude::*;
use rejoin::{Block, Fields, Json, Media, MediaKind, Message, Role, Snapshot, Summary, Thinking, ToolResult};

use super::history::string;
use super::*;
use crate::error::ErrorKind;
use crate::providers::replay::{
    NOTHING, check_every_break, check_every_cut, check_strange_events, replay, shown, stored,
};
use crate::providers::{Piece, Reply, Stop, ToolSpec};

macro_rules! stream {
    ($name:literal) => {
        (
            include_str!(concat!("../../../tests/streams/anthropic/", $name, ".sse")),
            include_str!(concat!("../../../tests/streams/anthropic/", $name, ".items.jsonl")),
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

const ERROR_MID_STREAM: &str = include_str!("../../../tests/streams/anthropic/error_mid_stream.sse");

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
    wire().post(&Request { messages, ..NOTHING }).body
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

#[test]
fn a_stream_cut_anywhere_gives_the_same_reply() {
    for (stream, _) in STREAMS {
        check_every_cut(&wire(), stream.as_bytes());
    }
    check_every_cut(&wire(), ERROR_MID_STREAM.as_bytes());
}

#[test]
fn a_stream_broken_off_anywhere_gives_no_reply() {
    for (stream, _) in STREAMS {
        check_every_break(&wire(), stream.as_bytes());
    }
    check_every_break(&wire(), ERROR_MID_STREAM.as_bytes());
}

#[test]
fn unknown_events_are_passed_over() {
    let strange = [
        "event: mood\ndata: {\"type\":\"mood\",\"index\":\"high\"}\n\n",
        "event: mood\ndata: not even JSON\n\n",
        "data: {\"type\":\"mood\",\"message\":\"calm\"}\n\n",
        "data: [DONE]\n\n",
        ": a comment\n\n",
        "event: ping\ndata: {\"type\":\"ping\"}\n\n",
    ];
    for (stream, _) in STREAMS {
        check_strange_events(&wire(), stream, &strange);
    }
}

#[test]
fn unknown_kinds_of_delta_are_passed_over() {
    let strange = r#"event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"mood_delta","mood":"calm"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}
"#;
    let end = "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n";
    for (stream, _) in STREAMS {
        assert_eq!(read(&stream.replacen(end, strange, 1)), read(stream));
    }
}

#[test]
fn unknown_fields_of_events_are_passed_over() {
    for (stream, _) in STREAMS {
        let wide = stream.replace("data: {", "data: {\"mood\":[{\"calm\":1.0}],");

        assert_eq!(shown(&replay(&wire(), [wide.as_bytes()])), shown(&replay(&wire(), [stream.as_bytes()])));
    }
}

#[test]
fn unknown_fields_of_the_message_and_of_its_items_are_kept() {
    let (stream, lines) = STREAMS[1];
    let stream = stream
        .replace(r#""role":"assistant","#, r#""role":"assistant","mood":{"a": 1.0},"#)
        .replace(r#""delta":{"stop_reason""#, r#""delta":{"container":{"id":"c1"},"stop_reason""#)
        .replace(r#""content_block":{"type""#, r#""content_block":{"glow": 2.50,"type""#);
    let lines: String =
        lines.lines().map(|line| format!("{},\"glow\":2.50}}\n", &line[..line.len() - 1])).collect();
    let lines = lines
        .replace(r#","caller":{"type":"direct"},"glow":2.50"#, r#","glow":2.50,"caller":{"type":"direct"}"#);

    let reply = read(&stream);

    assert_eq!(reply.message.extra.field("mood"), Some(&json(r#"{"a": 1.0}"#)));
    assert_eq!(reply.message.extra.field("container"), Some(&json(r#"{"id":"c1"}"#)));
    let content = sent(&[Message::user("a"), stored(&reply.message)]);
    assert!(content.contains(&items(&lines)), "{content}\n{}", items(&lines));
}

proptest! {
    #[test]
    fn any_chunks_give_the_same_reply(which in 0..STREAMS.len(), sizes in prop::collection::vec(1_usize..400, 1..40)) {
        let stream = STREAMS[which].0.as_bytes();
        let mut rest = stream;
        let mut chunks = Vec::new();
        for size in sizes.into_iter().cycle() {
            let (chunk, after) = rest.split_at(size.min(rest.len()));
            chunks.push(chunk);
            rest = after;
            if rest.is_empty() {
                break;
            }
        }

        prop_assert_eq!(shown(&replay(&wire(), chunks)), shown(&replay(&wire(), [stream])));
    }
}

#[test]
fn what_a_stream_carried_is_sent_back_to_the_letter_after_it_was_stored() {
    for (stream, lines) in STREAMS {
        let reply = read(stream);

        let content = sent(&[Message::user("a"), stored(&reply.message)]);

        let expected = format!(r#"{{"role":"assistant","content":{}}}"#, items(lines));
        assert!(content.contains(&expected), "{content}\n{expected}");
    }
}

#[test]
fn a_reply_says_where_it_comes_from_why_it_ended_and_what_it_took() {
    let rows = STREAMS.map(|(stream, _)| {
        let Reply { message, stop } = read(stream);
        let usage = message.usage.unwrap();
        (message.finish.unwrap(), stop, usage.input_tokens, usage.output_tokens)
    });

    assert_eq!(
        rows,
        [
            ("end_turn".to_owned(), Stop::Done, 25, 15),
            ("tool_use".to_owned(), Stop::Tools, 472, 89),
            ("end_turn".to_owned(), Stop::Done, 31, 40),
            ("end_turn".to_owned(), Stop::Done, 10_682, 510),
            ("refusal".to_owned(), Stop::Refused, 60, 6),
            ("pause_turn".to_owned(), Stop::Paused, 88, 33),
            ("max_tokens".to_owned(), Stop::Length, 12, 5),
            ("max_tokens".to_owned(), Stop::Length, 12, 20),
            ("stop_sequence".to_owned(), Stop::Done, 18_309, 11),
        ]
    );
}

#[test]
fn everything_said_about_a_reply_is_kept() {
    let extras = [STREAMS[4].0, STREAMS[8].0].map(|stream| Json::of(&read(stream).message.extra).unwrap());
    let detail = read(STREAMS[8].0).message.usage.unwrap().detail.unwrap();

    let expected = [
        r#"{"provider":"mine","api":"anthropic","model":"claude-sonnet-4-5-20250929","response_id":"msg_01Refusal","stop_details":{"type":"refusal","category":"cyber","explanation":"This request may lead to harm."}}"#,
        r####"{"provider":"mine","api":"anthropic","model":"claude-sonnet-4-5-20250929","response_id":"msg_01Cached","stop_sequence":"###"}"####,
    ];
    assert_eq!(extras, expected.map(json));
    assert_eq!(
        detail,
        json(
            r#"{"input_tokens":9,"cache_creation_input_tokens":300,"cache_read_input_tokens":18000,"cache_creation":{"ephemeral_5m_input_tokens":300,"ephemeral_1h_input_tokens":0},"output_tokens":11,"service_tier":"standard"}"#
        )
    );
}

#[test]
fn every_stop_reason_has_a_meaning() {
    let reasons = [
        "end_turn",
        "stop_sequence",
        "tool_use",
        "max_tokens",
        "model_context_window_exceeded",
        "pause_turn",
        "refusal",
        "never_heard_of",
    ];
    let stops = reasons.map(|reason| {
        let reason = format!(r#""stop_reason":"{reason}""#);
        read(&STREAMS[0].0.replace(r#""stop_reason":"end_turn""#, &reason)).stop
    });
    let unknown_with_calls =
        read(&STREAMS[1].0.replace(r#""stop_reason":"tool_use""#, r#""stop_reason":"never_heard_of""#)).stop;

    let expected = [
        Stop::Done,
        Stop::Done,
        Stop::Tools,
        Stop::Length,
        Stop::Length,
        Stop::Paused,
        Stop::Refused,
        Stop::Done,
    ];
    assert_eq!(stops, expected);
    assert_eq!(unknown_with_calls, Stop::Tools);
}

#[test]
fn pieces_are_told_as_they_arrive_and_each_finished_block_stands_for_them() {
    let (reply, pieces) = replay(&wire(), [STREAMS[1].0.as_bytes()]);
    let blocks = reply.unwrap().message.blocks;

    let text = |text: &str| Piece::Text(text.to_owned());
    let thinking = |text: &str| Piece::Thinking(text.to_owned());
    let call = |name: &str| Piece::Call { name: name.to_owned() };
    let finished = |index: usize| Piece::Finished(blocks[index].clone());
    assert_eq!(
        pieces,
        [
            thinking("Two files are"),
            thinking("… read both,\nthen \"compare\"."),
            finished(0),
            text("I will read"),
            text(" both files."),
            finished(1),
            text("First the old one, then the new one."),
            finished(2),
            call("read"),
            finished(3),
            call("read"),
            finished(4),
            call("list"),
            finished(5),
        ]
    );
}

#[test]
fn an_input_that_is_not_json_is_kept_and_no_tool_can_take_it() {
    let blocks = stored(&read(STREAMS[7].0).message).blocks;

    let Block::ToolCall(call) = &blocks[1] else { panic!("{blocks:?}") };
    let written = string("{\"path\":\"a.txt\",\"text\":\"one \\\"tw");
    assert_eq!((&call.input, call.extra.field("arguments")), (&written, Some(&written)));
}

#[test]
fn an_error_in_the_stream_is_of_its_kind_with_the_words_of_the_provider() {
    let (error, pieces) = replay(&wire(), [ERROR_MID_STREAM.as_bytes()]);

    assert_eq!(
        format!("{:?}", error.unwrap_err()),
        "[Overloaded] the provider broke off the reply: overloaded_error: Overloaded"
    );
    assert_eq!(pieces.len(), 3);
}

#[test]
fn a_stream_that_breaks_the_rules_is_malformed() {
    let start = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
    let begin = r#"{"type":"message_start","message":{"id":"m","usage":{}}}"#;
    let cases: [&[&str]; 9] = [
        &[r#"{"type":"message_stop"}"#],
        &[r#"{"type":"message_delta","delta":{}}"#],
        &[begin, start, r#"{"type":"message_stop"}"#],
        &[begin, start, start],
        &[begin, r#"{"type":"content_block_stop","index":0}"#],
        &[begin, r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}"#],
        &[begin, start, r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta"}}"#],
        &[begin, start, r#"{"type":"content_block_delta","index":0}"#],
        &[begin, "{"],
    ];
    let kinds = cases.map(|events| {
        let stream: String = events.iter().map(|data| format!("data: {data}\n\n")).collect();
        replay(&wire(), [stream.as_bytes()]).0.unwrap_err().kind()
    });

    assert_eq!(kinds, [ErrorKind::Malformed; 9]);
}

fn tool_result(id: &str, text: &str) -> Message {
    Message::new(Role::Tool, vec![Block::tool_result(id, string(text))])
}

fn own(blocks: Vec<Block>) -> Message {
    let mut message = Message::new(Role::Assistant, blocks);
    message.extra.set("api", string("anthropic"));
    message.extra.set("provider", string("mine"));
    message
}

fn call(id: &str) -> Block {
    Block::tool_call(id, "read", json("{}"))
}

fn signed(text: &str) -> Block {
    Block::Thinking(Thinking {
        text: text.to_owned(),
        signature: Some("sig".to_owned()),
        extra: Fields::new(),
    })
}

#[test]
fn a_request_has_everything_in_its_place() {
    let tools = [ToolSpec {
        name: "read".to_owned(),
        description: "Reads.".to_owned(),
        input_schema: json(r#"{"type": "object"}"#),
    }];
    let messages = [
        Message::user("one"),
        Message::new(Role::System, vec![Block::text("be brief")]),
        Message::assistant("two"),
        Message::user("three"),
    ];
    let request = Request { system: "be kind", messages: &messages, tools: &tools, ..NOTHING };

    let post = wire().post(&request);

    let expected = Post {
        path: "messages",
        headers: vec![("anthropic-version", "2023-06-01".to_owned())],
        body: concat!(
            r#"{"model":"model-1","max_tokens":32000,"stream":true,"#,
            r#""tools":[{"name":"read","description":"Reads.","input_schema":{"type": "object"}}],"#,
            r#""system":[{"type":"text","text":"be kind"},"#,
            r#"{"type":"text","text":"be brief","cache_control":{"type":"ephemeral"}}],"#,
            r#""messages":[{"role":"user","content":[{"type":"text","text":"one"}]},"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"two"}]},"#,
            r#"{"role":"user","content":[{"type":"text","text":"three","cache_control":{"type":"ephemeral"}}]}]}"#,
        )
        .to_owned(),
    };
    assert_eq!(post, expected);
}

#[test]
fn thinking_is_asked_for_as_set_and_has_room() {
    let budgets = [
        (ThinkingBudget::Free, None),
        (ThinkingBudget::Tokens(4000), None),
        (ThinkingBudget::Tokens(10), None),
        (ThinkingBudget::Tokens(4000), Some(1000)),
    ];
    let starts = budgets.map(|(thinking, max_tokens)| {
        let wire = Anthropic { thinking, ..wire() };
        wire.post(&Request { max_tokens, ..NOTHING }).body
    });

    let expected = [
        r#"{"model":"model-1","max_tokens":32000,"stream":true,"thinking":{"type":"adaptive","display":"summarized"},"messages":[]}"#,
        r#"{"model":"model-1","max_tokens":32000,"stream":true,"thinking":{"type":"enabled","budget_tokens":4000},"messages":[]}"#,
        r#"{"model":"model-1","max_tokens":32000,"stream":true,"thinking":{"type":"enabled","budget_tokens":1024},"messages":[]}"#,
        r#"{"model":"model-1","max_tokens":5000,"stream":true,"thinking":{"type":"enabled","budget_tokens":4000},"messages":[]}"#,
    ];
    assert_eq!(starts, expected);
}

#[test]
fn results_come_first_in_the_order_of_the_calls_and_merge_with_what_the_user_says() {
    let failed = Message::new(
        Role::Tool,
        vec![Block::ToolResult(ToolResult {
            call_id: "b".to_owned(),
            output: string("no such file"),
            is_error: true,
            extra: Fields::new(),
        })],
    );
    let messages = [
        Message::user("go"),
        own(vec![Block::text("I read."), call("a"), call("b")]),
        Message::user("and hurry"),
        failed,
        tool_result("a", "one"),
    ];

    assert_eq!(
        sent(&messages),
        concat!(
            r#"[{"role":"user","content":[{"type":"text","text":"go"}]},"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"I read."},"#,
            r#"{"type":"tool_use","id":"a","name":"read","input":{}},"#,
            r#"{"type":"tool_use","id":"b","name":"read","input":{}}]},"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"one"},"#,
            r#"{"type":"tool_result","tool_use_id":"b","content":"no such file","is_error":true},"#,
            r#"{"type":"text","text":"and hurry"}]}]"#,
        )
    );
}

#[test]
fn every_call_is_answered_and_every_result_has_a_call() {
    let messages = [
        tool_result("lost", "nobody asked"),
        own(vec![call("a")]),
        Message::user("go on"),
        own(vec![call("a"), call("a"), call("b.c")]),
        tool_result("a", "one"),
        tool_result("a", "two"),
        tool_result("b.c", "three"),
        own(vec![call("d")]),
    ];
    let no_result = "no result of this call was recorded";

    assert_eq!(
        sent(&messages),
        [
            r#"[{"role":"user","content":[{"type":"text","text":"[The conversation begins with the assistant.]"}]},"#,
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"read","input":{}}]},"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":""#,
            no_result,
            r#"","is_error":true},{"type":"text","text":"go on"}]},"#,
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"a_2","name":"read","input":{}},"#,
            r#"{"type":"tool_use","id":"a_3","name":"read","input":{}},"#,
            r#"{"type":"tool_use","id":"b_c","name":"read","input":{}}]},"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a_2","content":"one"},"#,
            r#"{"type":"tool_result","tool_use_id":"a_3","content":"two"},"#,
            r#"{"type":"tool_result","tool_use_id":"b_c","content":"three"}]},"#,
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"d","name":"read","input":{}}]},"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"d","content":""#,
            no_result,
            r#"","is_error":true}]}]"#,
        ]
        .concat()
    );
}

#[test]
fn of_another_provider_only_text_and_calls_are_sent() {
    let mut other = own(vec![signed("hm"), Block::text("said"), call("a")]);
    other.extra.set("provider", string("another"));
    let mut responses = other.clone();
    responses.extra.set("api", string("openai-responses"));
    let interrupted = Message::new(Role::Assistant, vec![signed("hm")]);
    let messages = [
        Message::user("1"),
        other,
        tool_result("a", "x"),
        responses,
        Message::user("2"),
        interrupted,
        Message::user("3"),
    ];

    assert_eq!(
        sent(&messages),
        concat!(
            r#"[{"role":"user","content":[{"type":"text","text":"1"}]},"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"said"},{"type":"tool_use","id":"a","name":"read","input":{}}]},"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]},"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"said"},{"type":"tool_use","id":"a_2","name":"read","input":{}}]},"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a_2","content":"no result of this call was recorded","is_error":true},"#,
            r#"{"type":"text","text":"2"},{"type":"text","text":"3"}]}]"#,
        )
    );
}

#[test]
fn what_the_api_refuses_is_left_out() {
    let unsigned = Block::Thinking(Thinking { text: "hm".to_owned(), signature: None, extra: Fields::new() });
    let messages = [
        Message::user(" \n"),
        Message::user("1"),
        own(vec![unsigned, Block::text(""), Block::text("two"), signed("cut off")]),
        Message::user("3"),
        own(vec![signed("only this")]),
        Message::user("4"),
    ];

    assert_eq!(
        sent(&messages),
        concat!(
            r#"[{"role":"user","content":[{"type":"text","text":"1"}]},"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"two"}]},"#,
            r#"{"role":"user","content":[{"type":"text","text":"3"},{"type":"text","text":"4"}]}]"#,
        )
    );
}

#[test]
fn a_paused_reply_goes_on_and_merges_with_what_follows() {
    let (paused, rest) = (read(STREAMS[5].0).message, read(STREAMS[0].0).message);
    let lines = [STREAMS[5].1, STREAMS[0].1].concat();

    let going_on = sent(&[Message::user("a"), paused.clone()]);
    let ended = sent(&[Message::user("a"), paused.clone(), rest]);
    let abandoned = sent(&[Message::user("a"), paused, Message::user("b")]);

    let start = r#"[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":"#;
    assert_eq!(going_on, format!("{start}{}}}]", items(STREAMS[5].1)));
    assert_eq!(ended, format!("{start}{}}}]", items(&lines)));
    assert_eq!(
        abandoned,
        format!(
            r#"{start}[{{"type":"text","text":"Let me search for that."}}]}},{{"role":"user","content":[{{"type":"text","text":"b"}}]}}]"#
        )
    );
}

#[test]
fn media_summaries_and_snapshots_become_items() {
    let media = |kind, mime_type: &str, data: Option<&str>, uri: Option<&str>| {
        Block::Media(Media {
            kind,
            mime_type: mime_type.to_owned(),
            data: data.map(str::to_owned),
            uri: uri.map(str::to_owned),
            extra: Fields::new(),
        })
    };
    let blocks = vec![
        Block::Summary(Summary { text: "so far".to_owned(), extra: Fields::new() }),
        Block::Snapshot(Snapshot { data: json(r#"{"a":1}"#), extra: Fields::new() }),
        media(MediaKind::Image, "image/png", Some("AAAA"), None),
        media(MediaKind::Image, "image/png", None, Some("https://a.example/b.png")),
        media(MediaKind::File, "application/pdf", Some("AAAA"), None),
        media(MediaKind::Image, "image/png", None, Some("file:///b.png")),
        media(MediaKind::Audio, "audio/wav", Some("AAAA"), None),
    ];

    assert_eq!(
        sent(&[Message::new(Role::User, blocks)]),
        concat!(
            r#"[{"role":"user","content":[{"type":"text","text":"so far"},{"type":"text","text":"{\"a\":1}"},"#,
            r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}},"#,
            r#"{"type":"image","source":{"type":"url","url":"https://a.example/b.png"}},"#,
            r#"{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AAAA"}},"#,
            r#"{"type":"text","text":"[image of type `image/png`, not sent]"},"#,
            r#"{"type":"text","text":"[audio of type `audio/wav`, not sent]"}]}]"#,
        )
    );
}

#[test]
fn what_a_tool_gives_back_is_sent_as_text_or_as_items() {
    let outputs = [
        r#""a \"b\"""#,
        r#"{"a": 1}"#,
        "[]",
        r#"[{"type":"text","text":"see"},{"type":"image","mime_type":"image/png","data":"AAAA"}]"#,
        r#"[{"type":"mood"}]"#,
    ];
    let contents = outputs.map(|output| {
        let messages =
            [own(vec![call("a")]), Message::new(Role::Tool, vec![Block::tool_result("a", json(output))])];
        let sent = sent(&messages);
        sent.split_once(r#""tool_use_id":"a","content":"#).unwrap().1.strip_suffix("}]}]").unwrap().to_owned()
    });

    assert_eq!(
        contents,
        [
            r#""a \"b\"""#,
            r#""{\"a\": 1}""#,
            r#""[]""#,
            r#"[{"type":"text","text":"see"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]"#,
            r#""[{\"type\":\"mood\"}]""#,
        ]
    );
}

#[test]
fn the_input_of_a_call_is_always_an_object() {
    let inputs = [r#"{ "a": 1.0 }"#, "null", r#""{\"a\":""#, "[1]"];
    let sent = inputs.map(|input| history::input(&json(input)).as_str().to_owned());

    let expected = [r#"{ "a": 1.0 }"#, "{}", r#"{"INVALID_JSON":"{\"a\":"}"#, r#"{"INVALID_JSON":"[1]"}"#];
    assert_eq!(sent, expected);
}
