//! One conversation of an export.

use std::collections::HashMap;
use std::path::Path;

use serde_json::value::RawValue;

use crate::error::Result;
use crate::formats::claude_ai::content::{self, Section};
use crate::formats::raw_object::RawObject;
use crate::formats::thread_builder::ThreadBuilder;
use crate::formats::topological_order::{TreeNode, parents_first};
use crate::formats::{Reading, SourceConversation, SourceMessage};
use crate::model::{Json, Message, Time};

/// The parent id of a first message.
const NOBODY: &str = "00000000-0000-4000-8000-000000000000";

/// A message of the export.
struct ExportMessage<'a> {
    raw: &'a RawValue,
    id: String,
    parent: Option<String>,
    created: Option<Time>,
    sections: Vec<Section>,
}

/// Reads a complete conversation.
pub(super) fn read(path: &Path, text: &str, number: u64, reading: &mut Reading<'_>) -> Result<()> {
    let Ok(mut found) = serde_json::from_str::<RawObject<'_>>(text) else {
        return reading.skip(path, number, "it is not a conversation");
    };
    let messages =
        found.raw("chat_messages").and_then(|raw| serde_json::from_str::<Vec<&RawValue>>(raw.get()).ok());
    let (Some(messages), Some(id)) = (messages, found.text("uuid")) else {
        return reading.skip(path, number, "it has no id, or no messages");
    };
    let mut entries: Vec<ExportMessage<'_>> = Vec::new();
    for (place, raw) in messages.into_iter().enumerate() {
        let above = entries.last().map(|above| above.id.clone());
        match entry(raw, above) {
            Some(entry) => entries.push(entry),
            None => reading.skip(path, number, format!("message {} cannot be read", place + 1))?,
        }
    }
    if entries.iter().all(|entry| entry.sections.is_empty()) {
        return Ok(());
    }
    let created =
        found.raw("created_at").and_then(time).or_else(|| entries.iter().find_map(|entry| entry.created));
    let mut conversation = SourceConversation::new(id, created.unwrap_or_default());
    conversation.header.title = found.text("name").filter(|name| !name.trim().is_empty());
    conversation.header.settings.provider = Some("anthropic".to_owned());
    conversation.header.settings.model = found.text("model");
    let newest =
        found.text("current_leaf_message_uuid").or_else(|| entries.last().map(|entry| entry.id.clone()));
    tell(conversation, &about(&found)?, &entries, newest, number, reading)
}

fn tell(
    conversation: SourceConversation,
    about: &str,
    entries: &[ExportMessage<'_>],
    newest: Option<String>,
    number: u64,
    reading: &mut Reading<'_>,
) -> Result<()> {
    let mut thread = ThreadBuilder::announced(conversation, reading)?;
    // Asides have no line number: the position of a conversation changes from export to export.
    thread.aside(0, about, reading)?;
    let nodes: Vec<TreeNode<'_>> = entries
        .iter()
        .map(|entry| TreeNode { id: &entry.id, parent: entry.parent.as_deref(), rank: 0 })
        .collect();
    // The message that a message's children follow: its last section, or its parent if it is empty.
    let mut follows: HashMap<&str, Option<String>> = HashMap::new();
    for place in parents_first(&nodes) {
        let entry = &entries[place];
        let above = entry.parent.as_deref();
        let mut parent =
            above.and_then(|above| follows.get(above).cloned().unwrap_or(Some(above.to_owned())));
        if entry.sections.is_empty() {
            thread.aside(0, entry.raw.get(), reading)?;
        }
        for (count, section) in entry.sections.iter().enumerate() {
            let name = if count == 0 { entry.id.clone() } else { format!("{}/{count}", entry.id) };
            let mut message = Message::new(section.role, section.blocks.clone());
            message.created_at = entry.created;
            // The source text is stored once, with the first section.
            let source = if count == 0 {
                entry.raw.get().to_owned()
            } else {
                Json::of(&section.blocks)?.as_str().to_owned()
            };
            let message = thread.message(name.as_str(), parent.replace(name.clone()), message);
            thread.add(SourceMessage { line: number, source, ..message }, reading)?;
        }
        follows.insert(&entry.id, parent);
    }
    let head = newest.and_then(|newest| follows.remove(newest.as_str()).flatten());
    thread.finish(head, reading)?;
    thread.complete(reading)
}

/// Parses one message. Without a named parent, it follows the previous one.
fn entry(raw: &RawValue, above: Option<String>) -> Option<ExportMessage<'_>> {
    let mut found: RawObject<'_> = serde_json::from_str(raw.get()).ok()?;
    let id = found.text("uuid")?;
    let parent = match found.text("parent_message_uuid") {
        Some(parent) => (parent != NOBODY).then_some(parent),
        None => above,
    };
    let created = found.raw("created_at").and_then(time);
    let sections = content::read(&id, &mut found);
    Some(ExportMessage { raw, id, parent, created, sections })
}

fn time(raw: &RawValue) -> Option<Time> {
    serde_json::from_str(raw.get()).ok()
}

/// Returns the conversation's own fields, without the messages.
fn about(found: &RawObject<'_>) -> Result<String> {
    let mut fields = found.all();
    fields.remove("chat_messages");
    Ok(Json::of(&fields)?.as_str().to_owned())
}
