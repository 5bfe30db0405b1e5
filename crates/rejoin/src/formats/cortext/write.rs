//! Writes the folder of a conversation, and one for each of its other branches.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::Result;
use crate::formats::branch_paths::{main_first, paths};
use crate::formats::cortext::{MESSAGES, SESSION, STATE, markdown, session};
use crate::formats::tag::MessageTag;
use crate::formats::{SourceConversation, SourceMessage, Tree, WrittenFile, content};
use crate::model::{Block, Fields, Json, Message, Role, Time, preview, slug};

/// Where the program keeps its conversations, relative to the workspace.
const CONVERSATIONS: &str = "conversations";

/// The maximum number of characters of the topic in the name of a folder.
const TOPIC: usize = 48;

const DAY: i64 = 86_400_000_000;

#[derive(Serialize)]
struct CortextLine<'a> {
    role: Role,
    content: &'a str,
    timestamp: Time,
    rejoin: MessageTag,
}

pub(super) fn write(tree: &Tree) -> Result<Vec<WrittenFile>> {
    let mut files = Vec::new();
    let mut taken = HashSet::new();
    for conversation in main_first(tree)? {
        for path in paths(tree, conversation) {
            let title = title_of(conversation, &path);
            let name = free_name(name_of(conversation, &title), &mut taken);
            files.extend(folder(conversation, &name, &title, &path));
        }
    }
    Ok(files)
}

fn folder(
    conversation: &SourceConversation,
    name: &str,
    title: &str,
    path: &[&SourceMessage],
) -> [WrittenFile; 3] {
    let date: String = conversation.created_at.to_string().chars().take_while(|c| *c != 'T').collect();
    let folder = PathBuf::from(CONVERSATIONS).join(date).join(name);
    let text = |path: &Path, text: String| WrittenFile { path: folder.join(path), bytes: text.into_bytes() };
    let session = Path::new(SESSION);
    [
        text(&session.join(STATE), session::write(conversation, name, path)),
        text(&session.join(MESSAGES), messages(conversation, path)),
        text(Path::new(&format!("{}.md", kind_of(conversation))), markdown::write(title, path)),
    ]
}

fn messages(conversation: &SourceConversation, path: &[&SourceMessage]) -> String {
    let mut text = String::new();
    let mut timestamp = conversation.created_at;
    for found in path {
        timestamp = found.message.created_at.unwrap_or(timestamp);
        let said = content::spoken(&found.message);
        let mut plain = Message::new(found.message.role, vec![Block::text(said.as_str())]);
        plain.created_at = Some(timestamp);
        let rejoin = MessageTag::of(found, &said, Some(&plain));
        let line = CortextLine { role: found.message.role, content: &said, timestamp, rejoin };
        text.push_str(&serde_json::to_string(&line).expect("a line is plain data"));
        text.push('\n');
    }
    text
}

/// Returns the title, or the beginning of the first message.
fn title_of(conversation: &SourceConversation, path: &[&SourceMessage]) -> String {
    let own = conversation.header.title.clone().filter(|title| !title.trim().is_empty());
    let first = || {
        let asked = path.iter().find(|found| found.message.role == Role::User);
        asked.map(|found| preview(&found.message.text())).filter(|text| !text.is_empty())
    };
    own.or_else(first).unwrap_or_else(|| "Untitled".to_owned())
}

/// Returns the program's name of the conversation, or a name of the same form.
fn name_of(conversation: &SourceConversation, title: &str) -> String {
    let own = conversation.header.extra.field(session::OWN).and_then(|own| own.to::<Fields>().ok());
    let own = own.and_then(|own| own.field("conversation_id").and_then(|id| Json::to::<String>(id).ok()));
    if let Some(own) = own.filter(|own| is_name(own)) {
        return own;
    }
    let of_day = conversation.created_at.as_micros().rem_euclid(DAY);
    let number = 1 + of_day / (DAY / 999 + 1);
    let topic: String = slug(title).chars().take(TOPIC).collect();
    let topic = if topic.is_empty() { "untitled" } else { topic.trim_end_matches('-') };
    format!("{number:03}-{}-{topic}", kind_of(conversation))
}

/// Returns an unused name: the name itself, or with the first free number appended.
fn free_name(name: String, taken: &mut HashSet<String>) -> String {
    let mut free = name.clone();
    let mut number = 2;
    while !taken.insert(free.clone()) {
        free = format!("{name}-{number}");
        number += 1;
    }
    free
}

/// Accepts only names from a file that cannot lead outside the directory.
fn is_name(name: &str) -> bool {
    let is_plain = |letter: char| letter.is_alphanumeric() || letter == '-' || letter == '_';
    (1..=100).contains(&name.len()) && name.chars().all(is_plain)
}

fn kind_of(conversation: &SourceConversation) -> String {
    let kind: String = slug(&conversation.header.kind).chars().take(TOPIC).collect();
    if kind.is_empty() { "chat".to_owned() } else { kind }
}
