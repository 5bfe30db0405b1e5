//! One session while its messages are read.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::error::Result;
use crate::formats::encoding::json_of;
use crate::formats::opencode::parts::{self, ParsedPart};
use crate::formats::opencode::session::{OpenCodeSession, Revert};
use crate::formats::thread_builder::ThreadBuilder;
use crate::formats::{
    INJECTED, KEPT_AFTER, Reading, SourceConversation, SourceKept, SourceMessage, in_progress,
};
use crate::model::{Block, Fields, Json, Message, Other, Role, Summary, Time, ToolResult, Usage};

/// A JSON object.
type JsonObject = Map<String, Value>;

/// The messages that started sessions, by session.
pub(super) type RunCallers = HashMap<String, String>;

/// One session while it is read.
pub(super) struct OpenCodeThread {
    pub(super) thread: ThreadBuilder,
    revert: Option<Revert>,
    /// The first message, by index, that each message of the program became.
    places: Vec<(String, usize)>,
    /// The ids of all messages, in order.
    ids: Vec<String>,
    /// The request for a summary, by index, and the first message that stays.
    asked: Option<(usize, Option<String>)>,
}

/// One response of the model, with the results of its tools.
#[derive(Default)]
struct ModelStep {
    blocks: Vec<Block>,
    results: Vec<ToolResult>,
    /// The sessions that its tools started.
    started: Vec<String>,
    has_call: bool,
}

/// What all messages made of one message of the program have in common.
struct MessageOrigin<'a> {
    id: String,
    time: Option<Time>,
    info: &'a JsonObject,
    parts: &'a [JsonObject],
    source: String,
    progress: Completion,
}

/// Whether a message may continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Completion {
    Open,
    Complete,
}

impl Completion {
    /// The program writes a message first, its parts one by one, and the completion time of a reply last.
    fn of(info: &JsonObject, parts: &[JsonObject]) -> Self {
        let is_reply = info.get("role").and_then(Value::as_str) == Some("assistant");
        let is_over = info.get("time").is_some_and(|time| time.get("completed").is_some());
        if (is_reply && !is_over) || parts.is_empty() { Self::Open } else { Self::Complete }
    }

    /// Marks an incomplete message.
    fn mark(self, message: &mut Message) {
        if self == Self::Open {
            in_progress::mark(message);
        }
    }
}

impl OpenCodeThread {
    /// Starts a session and announces it.
    pub(super) fn begin(
        session: &OpenCodeSession,
        runs: &RunCallers,
        reading: &mut Reading<'_>,
    ) -> Result<Self> {
        let conversation = session.conversation(runs.get(&session.id).cloned());
        let thread = ThreadBuilder::announced(conversation, reading)?;
        let revert = session.revert.clone();
        Ok(Self { thread, revert, places: Vec::new(), ids: Vec::new(), asked: None })
    }

    /// Reads a message with its parts. Returns their size in bytes.
    pub(super) fn read_message(
        &mut self,
        mut info: JsonObject,
        mut parts: Vec<JsonObject>,
        runs: &mut RunCallers,
        reading: &mut Reading<'_>,
    ) -> Result<u64> {
        let Some(id) = info.get("id").and_then(Value::as_str).map(str::to_owned) else { return Ok(0) };
        self.keep_late_notes(&id, &mut info, &mut parts, reading)?;
        self.places.push((id.clone(), self.ids.len()));
        let source = json!({ "info": info, "parts": parts }).to_string();
        let bytes = source.len() as u64;
        let time = time_of(info.get("time").map(|time| &time["created"]));
        let progress = Completion::of(&info, &parts);
        let origin = MessageOrigin { id, time, info: &info, parts: &parts, source, progress };
        match info.get("role").and_then(Value::as_str) {
            Some("assistant") if is_summary(&info) => self.read_summary(origin, reading)?,
            Some("assistant") => self.read_reply(origin, runs, reading)?,
            _ => self.read_user(origin, reading)?,
        }
        Ok(bytes)
    }

    /// Removes what the program notes later, and keeps it next to the messages.
    fn keep_late_notes(
        &mut self,
        id: &str,
        info: &mut JsonObject,
        parts: &mut [JsonObject],
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        for part in parts.iter_mut() {
            if let Some(Value::Object(time)) = part.get_mut("state").and_then(|state| state.get_mut("time")) {
                time.shift_remove("compacted");
            }
        }
        let is_user = info.get("role").and_then(Value::as_str) == Some("user");
        let Some(summary) = is_user.then(|| info.shift_remove("summary")).flatten() else { return Ok(()) };
        if summary == json!({ "diffs": [] }) {
            return Ok(());
        }
        let source = json!({ "messageID": id, "summary": summary }).to_string();
        self.thread.aside(0, source, reading)
    }

    fn read_user(&mut self, origin: MessageOrigin<'_>, reading: &mut Reading<'_>) -> Result<()> {
        let compaction = origin.parts.iter().find(|part| part.get("type") == Some(&json!("compaction")));
        if let Some(part) = compaction {
            let stays = part.get("tail_start_id").and_then(Value::as_str).map(str::to_owned);
            self.asked = Some((self.ids.len(), stays));
        }
        let blocks: Vec<Block> =
            origin.parts.iter().flat_map(|part| blocks_of(ParsedPart::of(part))).collect();
        let is_added = !blocks.is_empty() && blocks.iter().all(parts::is_added);
        let mut message = Message::new(Role::User, blocks);
        if is_added {
            message.extra.set(INJECTED, json_of(true));
        }
        origin.progress.mark(&mut message);
        let message = self.next(origin.id, message, origin.time);
        self.thread.add(SourceMessage { source: origin.source, ..message }, reading)
    }

    /// Splits a reply at each request to the model, so that results come before what follows from them.
    fn read_reply(
        &mut self,
        origin: MessageOrigin<'_>,
        runs: &mut RunCallers,
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        let has_steps = origin.parts.iter().any(|part| part.get("type") == Some(&json!("step-start")));
        let mut steps = vec![ModelStep::default()];
        for fields in origin.parts {
            let part = ParsedPart::of(fields);
            let begins = match &part {
                ParsedPart::Step => true,
                ParsedPart::Block(Block::Text(_) | Block::Thinking(_)) => !has_steps,
                ParsedPart::Block(_) | ParsedPart::Tool(..) | ParsedPart::Mark => false,
            };
            if begins && steps.last().is_some_and(|step| step.has_call) {
                steps.push(ModelStep::default());
            }
            let step = steps.last_mut().expect("there is a first step");
            match part {
                ParsedPart::Tool(call, result) => {
                    step.has_call = true;
                    step.started.extend(parts::started(fields).map(str::to_owned));
                    step.blocks.push(Block::ToolCall(call));
                    step.results.extend(result);
                }
                ParsedPart::Block(block) => step.blocks.push(block),
                ParsedPart::Step | ParsedPart::Mark => {}
            }
        }
        let last = steps.len() - 1;
        for (place, step) in steps.into_iter().enumerate() {
            let id = if place == 0 { origin.id.clone() } else { format!("{}/{place}", origin.id) };
            // The source text is stored once, with the first message.
            let source = if place == 0 { origin.source.clone() } else { String::new() };
            let mut message = Message::new(Role::Assistant, step.blocks);
            describe(&mut message, origin.info);
            if place == last {
                conclude(&mut message, origin.info);
            }
            origin.progress.mark(&mut message);
            runs.extend(step.started.into_iter().map(|session| (session, id.clone())));
            let message = self.next(id.clone(), message, origin.time);
            self.thread.add(SourceMessage { source, ..message }, reading)?;
            if !step.results.is_empty() {
                let blocks = step.results.into_iter().map(Block::ToolResult).collect();
                let message = Message::new(Role::Tool, blocks);
                let message = self.next(format!("{id}/results"), message, origin.time);
                self.thread.add(message, reading)?;
            }
        }
        Ok(())
    }

    fn read_summary(&mut self, origin: MessageOrigin<'_>, reading: &mut Reading<'_>) -> Result<()> {
        let (mut texts, mut blocks) = (Vec::new(), Vec::new());
        for block in origin.parts.iter().flat_map(|part| blocks_of(ParsedPart::of(part))) {
            match block {
                Block::Text(text) => texts.push(text.text),
                other => blocks.push(other),
            }
        }
        let mut extra = Fields::new();
        // The program sends the summary first.
        extra.set(KEPT_AFTER, Json::of(&true)?);
        blocks.insert(0, Block::Summary(Summary { text: texts.join("\n"), extra }));
        let mut message = Message::new(Role::User, blocks);
        describe(&mut message, origin.info);
        conclude(&mut message, origin.info);
        origin.progress.mark(&mut message);
        let keeps = self.kept_messages();
        let message = self.next(origin.id, message, origin.time);
        self.thread.add(SourceMessage { source: origin.source, keeps, ..message }, reading)
    }

    /// Returns the messages that stay visible next to a summary.
    fn kept_messages(&mut self) -> Vec<SourceKept> {
        let Some((end, Some(first))) = self.asked.take() else { return Vec::new() };
        let begin = self.places.iter().find(|(id, _)| *id == first).map_or(end, |(_, place)| *place);
        self.ids[begin.min(end)..end].iter().cloned().map(SourceKept::from).collect()
    }

    fn next(&mut self, id: String, mut message: Message, time: Option<Time>) -> SourceMessage {
        message.created_at = time;
        self.ids.push(id.clone());
        self.thread.next(id, message)
    }

    /// Completes the session. If messages were reverted, the head is the last one before them.
    pub(super) fn finish(mut self, reading: &mut Reading<'_>) -> Result<SourceConversation> {
        if let Some(head) = self.reverted_to() {
            self.thread.finish(Some(head), reading)?;
        }
        Ok(self.thread.conversation)
    }

    /// Returns the last message that was not reverted, if any was.
    fn reverted_to(&self) -> Option<String> {
        let revert = self.revert.as_ref()?;
        let which = self.places.iter().position(|(id, _)| *id == revert.message)?;
        // If only a part of a message was reverted, the rest still counts.
        let next = if revert.part.is_some() { which + 1 } else { which };
        let end = self.places.get(next).map_or(self.ids.len(), |(_, place)| *place);
        end.checked_sub(1).map(|last| self.ids[last].clone())
    }
}

fn blocks_of(part: ParsedPart) -> Vec<Block> {
    match part {
        ParsedPart::Block(block) => vec![block],
        ParsedPart::Tool(call, result) => {
            std::iter::once(Block::ToolCall(call)).chain(result.map(Block::ToolResult)).collect()
        }
        ParsedPart::Step | ParsedPart::Mark => Vec::new(),
    }
}

/// True for a reply that is a complete summary.
fn is_summary(info: &JsonObject) -> bool {
    info.get("summary") == Some(&json!(true)) && info.contains_key("finish") && !info.contains_key("error")
}

/// Adds the provider and the model of a reply.
fn describe(message: &mut Message, info: &JsonObject) {
    let provider = info.get("providerID").and_then(Value::as_str);
    if let Some(provider) = provider {
        message.extra.set("provider", json_of(provider));
    }
    if provider == Some("anthropic") {
        message.extra.set("api", json_of("anthropic"));
    }
    if let Some(model) = info.get("modelID") {
        message.extra.set("model", json_of(model));
    }
}

/// Adds the finish reason, the usage and the error of a reply.
fn conclude(message: &mut Message, info: &JsonObject) {
    message.finish = info.get("finish").and_then(Value::as_str).map(str::to_owned);
    if let Some(tokens) = info.get("tokens") {
        let count = |name: &str| tokens[name].as_u64().unwrap_or(0);
        message.usage = Some(Usage {
            input_tokens: count("input"),
            output_tokens: count("output"),
            detail: Some(json_of(tokens)),
        });
    }
    if let Some(Value::Object(error)) = info.get("error") {
        message.is_error = true;
        let mut other = Other { kind: "error".to_owned(), ..Other::default() };
        error.iter().for_each(|(name, value)| other.fields.set(name, json_of(value)));
        message.blocks.push(Block::Other(other));
    }
}

fn time_of(value: Option<&Value>) -> Option<Time> {
    serde_json::from_value(value?.clone()).ok()
}
