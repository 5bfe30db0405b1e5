//! Each repair: what it does, and how it is told.

use std::borrow::Cow;

use rejoin::view::{Compaction, PathMessage, Recipient, View};
use rejoin::{
    Block, Fields, Json, Media, MediaKind, Message, Other, Role, Snapshot, StoredMessage, Summary, Text,
    Thinking, ToolCall, ToolResult,
};

use super::damaged::{json, recipient, stored};

fn path(messages: impl IntoIterator<Item = Message>) -> Vec<StoredMessage> {
    messages.into_iter().zip(1..).map(|(message, seq)| stored(seq, message)).collect()
}

fn reply(blocks: Vec<Block>) -> Message {
    Message::new(Role::Assistant, blocks)
}

fn own(api: &str, blocks: Vec<Block>) -> Message {
    let mut message = reply(blocks);
    message.extra.set("api", json(api));
    message
}

fn call(id: &str) -> Block {
    Block::tool_call(id, "read", Json::parse("{}").unwrap())
}

fn result(id: &str, text: &str) -> Block {
    Block::tool_result(id, json(text))
}

fn tool(id: &str, text: &str) -> Message {
    Message::new(Role::Tool, vec![result(id, text)])
}

fn item(kind: &str, field: &str, value: &str) -> Block {
    let mut fields = Fields::new();
    fields.set(field, json(value));
    Block::Other(Other { kind: kind.to_owned(), fields })
}

fn thinking() -> Block {
    Block::Thinking(Thinking { text: "hm".to_owned(), signature: Some("s".to_owned()), extra: Fields::new() })
}

/// Who speaks, what is said, and what was told about it.
fn shown(path: &[StoredMessage], recipient: &Recipient) -> (Vec<String>, Vec<String>) {
    let view = View::of(&PathMessage::all(path), &[], recipient);
    let lines = view.messages.iter().map(|viewed| line(&viewed.message)).collect();
    (lines, view.repairs.iter().map(ToString::to_string).collect())
}

fn line(message: &Message) -> String {
    let blocks = message.blocks.iter().map(|block| match block {
        Block::Text(text) => text.text.clone(),
        Block::ToolCall(call) => format!("{}?", call.id),
        Block::ToolResult(result) => format!("{}={}", result.call_id, result.output.as_str()),
        other => other.kind().to_owned(),
    });
    format!("{}: {}", message.role.as_str(), blocks.collect::<Vec<_>>().join(", "))
}

fn lines(view: &[&str], told: &[&str]) -> (Vec<String>, Vec<String>) {
    let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
    (owned(view), owned(told))
}

#[test]
fn a_result_that_comes_after_the_user_spoke_is_sent_before() {
    let path = path([
        reply(vec![call("a"), call("b")]),
        Message::user("and hurry"),
        tool("b", "two"),
        tool("a", "one"),
    ]);

    let expected = lines(
        &["assistant: a?, b?", "tool: a=\"one\"", "tool: b=\"two\"", "user: and hurry"],
        &[
            "The result of `b` is sent before what was said while it was awaited. m3",
            "The result of `a` is sent before what was said while it was awaited. m4",
        ],
    );
    assert_eq!(shown(&path, &recipient("openai-chat")), expected);
}

#[test]
fn a_result_that_comes_after_the_model_went_on_is_sent_as_text() {
    let path = path([
        reply(vec![call("a")]),
        Message::user("go on"),
        Message::assistant("without it"),
        tool("a", "one"),
        tool("a", "again"),
    ]);

    let expected = lines(
        &[
            "assistant: a?",
            "tool: a=\"no result of this call was recorded\"",
            "user: go on",
            "assistant: without it",
            "user: [A late result of the call `a`]\none",
        ],
        &[
            "The call `a` has no result; a stub stands for it. m1",
            "The result of `a` came after the model went on; it is sent as text. m4",
            "A result for `a` answers no open call; it is left out. m5",
        ],
    );
    assert_eq!(shown(&path, &recipient("openai-chat")), expected);
}

#[test]
fn replies_in_a_row_have_their_results_behind_the_last() {
    let path = path([reply(vec![call("a")]), reply(vec![call("b")]), tool("a", "one"), tool("b", "two")]);

    let view = View::of(&PathMessage::all(&path), &[], &recipient("openai-chat"));

    let borrowed = view.messages.iter().all(|viewed| matches!(viewed.message, Cow::Borrowed(_)));
    assert_eq!((view.messages.len(), view.repairs.len(), borrowed), (4, 0, true));
}

#[test]
fn results_in_what_a_user_or_a_model_says_are_found() {
    let path = path([
        reply(vec![call("a"), result("a", "one")]),
        reply(vec![call("b")]),
        Message::new(Role::User, vec![result("b", "two"), Block::text("and?")]),
    ]);

    let expected =
        lines(&["assistant: a?", "tool: a=\"one\"", "assistant: b?", "tool: b=\"two\"", "user: and?"], &[]);
    assert_eq!(shown(&path, &recipient("openai-chat")), expected);
}

#[test]
fn replies_that_hold_their_results_are_rounds_of_their_own() {
    let path = path([
        Message::user("look"),
        reply(vec![call("a"), result("a", "1")]),
        reply(vec![call("b")]),
        reply(vec![result("b", "2")]),
        reply(vec![call("c"), result("c", "3"), Block::text("done")]),
    ]);

    let views: Vec<Vec<String>> =
        [2, 4, 5].map(|length| shown(&path[..length], &recipient("openai-chat")).0).to_vec();

    let whole = [
        "user: look",
        "assistant: a?",
        "tool: a=\"1\"",
        "assistant: b?",
        "tool: b=\"2\"",
        "assistant: c?, done",
        "tool: c=\"3\"",
    ];
    assert_eq!(views, [&whole[..3], &whole[..5], &whole]);
}

#[test]
fn a_reply_of_nothing_but_results_does_not_end_the_round() {
    let path = path([
        reply(vec![call("a"), call("b")]),
        reply(vec![result("a", "1")]),
        reply(vec![result("b", "2")]),
        reply(vec![Block::text("done")]),
    ]);

    let expected = lines(&["assistant: a?, b?", "tool: a=\"1\"", "tool: b=\"2\"", "assistant: done"], &[]);
    assert_eq!(shown(&path, &recipient("openai-chat")), expected);
}

#[test]
fn calls_of_one_id_get_their_results_in_turn() {
    let other = Block::tool_call("a", "write", Json::parse("{}").unwrap());
    let path = path([reply(vec![call("a"), call("a"), other]), tool("a", "one"), tool("a", "two")]);

    let expected = lines(
        &[
            "assistant: a?, a_2?, a_3?",
            "tool: a=\"one\"",
            "tool: a_2=\"two\"",
            "tool: a_3=\"no result of this call was recorded\"",
        ],
        &[
            "The call `a` came before; this one is sent under another id. m1",
            "The id `a` of a call is taken or not accepted; another is sent. m1",
            "The call `a` has no result; a stub stands for it. m1",
        ],
    );
    assert_eq!(shown(&path, &recipient("openai-chat")), expected);
}

#[test]
fn ids_and_names_that_are_not_accepted_are_replaced() {
    let (id, long) = ("y".repeat(60), "x".repeat(70));
    let named = |id: &str, name: &str| Block::tool_call(id, name, Json::parse("{}").unwrap());
    let asked = vec![named("", "a b"), named("c.d", ""), named(&id, &long)];
    let calls = |api: &str, message: Message| {
        let path = path([message]);
        let view = View::of(&PathMessage::all(&path), &[], &recipient(api));
        let calls = view.messages.iter().flat_map(|viewed| viewed.message.blocks.clone());
        calls
            .filter_map(|block| match block {
                Block::ToolCall(ToolCall { id, name, .. }) => Some([id, name]),
                _ => None,
            })
            .collect::<Vec<_>>()
    };

    let strings = |pairs: [[&str; 2]; 3]| pairs.map(|pair| pair.map(str::to_owned)).to_vec();
    let short = &long[..64];
    let plain = strings([["call", "a_b"], ["c_d", "tool"], [&id, short]]);
    assert_eq!(calls("anthropic", reply(asked.clone())), plain);
    let cut = strings([["call", "a_b"], ["c.d", "tool"], [&id[..40], short]]);
    assert_eq!(calls("openai-chat", reply(asked.clone())), cut);
    let exact = strings([["call", "a_b"], ["c.d", "tool"], [&id, short]]);
    assert_eq!(calls("openai-chat", own("openai-chat", asked)), exact);
}

#[test]
fn what_is_pinned_survives_a_compaction_alone_as_text() {
    let mut messages = path([
        Message::user("gone"),
        own("anthropic", vec![thinking(), Block::text("I look."), call("a")]),
        Message::new(
            Role::Tool,
            vec![result("a", "found"), Block::Snapshot(Snapshot { data: json("s"), extra: Fields::new() })],
        ),
        Compaction::default().to_message("so far").unwrap(),
        Message::user("next"),
    ]);
    messages[1].is_pinned = true;
    messages[2].is_pinned = true;

    let expected = lines(
        &[
            "user: [The conversation begins with the assistant.]",
            "assistant: I look., [Call of the tool `read`: {}]",
            "user: [Result of a tool]\nfound",
            "user: so far",
            "user: State to carry along: \"s\"",
            "user: next",
        ],
        &[
            "What is left of the call `a` after a compaction is sent as text. m2",
            "What is left of the call `a` after a compaction is sent as text. m3",
            "A line was added, because a user must speak first.",
        ],
    );
    assert_eq!(shown(&messages, &recipient("anthropic")), expected);
}

#[test]
fn a_summary_of_another_program_keeps_nothing_before_it() {
    let summary = |extra| Block::Summary(Summary { text: "so far".to_owned(), extra });
    let mut odd = Fields::new();
    odd.set("compaction", Json::parse("7").unwrap());
    let views = [Fields::new(), odd].map(|extra| {
        let path = path([
            Message::user("gone"),
            Message::new(Role::User, vec![summary(extra)]),
            Message::user("next"),
        ]);
        shown(&path, &recipient("openai-chat"))
    });

    let shown = ["user: so far", "user: next"];
    let unreadable = "What a compaction keeps cannot be read; only its summary is shown. m2";
    assert_eq!(views, [lines(&shown, &[]), lines(&shown, &[unreadable])]);
}

#[test]
fn media_is_sent_where_it_is_taken_and_described_elsewhere() {
    let media = |kind, mime_type: &str, uri: &str| {
        Block::Media(Media {
            kind,
            mime_type: mime_type.to_owned(),
            data: uri.is_empty().then(|| "AAAA".to_owned()),
            uri: Some(uri.to_owned()).filter(|uri| !uri.is_empty()),
            extra: Fields::new(),
        })
    };
    let picture = media(MediaKind::Image, "image/png", "");
    let document = media(MediaKind::File, "application/pdf", "");
    let drawing = media(MediaKind::Image, "image/svg+xml", "");
    let local = media(MediaKind::Image, "image/png", "file:///a.png");
    let output = Json::of(&vec![Block::text("see"), picture.clone()]).unwrap();
    let path = path([
        Message::new(Role::User, vec![picture.clone(), document, drawing, local]),
        reply(vec![call("a"), picture]),
        Message::new(Role::Tool, vec![Block::tool_result("a", output)]),
    ]);

    let (anthropic, told) = shown(&path, &recipient("anthropic"));
    let (responses, _) = shown(&path, &recipient("openai-responses"));

    let not_sent =
        "[image of type `image/svg+xml`, not sent], [image of type `image/png` at `file:///a.png`, not sent]";
    let said = "assistant: a?, [image of type `image/png`, not sent]".to_owned();
    let sent =
        r#"tool: a=[{"type":"text","text":"see"},{"type":"image","mime_type":"image/png","data":"AAAA"}]"#;
    assert_eq!(anthropic, [format!("user: image, file, {not_sent}"), said.clone(), sent.to_owned()]);
    let described = r#"tool: a=[{"type":"text","text":"see"},{"type":"text","text":"[image of type `image/png`, not sent]"}]"#;
    let pdf = "[file of type `application/pdf`, not sent]";
    assert_eq!(responses, [format!("user: image, {pdf}, {not_sent}"), said, described.to_owned()]);
    let described = ["image/svg+xml", "image/png", "image/png"].into_iter().zip([1, 1, 2]);
    let expected: Vec<String> = described
        .map(|(kind, place)| format!("A file of type `{kind}` is described, not sent. m{place}"))
        .collect();
    assert_eq!(told, expected);
}

#[test]
fn long_texts_in_an_output_share_its_room() {
    let output = Json::of(&vec![Block::text("é".repeat(300)), Block::text("short")]).unwrap();
    let path =
        path([reply(vec![call("a")]), Message::new(Role::Tool, vec![Block::tool_result("a", output)])]);
    let mut recipient = recipient("openai-chat");
    recipient.output_bytes = 240;

    let view = View::of(&PathMessage::all(&path), &[], &recipient);

    let Block::ToolResult(ToolResult { output, .. }) = &view.messages[1].message.blocks[0] else {
        panic!("{view:?}")
    };
    let half = "é".repeat(15);
    let cut = format!("{half}\n\n[... 540 bytes left out ...]\n\n{half}");
    assert_eq!(output.to::<Vec<Block>>().unwrap(), [Block::text(cut), Block::text("short")]);
    let told: Vec<String> = view.repairs.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["The result of `a` is long; 540 bytes in its middle are left out. m2"]);
}

#[test]
fn a_tool_on_the_server_that_never_answered_is_left_out_once_the_user_speaks() {
    let asked =
        own("anthropic", vec![Block::text("I search."), thinking(), item("server_tool_use", "id", "s")]);
    let answered =
        own("anthropic", vec![item("web_search_tool_result", "tool_use_id", "s"), Block::text("so")]);
    let running = path([Message::user("?"), asked.clone()]);
    let finished = path([Message::user("?"), asked.clone(), answered.clone(), Message::user("ok")]);
    let abandoned = path([Message::user("?"), asked, Message::user("stop"), answered]);

    let views = [running, finished, abandoned].map(|path| shown(&path, &recipient("anthropic")));

    let searching = "assistant: I search., thinking, server_tool_use";
    let expected = [
        lines(&["user: ?", searching], &[]),
        lines(&["user: ?", searching, "assistant: web_search_tool_result, so", "user: ok"], &[]),
        lines(
            &["user: ?", "assistant: I search.", "user: stop", "assistant: so"],
            &[
                "The provider's own tool never answered `s`; the call is left out. m2",
                "A result for `s` answers no open call; it is left out. m4",
                "Thinking that nothing follows is left out. m2",
            ],
        ),
    ];
    assert_eq!(views, expected);
}

#[test]
fn a_custom_call_gets_an_output_and_a_repeated_reply_is_sent_plain() {
    let mut asked =
        own("openai-responses", vec![item("custom_tool_call", "call_id", "c"), Block::text("so")]);
    asked.extra.set("response_id", json("r1"));
    let path = path([asked.clone(), Message::user("?"), asked]);

    let expected = lines(
        &["assistant: custom_tool_call, so, custom_tool_call_output", "user: ?", "assistant: so"],
        &[
            "The call `c` has no result; a stub stands for it. m1",
            "The same reply came before; only its words and calls are sent again. m3",
            "An item of the kind `custom_tool_call`, which this provider does not take, is left out. m3",
        ],
    );
    assert_eq!(shown(&path, &recipient("openai-responses")), expected);
}

#[test]
fn text_without_words_is_left_out_except_where_it_goes_back_as_it_came() {
    let mut extra = Fields::new();
    extra.set("item", Json::parse("{}").unwrap());
    let part = Block::Text(Text { text: String::new(), extra });
    let path = path([
        Message::user(" "),
        own("openai-responses", vec![part, Block::text("\n"), Block::text(""), Block::text("so")]),
    ]);

    let empty = "A message without content is left out. m1";
    let left_out = "A text without words is left out. m2";
    let exact = lines(&["assistant: , \n, so"], &[empty, left_out]);
    assert_eq!(shown(&path, &recipient("openai-responses")), exact);
    let plain = lines(&["assistant: so"], &[empty, left_out, left_out, left_out]);
    assert_eq!(shown(&path, &recipient("openai-chat")), plain);
}

#[test]
fn only_what_the_history_lacks_or_repeats_is_damage() {
    let path = path([
        own("openai-chat", vec![thinking(), Block::text("I look."), call("a")]),
        tool("z", "?"),
        Message::user(""),
        Message::new(Role::User, vec![call("b"), Block::text("x")]),
    ]);

    let damage = |view: View<'_>| view.repairs.iter().map(|repair| repair.is_damage()).collect::<Vec<_>>();

    let expected = [false, true, true, true, true, false];
    assert_eq!(damage(View::of(&PathMessage::all(&path), &[], &recipient("anthropic"))), expected);
}
