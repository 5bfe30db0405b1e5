//! Writes a file per leaf, a line per turn.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::error::Result;
use crate::formats::branch_paths::{files, main_first};
use crate::formats::cody::items;
use crate::formats::cody::line::{self, CodyTag};
use crate::formats::tag::{ConversationTag, MessageTag};
use crate::formats::{SourceConversation, SourceMessage, Tree, WrittenFile};
use crate::model::{Block, Message, Role, Summary, Time};

#[derive(Serialize)]
struct TurnLine<'a> {
    timestamp: i64,
    items: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Value>,
    rejoin: CodyTag,
}

#[derive(Serialize)]
struct CompactionLine<'a> {
    r#type: &'static str,
    timestamp: i64,
    summary: &'a str,
    #[serde(rename = "truncatedCount")]
    truncated: u64,
    rejoin: CodyTag,
}

pub(super) fn write(tree: &Tree) -> Result<Vec<WrittenFile>> {
    let mut written = Vec::new();
    for conversation in main_first(tree)? {
        let ends = ends(tree, conversation);
        for (name, path) in files(tree, conversation) {
            let bytes = file(conversation, &path, &ends);
            let path = PathBuf::from("conversations").join(format!("{name}.jsonl"));
            written.push(WrittenFile { path, bytes });
        }
    }
    Ok(written)
}

/// Returns the messages after which a line ends, because another file continues differently there.
fn ends<'a>(tree: &'a Tree, conversation: &'a SourceConversation) -> HashSet<&'a str> {
    let mut children: HashMap<&str, usize> = HashMap::new();
    for parent in tree.messages_of(&conversation.id).filter_map(|found| found.parent.as_deref()) {
        *children.entry(parent).or_default() += 1;
    }
    let forks = children.into_iter().filter(|(_, count)| *count > 1).map(|(id, _)| id);
    forks.chain(conversation.head.as_deref()).collect()
}

fn file(conversation: &SourceConversation, path: &[&SourceMessage], ends: &HashSet<&str>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut time = conversation.created_at;
    let mut rest = path;
    while let Some(length) = turn(rest, ends) {
        let (turn, after) = rest.split_at(length);
        rest = after;
        time = turn[0].message.created_at.unwrap_or(time);
        let first = bytes.is_empty().then_some(conversation);
        match summary_of(turn) {
            Some(summary) => put(&mut bytes, &compacted(turn, summary, first, time)),
            None => write_turn(&mut bytes, turn, first, time),
        }
    }
    bytes
}

/// Returns how many messages the next line has: a prompt, or a whole reply.
fn turn(path: &[&SourceMessage], ends: &HashSet<&str>) -> Option<usize> {
    let is_answer = |found: &SourceMessage| matches!(found.message.role, Role::Assistant | Role::Tool);
    let first = path.first()?;
    if !is_answer(first) {
        return Some(1);
    }
    let goes_on = |place: usize| is_answer(path[place]) && !ends.contains(path[place - 1].id.as_str());
    Some((1..path.len()).find(|place| !goes_on(*place)).unwrap_or(path.len()))
}

/// Returns the summary of a turn that is a summary and nothing else.
fn summary_of<'a>(turn: &[&'a SourceMessage]) -> Option<&'a Summary> {
    match turn {
        [found] => match found.message.blocks.as_slice() {
            [Block::Summary(summary)] if found.message.role == Role::User => Some(summary),
            _ => None,
        },
        _ => None,
    }
}

fn compacted<'a>(
    turn: &[&SourceMessage],
    summary: &'a Summary,
    first: Option<&SourceConversation>,
    time: Time,
) -> CompactionLine<'a> {
    let truncated = line::truncated(summary);
    let block = Block::Summary(line::summary(summary.text.clone(), truncated));
    let plain = Message::new(Role::User, vec![block]);
    CompactionLine {
        r#type: "compacted",
        timestamp: time.as_micros() / 1_000,
        summary: &summary.text,
        truncated,
        rejoin: tag(turn, &summary.text, vec![plain], first, time),
    }
}

fn write_turn(bytes: &mut Vec<u8>, turn: &[&SourceMessage], first: Option<&SourceConversation>, time: Time) {
    let written: Vec<Value> = turn.iter().flat_map(|found| items::write(&found.message)).collect();
    let items = serde_json::value::to_raw_value(&written).expect("items are JSON");
    let plain = items::read(&items).into_iter().map(|found| found.message).collect();
    let line = TurnLine {
        timestamp: time.as_micros() / 1_000,
        items: &items,
        metadata: metadata(turn, first),
        rejoin: tag(turn, items.get(), plain, first, time),
    };
    put(bytes, &line);
}

/// The metadata of a line: provider and model on the first one, and the usage of a reply.
fn metadata(turn: &[&SourceMessage], first: Option<&SourceConversation>) -> Option<Value> {
    let mut metadata = json!({});
    if let Some(settings) = first.map(|conversation| &conversation.header.settings) {
        for (name, value) in [("provider", &settings.provider), ("model", &settings.model)] {
            if let Some(value) = value {
                metadata[name] = json!(value);
            }
        }
    }
    let usages = turn.iter().filter_map(|found| found.message.usage.as_ref());
    let tokens = usages
        .fold(0u64, |sum, usage| sum.saturating_add(usage.input_tokens).saturating_add(usage.output_tokens));
    if tokens > 0 {
        metadata["tokens"] = json!(tokens);
    }
    metadata.as_object().is_some_and(|fields| !fields.is_empty()).then_some(metadata)
}

fn tag(
    turn: &[&SourceMessage],
    said: &str,
    plain: Vec<Message>,
    first: Option<&SourceConversation>,
    time: Time,
) -> CodyTag {
    let rough = Time::from_number(time.as_micros() / 1_000);
    let plain: Vec<Message> = plain.into_iter().map(|message| message.at(rough)).collect();
    let is_each = plain.len() == turn.len();
    let messages = turn.iter().enumerate().map(|(place, found)| {
        let plain = if is_each { plain.get(place) } else { None };
        MessageTag::of(found, said, plain)
    });
    CodyTag { messages: messages.collect(), conversation: first.map(ConversationTag::of) }
}

fn put(bytes: &mut Vec<u8>, line: &impl Serialize) {
    serde_json::to_writer(&mut *bytes, line).expect("a line is plain data");
    bytes.push(b'\n');
}
