//! Writes a file per leaf, as the program does.

use std::collections::HashMap;
use std::path::PathBuf;

use serde::Serialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::error::Result;
use crate::formats::branch_paths::{files, main_first};
use crate::formats::derived_uuid::uuid_of;
use crate::formats::envoy::message;
use crate::formats::tag::{ConversationTag, MessageTag};
use crate::formats::{SourceConversation, SourceMessage, Tree, WrittenFile};
use crate::model::{Block, Time, ToolCall};

/// The maximum length of a folder name in bytes; file systems allow 255.
const LONGEST: usize = 200;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EnvoyLine<'a, M, T> {
    timestamp: Time,
    message_index: usize,
    message_type: &'static str,
    session_id: &'a str,
    message: M,
    rejoin: T,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SessionStart<'a> {
    r#type: &'static str,
    project_path: &'a str,
    provider: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    git_commit: Option<&'a str>,
}

pub(super) fn write(tree: &Tree) -> Result<Vec<WrittenFile>> {
    let mut written = Vec::new();
    for conversation in main_first(tree)? {
        for (name, path) in files(tree, conversation) {
            written.push(file(conversation, name, &path));
        }
    }
    Ok(written)
}

/// Writes a file. Shared lines are identical in the files of all branches, including the session id, so that
/// a message read from two files is one message.
fn file(conversation: &SourceConversation, name: Uuid, path: &[&SourceMessage]) -> WrittenFile {
    let header = &conversation.header;
    let session = uuid_of(&conversation.id).to_string();
    let session_id = session.as_str();
    let mut timestamp = conversation.created_at;
    let start = SessionStart {
        r#type: "session-start",
        project_path: header.project.as_deref().unwrap_or_default(),
        provider: header.settings.provider.as_deref().unwrap_or_default(),
        git_commit: header.git_commit.as_deref(),
    };
    let mut bytes = Vec::new();
    let rejoin = ConversationTag::of(conversation);
    let message_type = "session-meta";
    put(
        &mut bytes,
        &EnvoyLine { timestamp, message_index: 0, message_type, session_id, message: start, rejoin },
    );
    let mut calls: HashMap<&str, &ToolCall> = HashMap::new();
    for (place, found) in path.iter().enumerate() {
        timestamp = found.message.created_at.unwrap_or(timestamp);
        let said = message::write(&found.message, &calls);
        let message = serde_json::value::to_raw_value(&said).expect("a message is plain data");
        let line = EnvoyLine {
            timestamp,
            message_index: place + 1,
            message_type: "conversation",
            session_id,
            rejoin: tag(found, &message, timestamp),
            message,
        };
        put(&mut bytes, &line);
        calls.extend(found.message.blocks.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some((call.id.as_str(), call)),
            _ => None,
        }));
    }
    let folder = folder_of(header.project.as_deref().unwrap_or_default());
    let name = format!("{name}.jsonl");
    WrittenFile { path: PathBuf::from("conversations").join(folder).join(name), bytes }
}

/// Returns the tag of a message, without what a reader finds in the line.
fn tag(found: &SourceMessage, message: &RawValue, timestamp: Time) -> MessageTag {
    let mut plain = message::read(message, &|_| true);
    let plain = plain.pop().filter(|_| plain.is_empty()).map(|plain| plain.at(timestamp));
    MessageTag::of(found, message.get(), plain.as_ref())
}

fn put(bytes: &mut Vec<u8>, line: &impl Serialize) {
    serde_json::to_writer(&mut *bytes, line).expect("a line is plain data");
    bytes.push(b'\n');
}

/// Returns the folder name of a project: its path, with underscores for slashes.
fn folder_of(project: &str) -> String {
    let path = project.strip_prefix('/').unwrap_or(project).replace("..", "__");
    let mut name = String::new();
    for letter in path.chars() {
        let is_plain = letter != '/' && letter != '\\' && !letter.is_control();
        let letter = if is_plain { letter } else { '_' };
        if name.len() + letter.len_utf8() > LONGEST {
            break;
        }
        name.push(letter);
    }
    if name.is_empty() || name == "." { "no-project".to_owned() } else { name }
}
