//! Histories of every kind, and the request that is made of them.

use rejoin::{
    Block, Fields, Media, MediaKind, Message, Other, Role, Snapshot, Summary, Thinking, ToolResult,
};

use super::{STREAMS, items, json, read, sent, wire};
use crate::providers::anthropic::Anthropic;
use crate::providers::anthropic::history::{self, string};
use crate::providers::replay::{NOTHING, viewed};
use crate::providers::wire::{Post, Wire};
use crate::providers::{Request, ThinkingBudget, ToolSpec};

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
    let request =
        Request { system: "be kind", messages: &viewed(&messages, &wire()), tools: &tools, ..NOTHING };

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
            r#"[{"role":"user","content":[{"type":"text","text":"so far"},{"type":"text","text":"State to carry along: {\"a\":1}"},"#,
            r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}},"#,
            r#"{"type":"image","source":{"type":"url","url":"https://a.example/b.png"}},"#,
            r#"{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AAAA"}},"#,
            r#"{"type":"text","text":"[image of type `image/png` at `file:///b.png`, not sent]"},"#,
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

#[test]
fn a_tool_on_the_server_may_wait_for_results() {
    let mut fields = Fields::new();
    fields.set("id", string("srvtoolu_1"));
    let running = Block::Other(Other { kind: "server_tool_use".to_owned(), fields });
    let mut fields = Fields::new();
    fields.set("tool_use_id", string("srvtoolu_1"));
    let done = Block::Other(Other { kind: "code_execution_tool_result".to_owned(), fields });
    let asked = [Message::user("1"), own(vec![running, call("a")]), tool_result("a", "x")];
    let ended = [&asked[..], &[own(vec![done, Block::text("two")]), Message::user("3")]].concat();
    let left = [&asked[..], &[Message::user("3")]].concat();

    let kept = [&asked[..], &ended, &left].map(|messages| sent(messages).contains("server_tool_use"));

    assert_eq!(kept, [true, true, false]);
}
