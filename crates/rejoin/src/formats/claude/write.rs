//! Writes sessions that Claude Code can resume.
//!
//! Its requirements were found by experiment: an id and a model on every reply, a list as the content of a
//! reply, a time on every line, parents before children, and a marker at the end that selects the leaf.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};
use uuid::Uuid;

use crate::error::Result;
use crate::formats::claude::blocks::{self, BlockOwner};
use crate::formats::claude::line::INSTRUCTION;
use crate::formats::claude::{FORMAT, paths};
use crate::formats::derived_uuid::uuid_of;
use crate::formats::{INJECTED, SourceConversation, SourceMessage, Tree, WrittenFile};
use crate::model::{Block, Fields, Message, Role, Summary, Time, preview};

/// The model of replies whose model is unknown; the program hangs on a reply without one.
const NO_MODEL: &str = "<synthetic>";

/// The API whose thinking and items the program can send back.
const API: &str = "anthropic";

pub(super) fn write(tree: &Tree) -> Result<Vec<WrittenFile>> {
    let main = tree.main()?;
    let session = uuid_of(&main.id).to_string();
    let directory = paths::directory(main.header.project.as_deref().unwrap_or("/"));
    let mut files = Vec::new();
    for conversation in &tree.conversations {
        let mut file = ClaudeWriter::new(tree, conversation, &session);
        file.write_messages();
        let Some(parent) = conversation.parent.as_ref().filter(|_| conversation.id != main.id) else {
            file.write_marks();
            files.push(WrittenFile { path: directory.join(format!("{session}.jsonl")), bytes: file.bytes });
            continue;
        };
        let runs = directory.join(&session).join("subagents");
        let name = format!("agent-{}", paths::run_name(&parent.run));
        let asked = parent.message.as_ref().and_then(|message| call_in(tree, &parent.conversation, message));
        let meta = json!({"agentType": parent.name, "toolUseId": asked, "spawnDepth": 1});
        files.push(WrittenFile { path: runs.join(format!("{name}.jsonl")), bytes: file.bytes });
        files.push(WrittenFile {
            path: runs.join(format!("{name}.meta.json")),
            bytes: meta.to_string().into_bytes(),
        });
    }
    Ok(files)
}

/// Returns the call of a message that started a sub-agent.
fn call_in<'a>(tree: &'a Tree, conversation: &str, message: &str) -> Option<&'a str> {
    let asking =
        tree.messages.iter().find(|found| found.conversation == conversation && found.id == message)?;
    asking.message.blocks.iter().find_map(|block| match block {
        Block::ToolCall(call) => Some(call.id.as_str()),
        _ => None,
    })
}

/// One file while it is written.
struct ClaudeWriter<'a> {
    tree: &'a Tree,
    conversation: &'a SourceConversation,
    session: &'a str,
    /// The lines of each message, in order.
    lines: HashMap<&'a str, Vec<String>>,
    /// Replies that were written, by response id.
    responses: HashSet<String>,
    bytes: Vec<u8>,
}

impl<'a> ClaudeWriter<'a> {
    fn new(tree: &'a Tree, conversation: &'a SourceConversation, session: &'a str) -> Self {
        let (lines, responses) = (HashMap::new(), HashSet::new());
        Self { tree, conversation, session, lines, responses, bytes: Vec::new() }
    }

    fn write_messages(&mut self) {
        for found in self.tree.messages_of(&self.conversation.id) {
            let parent = found.parent.as_deref().and_then(|parent| self.last_line(parent));
            let written = match (found.message.role, summary_of(&found.message)) {
                (_, Some(summary)) => self.write_summary(found, summary, parent),
                (Role::Assistant, None) => self.write_reply(found, parent),
                (Role::User | Role::Tool, None) => self.write_user(found, parent),
                (Role::System, None) => self.write_system(found, parent),
            };
            self.lines.insert(&found.id, written);
        }
    }

    /// Writes the title and the marker that selects the leaf.
    fn write_marks(&mut self) {
        if let Some(title) =
            self.conversation.header.title.as_deref().filter(|title| !title.trim().is_empty())
        {
            self.put(&json!({"type": "custom-title", "customTitle": title, "sessionId": self.session}));
        }
        let last = self.tree.messages_of(&self.conversation.id).last().map(|found| found.id.as_str());
        let Some(leaf) = self.conversation.head.as_deref().or(last).and_then(|head| self.last_line(head))
        else {
            return;
        };
        let prompts =
            self.tree.messages_of(&self.conversation.id).filter(|found| found.message.role == Role::User);
        let prompt = prompts.last().map(|found| preview(&found.message.text())).unwrap_or_default();
        let mark = json!({
            "type": "last-prompt", "lastPrompt": prompt, "leafUuid": leaf, "sessionId": self.session,
        });
        self.put(&mark);
    }

    fn write_user(&mut self, found: &SourceMessage, parent: Option<String>) -> Vec<String> {
        let origin = self.conversation.header.origin.as_ref();
        let is_own = origin.is_some_and(|origin| origin.format == FORMAT.name);
        let whose = if is_own { BlockOwner::Own } else { BlockOwner::Foreign };
        let content = match found.message.blocks.as_slice() {
            [Block::Text(text)] if text.extra.is_empty() || !is_own => Value::String(text.text.clone()),
            blocks => blocks.iter().filter_map(|block| blocks::write(block, whose)).collect(),
        };
        let mut line = self.line("user", found, &found.id, parent);
        line["message"] = json!({"role": "user", "content": content});
        if found.message.extra.field(INJECTED).is_some() {
            line["isMeta"] = json!(true);
        }
        vec![self.put_line(&line)]
    }

    /// Writes a line per block, with the same response id.
    fn write_reply(&mut self, found: &SourceMessage, parent: Option<String>) -> Vec<String> {
        let message = &found.message;
        let word = |name| message.extra.field(name).and_then(|value| value.to::<String>().ok());
        let is_own = word("api").as_deref() == Some(API);
        let given = word("response_id").filter(|response| !self.responses.contains(response));
        let response = given.unwrap_or_else(|| format!("msg_{}", self.uuid(&found.id).simple()));
        self.responses.insert(response.clone());
        let model = word("model").or_else(|| self.conversation.header.settings.model.clone());
        let model = model.unwrap_or_else(|| NO_MODEL.to_owned());
        let mut contents: Vec<Value> = message
            .blocks
            .iter()
            .filter(|block| is_own || !matches!(block, Block::Thinking(_) | Block::Other(_)))
            .filter_map(|block| {
                blocks::write(block, if is_own { BlockOwner::Own } else { BlockOwner::Foreign })
            })
            .map(|block| json!([block]))
            .collect();
        if contents.is_empty() {
            contents.push(json!([]));
        }
        let mut written: Vec<String> = Vec::new();
        for (place, content) in contents.into_iter().enumerate() {
            let id = if place == 0 { found.id.clone() } else { format!("{}/{place}", found.id) };
            let above = written.last().cloned().or_else(|| parent.clone());
            let mut line = self.line("assistant", found, &id, above);
            line["message"] = json!({
                "id": response, "type": "message", "role": "assistant", "model": model, "content": content,
                "stop_reason": message.finish, "stop_sequence": null, "usage": usage_of(message),
            });
            if message.is_error {
                line["isApiErrorMessage"] = json!(true);
            }
            written.push(self.put_line(&line));
        }
        written
    }

    /// Writes the program's own lines unchanged. Instructions are marked and not sent to the model.
    fn write_system(&mut self, found: &SourceMessage, parent: Option<String>) -> Vec<String> {
        let own = found.message.blocks.iter().find_map(|block| match block {
            Block::Other(other) => Some(other),
            _ => None,
        });
        let Some(own) = own else {
            let mut line = self.line("system", found, &found.id, parent);
            line["subtype"] = json!("informational");
            line["content"] = json!(found.message.text());
            line["level"] = json!(INSTRUCTION);
            if !matches!(found.message.blocks.as_slice(), [Block::Text(_)]) {
                let blocks =
                    found.message.blocks.iter().filter_map(|block| blocks::write(block, BlockOwner::Own));
                line["blocks"] = blocks.collect();
            }
            if found.message.extra.field(INJECTED).is_some() {
                line["isMeta"] = json!(true);
            }
            return vec![self.put_line(&line)];
        };
        let mut line = self.line(&own.kind, found, &found.id, parent);
        let whole: Fields = own.fields.field("line").and_then(|line| line.to().ok()).unwrap_or_default();
        for (name, value) in own.fields.iter().filter(|(name, _)| *name != "line").chain(whole.iter()) {
            if line.get(name).is_none() {
                line[name] = value.to().unwrap_or_default();
            }
        }
        vec![self.put_line(&line)]
    }

    /// Writes the boundary of a compaction and its summary, which names the lines that it keeps.
    fn write_summary(
        &mut self,
        found: &SourceMessage,
        summary: &Summary,
        parent: Option<String>,
    ) -> Vec<String> {
        let id = self.uuid(&found.id).to_string();
        let kept: Vec<String> = found
            .keeps
            .iter()
            .filter_map(|kept| self.lines.get(kept.message.as_str()))
            .flatten()
            .cloned()
            .collect();
        let word = |name: &str| summary.extra.field(name).and_then(|value| value.to::<Value>().ok());
        let mut metadata = json!({ "trigger": word("trigger").unwrap_or_else(|| json!("manual")) });
        for (name, field) in [("preTokens", "tokens_before"), ("postTokens", "tokens_after")] {
            if let Some(tokens) = word(field) {
                metadata[name] = tokens;
            }
        }
        if let (Some(head), Some(tail)) = (kept.first(), kept.last()) {
            metadata["preservedSegment"] = json!({"headUuid": head, "anchorUuid": id, "tailUuid": tail});
            metadata["preservedMessages"] = json!({"anchorUuid": id, "uuids": kept, "allUuids": kept});
        }
        let mut boundary = self.line("system", found, &format!("{}/boundary", found.id), None);
        boundary["subtype"] = json!("compact_boundary");
        boundary["content"] = json!("Conversation compacted");
        boundary["level"] = json!("info");
        boundary["isMeta"] = json!(false);
        boundary["logicalParentUuid"] = json!(parent);
        boundary["compactMetadata"] = metadata;
        let above = self.put_line(&boundary);
        let mut line = self.line("user", found, &found.id, Some(above));
        line["message"] = json!({"role": "user", "content": summary.text});
        line["isVisibleInTranscriptOnly"] = json!(true);
        line["isCompactSummary"] = json!(true);
        vec![self.put_line(&line)]
    }

    /// Returns a line without its message.
    fn line(&self, kind: &str, found: &SourceMessage, id: &str, parent: Option<String>) -> Value {
        let time: Time = found.message.created_at.unwrap_or(self.conversation.created_at);
        let run = self.conversation.parent.as_ref().map(|parent| parent.run.as_str());
        let mut line = json!({
            "parentUuid": parent,
            "isSidechain": run.is_some(),
            "type": kind,
            "uuid": self.uuid(id).to_string(),
            "timestamp": time,
            "userType": "external",
            "entrypoint": "cli",
            "cwd": self.conversation.header.project.as_deref().unwrap_or("/"),
            "sessionId": self.session,
            "version": env!("CARGO_PKG_VERSION"),
            "gitBranch": "",
        });
        if let Some(run) = run {
            line["agentId"] = json!(run);
        }
        line
    }

    /// Returns the id of a line, unique across conversations.
    fn uuid(&self, id: &str) -> Uuid {
        Uuid::try_parse(id).unwrap_or_else(|_| uuid_of(&format!("{}/{id}", self.conversation.id)))
    }

    fn put_line(&mut self, line: &Value) -> String {
        self.put(line);
        line["uuid"].as_str().unwrap_or_default().to_owned()
    }

    fn put(&mut self, line: &Value) {
        self.bytes.extend_from_slice(line.to_string().as_bytes());
        self.bytes.push(b'\n');
    }

    /// Returns the line that a child of a message follows.
    fn last_line(&self, message: &str) -> Option<String> {
        self.lines.get(message)?.last().cloned()
    }
}

fn summary_of(message: &Message) -> Option<&Summary> {
    message.blocks.iter().find_map(|block| match block {
        Block::Summary(summary) => Some(summary),
        _ => None,
    })
}

fn usage_of(message: &Message) -> Value {
    let Some(usage) = &message.usage else { return Value::Null };
    let whole = usage.detail.as_ref().and_then(|detail| detail.to::<Value>().ok());
    whole
        .filter(Value::is_object)
        .unwrap_or_else(|| json!({"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}))
}
