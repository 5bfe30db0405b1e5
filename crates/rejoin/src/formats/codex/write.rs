//! Writes rollouts that Codex can resume.
//!
//! Writes the older of the two forms, because only that one shows its turns before it is resumed. Leaves out
//! what makes the program refuse, warn or summarize: the model provider and the turn contexts.

use std::path::PathBuf;

use serde_json::{Value, json};
use uuid::Uuid;

use crate::error::Result;
use crate::formats::branch_paths::{files, main_first};
use crate::formats::codex::items;
use crate::formats::derived_uuid::uuid_of;
use crate::formats::{INJECTED, SourceConversation, SourceKept, SourceMessage, Tree, WrittenFile};
use crate::model::{Block, Message, Role, Time};

pub(super) fn write(tree: &Tree) -> Result<Vec<WrittenFile>> {
    let mut written = Vec::new();
    for conversation in main_first(tree)? {
        for (id, path) in files(tree, conversation) {
            written.push(RolloutWriter::write(conversation, &path, id));
        }
    }
    Ok(written)
}

/// One file while it is written.
struct RolloutWriter {
    bytes: Vec<u8>,
    time: Time,
    /// The open turn, and the model's last text in it.
    turn: Option<(String, Option<String>)>,
}

impl RolloutWriter {
    fn write(conversation: &SourceConversation, path: &[&SourceMessage], id: Uuid) -> WrittenFile {
        let created = conversation.created_at;
        let mut file = Self { bytes: Vec::new(), time: created, turn: None };
        file.write_meta(conversation, id);
        for (place, found) in path.iter().enumerate() {
            file.time = found.message.created_at.unwrap_or(file.time);
            file.write_message(found, &path[..place]);
        }
        file.end_turn();
        let stamp = created.to_string();
        let (date, clock) = (stamp[..10].replace('-', "/"), stamp[..19].replace(':', "-"));
        let name = format!("rollout-{clock}-{id}.jsonl");
        WrittenFile { path: PathBuf::from("sessions").join(date).join(name), bytes: file.bytes }
    }

    fn write_meta(&mut self, conversation: &SourceConversation, id: Uuid) {
        let header = &conversation.header;
        let mut payload = json!({
            "id": id.to_string(),
            "session_id": id.to_string(),
            "timestamp": conversation.created_at,
            "cwd": header.project.as_deref().unwrap_or("/"),
            "originator": "rejoin",
            "cli_version": env!("CARGO_PKG_VERSION"),
            "source": "cli",
        });
        let own = uuid_of(&conversation.id);
        if own != id {
            payload["forked_from_id"] = json!(own.to_string());
        }
        if let Some(parent) = &conversation.parent {
            payload["parent_thread_id"] = json!(uuid_of(&parent.conversation).to_string());
            payload["agent_nickname"] = json!(parent.name);
            payload["thread_source"] = json!("subagent");
        }
        self.put("session_meta", payload, &json!({ "title": header.title }));
    }

    fn write_message(&mut self, found: &SourceMessage, before: &[&SourceMessage]) {
        let message = &found.message;
        if let Some(text) = summary_of(message) {
            self.end_turn();
            let mut history: Vec<Value> = before.iter().flat_map(|other| kept(other, &found.keeps)).collect();
            history.extend(items::write(&Message::user(text)));
            let tag = json!({"id": found.id, "message": shell(message), "keeps": found.keeps});
            return self.put("compacted", json!({"message": text, "replacement_history": history}), &tag);
        }
        let is_prompt = message.role == Role::User && message.extra.field(INJECTED).is_none();
        if is_prompt {
            self.end_turn();
            self.begin_turn(&found.id);
        }
        let mut tag = json!({"id": found.id, "message": shell(message)});
        let failed = message.blocks.iter().filter_map(|block| match block {
            Block::ToolResult(result) => Some(result.is_error),
            _ => None,
        });
        let mut failed: Vec<bool> = failed.collect();
        failed.reverse();
        for item in items::write(message) {
            if item["output"].is_string() || item["output"].is_array() {
                tag["is_error"] = json!(failed.pop().unwrap_or(false));
            }
            if item["role"] == "assistant" {
                self.write_event(&json!({"type": "agent_message", "message": text_of(&item)}));
                if let Some((_, last)) = &mut self.turn {
                    *last = Some(text_of(&item));
                }
            }
            self.put("response_item", item, &tag);
            tag = json!({ "id": found.id });
        }
        if is_prompt {
            let event = json!({
                "type": "user_message", "message": message.text(),
                "images": [], "local_images": [], "text_elements": [],
            });
            self.write_event(&event);
        }
    }

    fn begin_turn(&mut self, id: &str) {
        let turn = uuid_of(&format!("turn/{id}")).to_string();
        self.write_event(&json!({"type": "task_started", "turn_id": turn, "model_context_window": null}));
        self.turn = Some((turn, None));
    }

    /// An unfinished turn would look interrupted.
    fn end_turn(&mut self) {
        if let Some((turn, last)) = self.turn.take() {
            self.write_event(&json!({"type": "task_complete", "turn_id": turn, "last_agent_message": last}));
        }
    }

    fn write_event(&mut self, payload: &Value) {
        self.put("event_msg", payload.clone(), &Value::Null);
    }

    fn put(&mut self, kind: &str, payload: Value, tag: &Value) {
        let mut line = json!({"timestamp": self.time, "type": kind, "payload": payload});
        if !tag.is_null() {
            line["rejoin"] = tag.clone();
        }
        self.bytes.extend_from_slice(line.to_string().as_bytes());
        self.bytes.push(b'\n');
    }
}

/// Returns the items of a kept message, as far as the compaction keeps it.
fn kept(message: &SourceMessage, keeps: &[SourceKept]) -> Vec<Value> {
    match keeps.iter().find(|kept| kept.message == message.id) {
        None => Vec::new(),
        Some(SourceKept { text: None, .. }) => items::write(&message.message),
        Some(SourceKept { text: Some(text), .. }) => items::write(&Message::user(text.clone())),
    }
}

/// Returns a message without its blocks: what the format cannot hold.
fn shell(message: &Message) -> Message {
    let mut shell = message.clone();
    shell.blocks = Vec::new();
    shell
}

fn summary_of(message: &Message) -> Option<&str> {
    message.blocks.iter().find_map(|block| match block {
        Block::Summary(summary) => Some(summary.text.as_str()),
        _ => None,
    })
}

fn text_of(item: &Value) -> String {
    let parts = item["content"].as_array().into_iter().flatten();
    parts.filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
}
