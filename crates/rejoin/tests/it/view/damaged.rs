//! Histories as a crash, another program or a careless hand may leave them.

use proptest::prelude::*;
use rejoin::view::{Compaction, KeptMessage, MediaRule, Recipient};
use rejoin::{
    Block, Digest, Fields, Json, Media, MediaKind, Message, Other, Role, Snapshot, StoredMessage, Summary,
    Text, Thinking, ToolCall, ToolResult,
};

pub(crate) const APIS: [&str; 3] = ["anthropic", "openai-responses", "openai-chat"];

/// What each API takes.
pub(crate) fn recipient(api: &str) -> Recipient {
    let mut recipient = match api {
        "anthropic" => Recipient::anthropic(),
        "openai-responses" => Recipient::responses(),
        _ => Recipient::chat(),
    }
    .named("mine");
    recipient.output_bytes = 200;
    if api == "openai-chat" {
        // Some servers take no images.
        recipient.media = MediaRule::Described;
    }
    recipient
}

pub(crate) fn stored(seq: u32, message: Message) -> StoredMessage {
    StoredMessage {
        id: format!("m{seq}").parse().unwrap(),
        parent: None,
        seq,
        turn: seq,
        digest: Digest::chain(None, b""),
        is_pinned: false,
        message,
    }
}

pub(crate) fn json(text: &str) -> Json {
    Json::of(&text).unwrap()
}

fn fields(name: &str, value: &str) -> Fields {
    let mut fields = Fields::new();
    fields.set(name, Json::parse(value).unwrap());
    fields
}

fn media() -> impl Strategy<Value = Media> {
    let kind = prop::sample::select(vec![MediaKind::Image, MediaKind::Audio, MediaKind::File]);
    let mime_type = prop::sample::select(vec!["image/png", "image/svg+xml", "application/pdf"]);
    let data = prop::option::of(prop::sample::select(vec!["", "AAAA"]));
    let uris = vec!["https://example.org/a", "file:///a", "data:image/png;base64,AAAA", "data:odd"];
    let uri = prop::option::of(prop::sample::select(uris));
    (kind, mime_type, data, uri).prop_map(|(kind, mime_type, data, uri)| Media {
        kind,
        mime_type: mime_type.to_owned(),
        data: data.map(str::to_owned),
        uri: uri.map(str::to_owned),
        extra: Fields::new(),
    })
}

fn output() -> impl Strategy<Value = Json> {
    let length = prop::sample::select(vec![0_usize, 5, 500]);
    prop_oneof![
        length.clone().prop_map(|length| json(&"é".repeat(length))),
        Just(Json::parse(r#"{"a": [1.50]}"#).unwrap()),
        (prop::collection::vec(media(), 0..2), length).prop_map(|(media, length)| {
            let texts = ["é".repeat(length), "b".repeat(length)].map(Block::text);
            let blocks: Vec<Block> = texts.into_iter().chain(media.into_iter().map(Block::Media)).collect();
            Json::of(&blocks).unwrap()
        }),
    ]
}

fn item() -> impl Strategy<Value = Other> {
    let id = prop::sample::select(vec![r#""s""#, r#""t""#]);
    let other = |kind: &'static str, field: &'static str| {
        move |id: &str| Other { kind: kind.to_owned(), fields: fields(field, id) }
    };
    prop_oneof![
        id.clone().prop_map(other("server_tool_use", "id")),
        id.clone().prop_map(other("web_search_tool_result", "tool_use_id")),
        id.clone().prop_map(other("custom_tool_call", "call_id")),
        id.clone().prop_map(other("web_search_call", "id")),
        id.clone().prop_map(other("redacted_thinking", "data")),
        id.prop_map(other("", "x")),
    ]
}

pub(crate) fn block() -> impl Strategy<Value = Block> {
    let long = "x".repeat(70);
    let id = prop::sample::select(vec![
        "a".to_owned(),
        "b".to_owned(),
        "a_2".to_owned(),
        "a.b".to_owned(),
        String::new(),
        long,
    ]);
    let name = prop::sample::select(vec!["read", "server.read file", ""]);
    let signature = prop::option::of(prop::sample::select(vec!["", "sig"]));
    let extra = prop::sample::select(vec![Fields::new(), fields("item", "{}")]);
    prop_oneof![
        2 => (prop::sample::select(vec!["", " ", "hello", "größer"]), extra.clone())
            .prop_map(|(text, extra)| Block::Text(Text { text: text.to_owned(), extra })),
        2 => (signature, extra).prop_map(|(signature, extra)| {
            Block::Thinking(Thinking { text: "hm".to_owned(), signature: signature.map(str::to_owned), extra })
        }),
        4 => (id.clone(), name).prop_map(|(id, name)| {
            let input = Json::parse("{}").unwrap();
            Block::ToolCall(ToolCall { id, name: name.to_owned(), input, extra: Fields::new() })
        }),
        4 => (id, output()).prop_map(|(call_id, output)| {
            Block::ToolResult(ToolResult { call_id, output, is_error: false, extra: Fields::new() })
        }),
        1 => media().prop_map(Block::Media),
        1 => Just(Block::Snapshot(Snapshot { data: json("state"), extra: Fields::new() })),
        2 => item().prop_map(Block::Other),
    ]
}

pub(crate) fn message() -> impl Strategy<Value = Message> {
    let role = prop::sample::select(vec![
        Role::User,
        Role::Assistant,
        Role::Assistant,
        Role::Tool,
        Role::Tool,
        Role::System,
    ]);
    let api = prop::option::of(prop::sample::select(APIS.to_vec()));
    let provider = prop::option::of(prop::sample::select(vec!["mine", "mine", "another"]));
    let reply = prop::option::of(prop::sample::select(vec!["", "r1", "r2", "r3"]));
    (role, prop::collection::vec(block(), 0..4), api, provider, reply).prop_map(
        |(role, blocks, api, provider, reply)| {
            let mut message = Message::new(role, blocks);
            for (name, value) in [("api", api), ("provider", provider), ("response_id", reply)] {
                if let Some(value) = value {
                    message.extra.set(name, json(value));
                }
            }
            message
        },
    )
}

/// A summary: of a compaction that keeps some message, of one that cannot be read, or of another program.
fn summary() -> impl Strategy<Value = Message> {
    let kept = (1_u32..12, prop::option::of(Just("cut".to_owned()))).prop_map(|(seq, text)| {
        let mut compaction = Compaction::default();
        compaction.kept = vec![KeptMessage { message: format!("m{seq}").parse().unwrap(), text }];
        compaction.to_message("so far").unwrap()
    });
    let plain =
        |extra| Message::new(Role::User, vec![Block::Summary(Summary { text: "so far".to_owned(), extra })]);
    prop_oneof![kept, Just(plain(Fields::new())), Just(plain(fields("compaction", "7")))]
}

/// A path from the root, with ids `m1`, `m2` and so on.
pub(crate) fn path() -> impl Strategy<Value = Vec<StoredMessage>> {
    let either = prop_oneof![11 => message(), 1 => summary()];
    prop::collection::vec((either, any::<bool>()), 0..12).prop_map(|messages| {
        let numbered = messages.into_iter().zip(1..);
        numbered
            .map(|((message, is_pinned), seq)| StoredMessage { is_pinned, ..stored(seq, message) })
            .collect()
    })
}
