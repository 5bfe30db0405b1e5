//! Writes a record per leaf, encrypted if there is a key.

use std::path::PathBuf;

use crate::error::Result;
use crate::formats::agent_voice::schema::{ConversationRecord, MessageFrame, StorageEnvelope};
use crate::formats::agent_voice::{envelope, frame, record};
use crate::formats::branch_paths::{files, main_first};
use crate::formats::{Key, SourceConversation, SourceMessage, Tree, WrittenFile};

/// Where the program keeps its records, relative to the storage of a workspace.
const PLACE: &str = "agentvoice/conversations";

/// How many digits of a hash are in a file name.
const NAME: usize = 32;

pub(super) fn write(tree: &Tree) -> Result<Vec<WrittenFile>> {
    let mut written = Vec::new();
    for conversation in main_first(tree)? {
        for (name, path) in files(tree, conversation) {
            written.push(file(conversation, &name.to_string(), &path, tree.key.as_ref())?);
        }
    }
    Ok(written)
}

fn file(
    conversation: &SourceConversation,
    name: &str,
    path: &[&SourceMessage],
    key: Option<&Key>,
) -> Result<WrittenFile> {
    let mut time = conversation.created_at;
    let mut frames: Vec<MessageFrame> = Vec::new();
    for found in path {
        time = found.message.created_at.unwrap_or(time);
        frames.push(frame::write(found, frames.len() as u64 + 1, time));
    }
    let ending = if key.is_some() { "vpconv" } else { "json" };
    let place = PathBuf::from(PLACE).join(format!("{}.{ending}", &envelope::hash(name.as_bytes())[..NAME]));
    let mut record = record::write(conversation, name, path, frames);
    let text = |record: &ConversationRecord| serde_json::to_string(record).expect("a record is plain data");
    let before = text(&record);
    record.storage = StorageEnvelope {
        blob_uri: place.to_string_lossy().into_owned(),
        blob_version: 1,
        size_bytes: before.len() as u64,
        checksum: envelope::hash(before.as_bytes()),
        last_compacted_at: None,
    };
    let bytes = match key {
        Some(key) => envelope::seal(name, conversation.created_at, &text(&record), key)?,
        None => text(&record) + "\n",
    };
    Ok(WrittenFile { path: place, bytes: bytes.into_bytes() })
}
