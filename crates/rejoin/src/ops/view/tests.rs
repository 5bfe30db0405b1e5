use std::time::{Duration, Instant};

use super::*;
use crate::model::{Block, Digest, Fields, Json, Snapshot, Thinking, ToolCall};

fn stored(number: u8, message: Message) -> StoredMessage {
    StoredMessage {
        id: format!("m{number}").parse().unwrap(),
        parent: None,
        seq: u32::from(number),
        turn: u32::from(number),
        digest: Digest::chain(None, b""),
        is_pinned: false,
        message,
    }
}

fn calling(ids: &[&str]) -> Message {
    let blocks = ids.iter().map(|id| {
        Block::ToolCall(ToolCall {
            id: (*id).to_owned(),
            name: "read".to_owned(),
            input: Json::parse("{}").unwrap(),
            ..ToolCall::default()
        })
    });
    Message::new(Role::Assistant, blocks.collect())
}

fn answer(id: &str, text: &str) -> Message {
    Message::new(Role::Tool, vec![Block::tool_result(id, Json::of(&text).unwrap())])
}

fn path(messages: Vec<Message>) -> Vec<StoredMessage> {
    messages.into_iter().zip(1..).map(|(message, number)| stored(number, message)).collect()
}

/// The ids that calls are sent with.
fn calls(view: &View<'_>) -> Vec<String> {
    let blocks = view.messages.iter().flat_map(|viewed| &viewed.message.blocks);
    let id = |block: &Block| match block {
        Block::ToolCall(call) => Some(call.id.clone()),
        _ => None,
    };
    blocks.filter_map(id).collect()
}

fn told(view: &View<'_>) -> Vec<String> {
    view.repairs.iter().map(ToString::to_string).collect()
}

#[test]
fn a_call_without_a_result_gets_a_stub() {
    let path =
        path(vec![Message::user("look"), calling(&["a", "b"]), answer("b", "found"), Message::user("and?")]);

    let view = View::of(&PathMessage::all(&path), &[], &Recipient::new("chat"));

    let roles: Vec<Role> = view.messages.iter().map(|viewed| viewed.message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool, Role::Tool, Role::User]);
    assert_eq!(told(&view), ["The call `a` has no result; a stub stands for it. m2"]);
}

#[test]
fn a_result_that_nobody_asked_for_is_left_out() {
    let path = path(vec![
        answer("z", "?"),
        Message::user("hi"),
        answer("y", "?"),
        calling(&["a"]),
        answer("a", "1"),
        answer("a", "2"),
    ]);

    let view = View::of(&PathMessage::all(&path), &[], &Recipient::new("chat"));

    assert_eq!(view.messages.len(), 3);
    assert_eq!(view.repairs.len(), 3);
}

#[test]
fn calls_that_share_an_id_are_told_apart() {
    let path = path(vec![calling(&["a"]), answer("a", "1"), calling(&["a"]), answer("a", "2")]);

    let view = View::of(&PathMessage::all(&path), &[], &Recipient::new("chat"));

    let ids: Vec<String> = view
        .messages
        .iter()
        .flat_map(|viewed| &viewed.message.blocks)
        .map(|block| match block {
            Block::ToolCall(call) => call.id.clone(),
            Block::ToolResult(result) => result.call_id.clone(),
            other => other.kind().to_owned(),
        })
        .collect();
    assert_eq!(ids, ["a", "a", "a_2", "a_2"]);
}

/// Trying each number again for each call would take minutes.
#[test]
fn any_number_of_calls_may_share_an_id() {
    let path = path(vec![calling(&["a"; 20_000]), calling(&["a_7", "a"])]);
    let started = Instant::now();

    let view = View::of(&PathMessage::all(&path), &[], &Recipient::new("chat"));

    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
    let numbered = (2..=20_000).map(|number| format!("a_{number}"));
    let expected: Vec<String> = ["a".to_owned()]
        .into_iter()
        .chain(numbered)
        .chain(["a_7_2".to_owned(), "a_20001".to_owned()])
        .collect();
    assert_eq!(calls(&view), expected);
}

#[test]
fn thinking_goes_back_only_to_where_it_came_from() {
    let thinking = |signature: Option<&str>| {
        let block = Thinking {
            text: "hm".to_owned(),
            signature: signature.map(str::to_owned),
            ..Thinking::default()
        };
        let mut message = Message::new(Role::Assistant, vec![Block::Thinking(block), Block::text("so")]);
        message.extra.set("api", Json::of(&"anthropic").unwrap());
        message
    };
    let path = path(vec![Message::user("?"), thinking(Some("s")), Message::user("?"), thinking(None)]);
    let mut own = Recipient::new("anthropic");
    own.thinking = ThinkingRule::Signed;

    let counts = [own, Recipient::new("openai-chat")].map(|recipient| {
        let view = View::of(&PathMessage::all(&path), &[], &recipient);
        view.messages.iter().map(|viewed| viewed.message.blocks.len()).collect::<Vec<_>>()
    });

    assert_eq!(counts, [vec![1, 2, 1, 1], vec![1, 1, 1, 1]]);
}

#[test]
fn a_long_output_is_cut_in_the_middle_and_told() {
    let path = path(vec![calling(&["a"]), answer("a", &"é".repeat(200))]);
    let mut recipient = Recipient::new("chat");
    recipient.output_bytes = 121;

    let view = View::of(&PathMessage::all(&path), &[], &recipient);

    let Block::ToolResult(result) = &view.messages[1].message.blocks[0] else { panic!("{view:?}") };
    assert_eq!(
        result.output.to::<String>().unwrap(),
        format!("{0}\n\n[... 340 bytes left out ...]\n\n{0}", "é".repeat(15))
    );
}

#[test]
fn a_view_begins_at_the_newest_compaction() {
    let compaction = Compaction {
        kept: vec![KeptMessage { message: "m3".parse().unwrap(), text: Some("cut".to_owned()) }],
        ..Compaction::default()
    };
    let mut messages = path(vec![
        Message::new(Role::System, vec![Block::text("be brief")]),
        Message::user("pinned"),
        Message::user("long"),
        Message::assistant("forgotten"),
        compaction.to_message("so far").unwrap(),
        Message::user("next"),
    ]);
    messages[1].is_pinned = true;

    let texts: Vec<String> = View::of(&PathMessage::all(&messages), &[], &Recipient::new("chat"))
        .messages
        .iter()
        .map(|viewed| viewed.message.text())
        .collect();
    let ignored = View::of(&PathMessage::all(&messages), &["m5".parse().unwrap()], &Recipient::new("chat"));

    assert_eq!(texts, ["be brief", "pinned", "cut", "so far", "next"]);
    assert_eq!(ignored.messages.len(), 5);
}

#[test]
fn messages_are_kept_in_the_order_of_the_path() {
    let kept = |id: &str, text: Option<&str>| KeptMessage {
        message: id.parse().unwrap(),
        text: text.map(str::to_owned),
    };
    let compaction = Compaction {
        kept: vec![kept("m3", None), kept("m9", None), kept("m1", Some("first")), kept("m1", Some("second"))],
        ..Compaction::default()
    };
    let messages = path(vec![
        Message::user("one"),
        Message::user("two"),
        Message::user("three"),
        compaction.to_message("so far").unwrap(),
    ]);

    let view = View::of(&PathMessage::all(&messages), &[], &Recipient::new("chat"));

    let texts: Vec<String> = view.messages.iter().map(|viewed| viewed.message.text()).collect();
    assert_eq!(texts, ["first", "three", "so far"]);
}

/// Looking through all that is kept for each message would take forty times as long.
#[test]
fn any_number_of_messages_may_be_kept() {
    let length = 50_000;
    let said = Message::user("said");
    let id = |number: u32| format!("m{number}").parse().unwrap();
    let kept = (0..length).rev().map(|number| KeptMessage { message: id(number), text: None }).collect();
    let summary = Compaction { kept, ..Compaction::default() }.to_message("so far").unwrap();
    let mut path: Vec<PathMessage<'_>> = (0..length)
        .map(|number| PathMessage { id: Some(id(number)), is_pinned: false, message: &said })
        .collect();
    path.push(PathMessage { id: None, is_pinned: false, message: &summary });
    let started = Instant::now();

    let view = View::of(&path, &[], &Recipient::new("chat"));

    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
    let shown: Vec<Option<MessageId>> = view.messages.iter().map(|viewed| viewed.id).collect();
    assert_eq!(shown, path.iter().map(|said| said.id).collect::<Vec<_>>());
}

#[test]
fn what_a_program_said_before_the_first_reply_survives_a_compaction() {
    let messages = path(vec![
        Message::user("# AGENTS.md instructions for /home"),
        Message::user("long"),
        Message::assistant("forgotten"),
        Message::user("<environment_context>later</environment_context>"),
        Compaction { unsaved: vec!["not stored".to_owned()], ..Compaction::default() }
            .to_message("so far")
            .unwrap(),
    ]);

    let view = View::of(&PathMessage::all(&messages), &[], &Recipient::new("chat"));

    let texts: Vec<String> = view.messages.iter().map(|viewed| viewed.message.text()).collect();
    assert_eq!(texts, ["# AGENTS.md instructions for /home", "not stored", "so far"]);
}

#[test]
fn snapshots_are_shown_once_and_behind_the_summary() {
    let snapshot = || Block::Snapshot(Snapshot { data: Json::of(&"state").unwrap(), extra: Fields::new() });
    let said = |text: &str| Message::new(Role::User, vec![Block::text(text), snapshot()]);
    let kept = vec![KeptMessage { message: "m2".parse().unwrap(), text: None }];
    let compaction = Compaction { kept, ..Compaction::default() };
    let mut path =
        path(vec![said("gone"), said("kept"), said("pinned"), compaction.to_message("so far").unwrap()]);
    path[2].is_pinned = true;

    let view = View::of(&PathMessage::all(&path), &[], &Recipient::new("chat"));

    let state = "State to carry along: \"state\"";
    let shown: Vec<String> = view.messages.iter().map(|viewed| viewed.message.text()).collect();
    assert_eq!(shown, ["kept", "pinned", "so far", state, state, state]);
}

#[test]
fn what_was_lost_is_read_as_it_was_stored() {
    let fact = |kind, text: &str, message: Option<&str>| Fact {
        kind,
        text: text.to_owned(),
        message: message.map(|id| id.parse().unwrap()),
    };
    let lost = vec![
        fact(FactKind::Path, "a.rs", Some("m1")),
        fact(FactKind::Path, "b.rs", Some("m1")),
        fact(FactKind::Number, "42", Some("m1")),
        fact(FactKind::Path, "c.rs", None),
    ];
    let compaction = Compaction { lost, ..Compaction::default() };

    let message = compaction.to_message("so far").unwrap();

    let groups = r#""lost":[{"message":"m1","kind":"path","texts":["a.rs","b.rs"]},{"message":"m1","kind":"number","texts":["42"]},{"kind":"path","texts":["c.rs"]}]"#;
    assert!(message.to_body().contains(groups), "{}", message.to_body());
    assert_eq!(Compaction::from_message(&message).unwrap().unwrap(), compaction);
}
