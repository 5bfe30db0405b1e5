//! Histories that were damaged at random still give a view that every provider accepts.

use std::collections::HashSet;

use proptest::prelude::*;
use rejoin::view::{Compaction, FirstRule, MediaRule, Recipient, Said, ThinkingRule, View, view};
use rejoin::{
    Block, Digest, Fields, Json, Media, MediaKind, Message, Other, Role, Snapshot, StoredMessage, Text,
    Thinking, ToolCall, ToolResult,
};

const APIS: [&str; 3] = ["anthropic", "openai-responses", "openai-chat"];

fn recipient(api: &str) -> Recipient {
    let mut recipient = Recipient::new(api);
    match api {
        "anthropic" => {
            recipient.thinking = ThinkingRule::Signed;
            recipient.first = FirstRule::User;
        }
        "openai-chat" => recipient.media = MediaRule::Described,
        _ => {}
    }
    recipient.output_bytes = 200;
    recipient
}

fn json(text: &str) -> Json {
    Json::of(&text).unwrap()
}

fn block() -> impl Strategy<Value = Block> {
    let id = prop::sample::select(vec!["a", "b", "c", "d"]);
    prop_oneof![
        prop::sample::select(vec!["", " ", "hello", "größer"])
            .prop_map(|text| Block::Text(Text { text: text.to_owned(), extra: Fields::new() })),
        prop::option::of(Just("sig".to_owned())).prop_map(|signature| {
            Block::Thinking(Thinking { text: "hm".to_owned(), signature, extra: Fields::new() })
        }),
        id.clone().prop_map(|id| {
            Block::ToolCall(ToolCall {
                id: id.to_owned(),
                name: "read".to_owned(),
                input: Json::parse("{}").unwrap(),
                extra: Fields::new(),
            })
        }),
        (id, prop::sample::select(vec![0_usize, 5, 500])).prop_map(|(id, length)| {
            Block::ToolResult(ToolResult {
                call_id: id.to_owned(),
                output: json(&"é".repeat(length)),
                is_error: false,
                extra: Fields::new(),
            })
        }),
        Just(Block::Media(Media {
            kind: MediaKind::Image,
            mime_type: "image/png".to_owned(),
            data: Some("AAAA".to_owned()),
            uri: None,
            extra: Fields::new(),
        })),
        Just(Block::Snapshot(Snapshot { data: json("state"), extra: Fields::new() })),
        Just(Block::Other(Other { kind: "web_search_call".to_owned(), fields: Fields::new() })),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    let role = prop::sample::select(Role::ALL.to_vec());
    let api = prop::option::of(prop::sample::select(APIS.to_vec()));
    (role, prop::collection::vec(block(), 0..4), api).prop_map(|(role, blocks, api)| {
        let mut message = Message::new(role, blocks);
        if let Some(api) = api {
            message.extra.set("api", json(api));
        }
        message
    })
}

fn path() -> impl Strategy<Value = Vec<StoredMessage>> {
    let summary = Compaction::default().to_message("so far").unwrap();
    let either = prop_oneof![9 => message(), 1 => Just(summary)];
    prop::collection::vec((either, any::<bool>()), 0..12).prop_map(|messages| {
        let stored = messages.into_iter().zip(1..).map(|((message, is_pinned), seq)| StoredMessage {
            id: format!("m{seq}").parse().unwrap(),
            parent: None,
            seq,
            turn: seq,
            digest: Digest::chain(None, b""),
            is_pinned,
            message,
        });
        stored.collect()
    })
}

/// What is wrong with a view, as a strict provider would say it.
fn objections(view: &View<'_>, recipient: &Recipient) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut known = HashSet::new();
    let mut open: Vec<String> = Vec::new();
    for viewed in &view.messages {
        let message = &viewed.message;
        if message.role != Role::Tool && !open.is_empty() {
            wrong.push(format!("calls without results: {open:?}"));
            open.clear();
        }
        if message.blocks.is_empty() {
            wrong.push("an empty message".to_owned());
        }
        for block in &message.blocks {
            match block {
                Block::Text(text) if text.text.trim().is_empty() => wrong.push("an empty text".to_owned()),
                Block::ToolCall(_) if message.role != Role::Assistant => {
                    wrong.push("a stray call".to_owned())
                }
                Block::ToolCall(call) => {
                    if !known.insert(call.id.clone()) {
                        wrong.push(format!("`{}` twice", call.id));
                    }
                    open.push(call.id.clone());
                }
                Block::ToolResult(result) => match open.iter().position(|id| *id == result.call_id) {
                    Some(place) if message.role == Role::Tool => drop(open.remove(place)),
                    _ => wrong.push(format!("an orphan result for `{}`", result.call_id)),
                },
                Block::Thinking(thinking)
                    if thinking.signature.is_none() && recipient.thinking == ThinkingRule::Signed =>
                {
                    wrong.push("unsigned thinking".to_owned());
                }
                Block::Thinking(_) | Block::Other(_) => {
                    let api = message.extra.field("api").and_then(|api| api.to::<String>().ok());
                    if message.role != Role::Assistant || api.as_deref() != Some(&recipient.api) {
                        wrong.push("something foreign".to_owned());
                    }
                }
                Block::Media(_) if recipient.media == MediaRule::Described => {
                    wrong.push("an image".to_owned());
                }
                _ => {}
            }
        }
    }
    if !open.is_empty() {
        wrong.push(format!("calls without results at the end: {open:?}"));
    }
    if recipient.first == FirstRule::User
        && view.messages.first().is_some_and(|first| first.message.role != Role::User)
    {
        wrong.push("a user does not speak first".to_owned());
    }
    wrong
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn any_history_gives_a_valid_view(path in path()) {
        for recipient in APIS.map(recipient) {
            let view = view(&Said::all(&path), &[], &recipient);

            prop_assert_eq!(objections(&view, &recipient), Vec::<String>::new());
        }
    }

    #[test]
    fn a_view_of_what_needs_no_repair_is_the_same_again(path in path()) {
        for recipient in APIS.map(recipient) {
            let once = view(&Said::all(&path), &[], &recipient);
            let again: Vec<StoredMessage> = once.messages.iter().zip(1..).map(|(viewed, seq)| StoredMessage {
                id: format!("v{seq}").parse().unwrap(),
                parent: None,
                seq,
                turn: seq,
                digest: Digest::chain(None, b""),
                is_pinned: false,
                message: viewed.message.clone().into_owned(),
            }).collect();
            let twice = view(&Said::all(&again), &[], &recipient);

            let messages = |view: &View<'_>| view.messages.iter().map(|viewed| viewed.message.clone().into_owned()).collect::<Vec<_>>();
            prop_assert_eq!(messages(&twice), messages(&once));
        }
    }

    #[test]
    fn saying_more_keeps_the_beginning_of_the_view(path in path()) {
        let mut longer = path.clone();
        longer.push(StoredMessage {
            id: "more".parse().unwrap(),
            parent: None,
            seq: 99,
            turn: 99,
            digest: Digest::chain(None, b""),
            is_pinned: false,
            message: Message::user("more"),
        });
        for recipient in APIS.map(recipient) {
            let (before, after) = (view(&Said::all(&path), &[], &recipient), view(&Said::all(&longer), &[], &recipient));

            prop_assert_eq!(&after.messages[..before.messages.len()], &before.messages[..]);
        }
    }
}
