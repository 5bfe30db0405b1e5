//! What can happen to a history: files that were cut, merged or edited, imports, other programs, crashes.

use rejoin::view::{Compaction, KeptMessage};
use rejoin::{
    Block, Fields, Json, MediaKind, Message, MessageId, Other, Role, Summary, Text, Thinking, ToolResult,
};

use crate::damaged::spoken::{APIS, Replies, media, pick};
use crate::dice::Dice;

/// A message on a damaged path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) message: Message,
    pub(crate) is_pinned: bool,
}

impl From<Message> for Entry {
    fn from(message: Message) -> Self {
        Self { message, is_pinned: false }
    }
}

/// The id of the message at a place of a path.
pub(crate) fn id_at(place: usize) -> MessageId {
    format!("m{place}").parse().unwrap()
}

/// Damages a history a few times.
pub(crate) fn damage(messages: Vec<Message>, replies: &Replies, dice: &mut Dice) -> Vec<Entry> {
    let mut path: Vec<Entry> = messages.into_iter().map(Entry::from).collect();
    for number in 0..dice.below(7) {
        if path.is_empty() {
            break;
        }
        let place = dice.below(path.len() as u64) as usize;
        match dice.below(3) {
            0 => move_messages(&mut path, place, dice),
            1 => add_message(&mut path, place, 100 + number as usize, replies, dice),
            _ => change_message(&mut path[place], dice),
        }
    }
    path
}

/// Deletes, repeats, cuts and reorders.
fn move_messages(path: &mut Vec<Entry>, place: usize, dice: &mut Dice) {
    let other = dice.below(path.len() as u64) as usize;
    match dice.below(6) {
        0 => drop(path.remove(place)),
        1 => path.insert(other, path[place].clone()),
        2 => path.truncate(place + 1),
        3 => drop(path.drain(..place)),
        4 => path.swap(place, other),
        _ => path[place].is_pinned = true,
    }
}

/// Adds what another program, a crash or a compaction leaves.
fn add_message(path: &mut Vec<Entry>, place: usize, number: usize, replies: &Replies, dice: &mut Dice) {
    let api = *pick(dice, &APIS);
    let message = match dice.below(9) {
        0 => replies.some(api, dice, number),
        1 => replies.paused(number),
        2 => Message::new(Role::Assistant, Vec::new()),
        3 => Message::user("(interrupted)"),
        4 => Message::new(Role::System, vec![Block::text("Be careful.")]),
        5 => Message::new(Role::Tool, vec![some_block(dice)]),
        6 => Message::assistant("I was interrupted. \n"),
        7 => {
            let kept = (0..dice.below(4)).map(|_| {
                let text = (dice.below(2) == 0).then(|| "cut".to_owned());
                KeptMessage { message: id_at(dice.below(1 + place as u64) as usize), text }
            });
            let mut compaction = Compaction::default();
            compaction.kept = kept.collect();
            compaction.to_message("So far.").unwrap()
        }
        _ => {
            let role = *pick(dice, &Role::ALL);
            let summary = Summary { text: "Of another program.".to_owned(), extra: Fields::new() };
            Message::new(role, vec![Block::Summary(summary), some_block(dice)])
        }
    };
    path.insert(place, message.into());
}

fn change_message(entry: &mut Entry, dice: &mut Dice) {
    let message = &mut entry.message;
    let place = dice.below(1 + message.blocks.len() as u64) as usize;
    match dice.below(8) {
        0 => message.blocks.insert(place, some_block(dice)),
        1 => message.role = *pick(dice, &Role::ALL),
        2 => set_extra(message, "api", dice),
        3 => set_extra(message, "provider", dice),
        4 if place < message.blocks.len() => drop(message.blocks.remove(place)),
        5 if place < message.blocks.len() => message.blocks.insert(place, message.blocks[place].clone()),
        _ => {
            if let Some(block) = message.blocks.get_mut(place) {
                change_block(block, dice);
            }
        }
    }
}

fn set_extra(message: &mut Message, name: &str, dice: &mut Dice) {
    let names = ["anthropic", "openai-responses", "openai-chat", "mine", "theirs"];
    match dice.below(3) {
        0 => drop(message.extra.remove(name)),
        _ => message.extra.set(name, Json::of(pick(dice, &names)).unwrap()),
    }
}

/// A block that may not belong where it is put.
fn some_block(dice: &mut Dice) -> Block {
    let object = Json::parse("{}").unwrap();
    let text = |text: &str| Json::of(&text).unwrap();
    match dice.below(12) {
        0 => Block::text(" "),
        1 => Block::Thinking(Thinking { text: "hm".to_owned(), ..Thinking::default() }),
        2 => Block::Thinking(Thinking {
            text: String::new(),
            signature: Some("EqQBCkgI".to_owned()),
            ..Thinking::default()
        }),
        3 => Block::tool_call("stray", "read", object),
        4 => Block::tool_call("files.read:0", "files.read", text("not an object")),
        5 => Block::tool_result("stray", text("lost")),
        6 => Block::tool_result("nobody", text("asked")),
        7 => media(MediaKind::Image, "image/tiff", Some("SUkqAA=="), None),
        8 => media(MediaKind::Image, "image/png", Some(""), Some("file:///a.png")),
        9 => media(MediaKind::Audio, "audio/wav", Some("UklGRg=="), None),
        10 => {
            let mut fields = Fields::new();
            fields.set("id", text("srvtoolu_lost"));
            fields.set("name", text("web_search"));
            fields.set("input", object);
            Block::Other(Other { kind: "server_tool_use".to_owned(), fields })
        }
        _ => {
            let mut fields = Fields::new();
            fields.set("id", text("ws_lost"));
            fields.set("status", text("completed"));
            fields.set("action", Json::parse(r#"{"type":"search","query":"lost"}"#).unwrap());
            Block::Other(Other { kind: "web_search_call".to_owned(), fields })
        }
    }
}

/// Changes what a block says, and keeps its kind.
fn change_block(block: &mut Block, dice: &mut Dice) {
    let id = match dice.below(4) {
        0 => "x".repeat(100),
        1 => "call.with/odd letters".to_owned(),
        2 => String::new(),
        _ => "stray".to_owned(),
    };
    match block {
        Block::Text(Text { text, .. }) => match dice.below(3) {
            0 => text.clear(),
            1 => *text = " \n".to_owned(),
            _ => text.truncate(text.floor_char_boundary(3)),
        },
        Block::Thinking(thinking) => match dice.below(4) {
            0 => thinking.signature = None,
            1 => thinking.signature = Some(String::new()),
            2 => thinking.extra = Fields::new(),
            _ => unseal(&mut thinking.extra),
        },
        Block::ToolCall(call) => match dice.below(5) {
            0 => call.name = "server.read file".to_owned(),
            1 => call.name = "n".repeat(200),
            2 => call.input = Json::of(&"{\"path\": \"cut o").unwrap(),
            3 => call.extra = Fields::new(),
            _ => call.id = id,
        },
        Block::ToolResult(ToolResult { call_id, output, .. }) => match dice.below(20) {
            0 => *output = Json::of(&"é".repeat(600_000)).unwrap(),
            1..10 => *output = Json::parse("null").unwrap(),
            _ => *call_id = id,
        },
        Block::Media(media) => media.data = Some("not base64!".to_owned()),
        Block::Summary(Summary { text, .. }) => text.clear(),
        Block::Other(other) => drop(other.fields.remove("tool_use_id")),
        _ => {}
    }
}

/// Takes the content out of reasoning that only its provider can read.
fn unseal(extra: &mut Fields) {
    let item = extra.field("item").and_then(|item| item.to::<Fields>().ok());
    if let Some(mut item) = item {
        item.remove("encrypted_content");
        extra.set("item", Json::of(&item).unwrap());
    }
}
