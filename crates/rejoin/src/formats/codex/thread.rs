//! A thread while its lines are read.

use crate::error::Result;
use crate::formats::codex::API;
use crate::formats::codex::items::{self, ConversationItem};
use crate::formats::codex::line::{CodexEvent, CodexLine, CompactedPayload};
use crate::formats::codex::prompts::Prompts;
use crate::formats::thread_builder::ThreadBuilder;
use crate::formats::{INJECTED, Reading, SourceConversation, SourceKept, SourceMessage};
use crate::model::{Block, Json, Message, Other, Role, Summary, Usage, begins_as_codex_does};

/// A thread while its lines are read.
pub(super) struct CodexThread {
    /// Holds a reply, or a message that Rejoin wrote as several lines, until the next message.
    thread: ThreadBuilder,
    /// The messages from the first to the newest, as the program sees them.
    path: Vec<String>,
    /// The user's prompts on the path.
    prompts: Prompts,
    /// The program's id of the next prompt.
    prompt: Option<String>,
    /// The prefix of ids that are made of line numbers.
    numbered: String,
}

impl CodexThread {
    pub(super) fn new(conversation: SourceConversation) -> Self {
        Self {
            thread: ThreadBuilder::new(conversation),
            path: Vec::new(),
            prompts: Prompts::default(),
            prompt: None,
            numbered: String::new(),
        }
    }

    /// Starts another file: the number of files between it and the thread's own, which is 0.
    pub(super) fn enter(&mut self, above: usize) {
        // Without ordinals, files number their lines alike, so each file has its own prefix.
        self.numbered = if above == 0 { "l".to_owned() } else { format!("b{above}.l") };
    }

    pub(super) fn line(&mut self, line: &mut CodexLine<'_>, reading: &mut Reading<'_>) -> Result<()> {
        if line.is_item() {
            let mut found = line.take();
            let id = found.as_mut().and_then(items::id_of_prompt);
            return match found.map_or(ConversationItem::Mark, items::read) {
                ConversationItem::Said(role, blocks) => {
                    self.close_before(line, id, reading)?;
                    self.said(role, blocks, line, reading)
                }
                ConversationItem::Reply(blocks) => self.reply(blocks, line, reading),
                ConversationItem::Result(block) => self.result(block, line, reading),
                ConversationItem::Mark => self.thread.aside(line.at.number, line.at.text, reading),
            };
        }
        if let Some(compacted) = line.payload::<CompactedPayload>("compacted") {
            return self.compacted(&compacted, line, reading);
        }
        let event = line.take_event();
        self.event(&line.kind, &event, reading)?;
        self.thread.aside(line.at.number, line.at.text, reading)
    }

    /// Completes the open message unless this line continues it, and remembers the program's id of the new
    /// one.
    fn close_before(
        &mut self,
        line: &CodexLine<'_>,
        id: Option<String>,
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        if !self.is_continued_by(line) {
            self.close(reading)?;
            self.prompt = id.filter(|_| line.rejoin.is_none());
        }
        Ok(())
    }

    /// A message by the user, or by the program in the user's name.
    fn said(
        &mut self,
        role: Role,
        blocks: Vec<Block>,
        line: &CodexLine<'_>,
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        if self.is_continued_by(line) {
            return self.thread.extend_held(blocks, line.at.text, reading);
        }
        let mut found = self.begin(role, line);
        found.message.blocks = blocks;
        let is_injected = role == Role::System || begins_as_injected(&found.message.blocks);
        if is_injected && line.rejoin.is_none() {
            found.message.extra.set(INJECTED, Json::of(&true)?);
        }
        self.hold_or_add(found, line, reading)
    }

    /// A part of a reply. Consecutive parts are one reply.
    fn reply(&mut self, blocks: Vec<Block>, line: &CodexLine<'_>, reading: &mut Reading<'_>) -> Result<()> {
        let is_open = self.thread.held().is_some_and(|open| open.message.role == Role::Assistant);
        if self.is_continued_by(line) || (is_open && line.rejoin.is_none()) {
            return self.thread.extend_held(blocks, line.at.text, reading);
        }
        self.close(reading)?;
        let mut found = self.begin(Role::Assistant, line);
        found.message.blocks = blocks;
        if line.rejoin.is_none() {
            found.message.extra.set("api", Json::of(&API)?);
            if let Some(model) = &self.thread.conversation.header.settings.model {
                found.message.extra.set("model", Json::of(model)?);
            }
        }
        self.thread.hold(found);
        Ok(())
    }

    fn result(&mut self, mut block: Block, line: &CodexLine<'_>, reading: &mut Reading<'_>) -> Result<()> {
        if let (Block::ToolResult(result), Some(tag)) = (&mut block, &line.rejoin)
            && tag.is_error
        {
            items::read_failure(result);
        }
        if self.is_continued_by(line) {
            return self.thread.extend_held(vec![block], line.at.text, reading);
        }
        self.close(reading)?;
        let mut found = self.begin(Role::Tool, line);
        found.message.blocks = vec![block];
        self.hold_or_add(found, line, reading)
    }

    /// A compaction. Only the provider can read an encrypted one, so the history stays visible.
    fn compacted(
        &mut self,
        compacted: &CompactedPayload,
        line: &CodexLine<'_>,
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        self.close(reading)?;
        let is_sealed = compacted.message.is_empty() && line.rejoin.is_none();
        let role = if is_sealed { Role::System } else { Role::User };
        let mut found = self.begin(role, line);
        if is_sealed {
            let fields = line.payload("compacted").unwrap_or_default();
            found.message.blocks = vec![Block::Other(Other { kind: "compacted".to_owned(), fields })];
        } else {
            let text = compacted.message.clone();
            found.message.blocks = vec![Block::Summary(Summary { text, ..Summary::default() })];
            let tagged = line.rejoin.as_ref().and_then(|tag| tag.keeps.clone());
            found.keeps = tagged.unwrap_or_else(|| self.kept_messages(compacted));
        }
        self.add(found, reading)
    }

    /// Returns the messages that a compaction keeps, and what it sends of them.
    fn kept_messages(&self, compacted: &CompactedPayload) -> Vec<SourceKept> {
        let name = |place: usize| self.path[place].clone();
        let Some(history) = &compacted.replacement_history else {
            return self.prompts.places().map(|place| SourceKept::from(name(place))).collect();
        };
        let kept = self.prompts.kept(history.iter().filter_map(items::prompt));
        kept.into_iter().map(|(place, text)| SourceKept { message: name(place), text }).collect()
    }

    /// Acts on an event: a rollback, a model, the token usage of a reply.
    fn event(&mut self, line: &str, event: &CodexEvent, reading: &mut Reading<'_>) -> Result<()> {
        match (line, event.kind.as_deref()) {
            ("event_msg", Some("thread_rolled_back")) => {
                self.close(reading)?;
                self.roll_back(event.num_turns.unwrap_or(0));
            }
            // A reply never continues in the next turn.
            ("event_msg", Some("task_started" | "task_complete" | "turn_aborted")) => self.close(reading)?,
            ("turn_context", _) if event.model.is_some() => {
                self.thread.conversation.header.settings.model.clone_from(&event.model);
            }
            ("token_usage_record", _) => self.used(event.usage.as_ref()),
            ("event_msg", Some("token_count")) => {
                self.used(event.last_token_usage.as_ref());
            }
            _ => {}
        }
        Ok(())
    }

    /// Takes the newest turns off the path. They stay as a branch.
    fn roll_back(&mut self, turns: u64) {
        for _ in 0..turns {
            let Some(place) = self.prompts.pop() else { return };
            self.path.truncate(place);
            self.thread.continue_from(self.path.last().cloned());
        }
    }

    /// Sets the token usage of the open reply. The first report counts.
    fn used(&mut self, usage: Option<&Json>) {
        let (Some(open), Some(usage)) = (self.thread.held(), usage) else { return };
        if open.message.usage.is_none()
            && open.message.role == Role::Assistant
            && let Ok(read) = usage.to::<Usage>()
        {
            open.message.usage = Some(Usage { detail: Some(usage.clone()), ..read });
        }
    }

    fn begin(&mut self, role: Role, line: &CodexLine<'_>) -> SourceMessage {
        let own = line
            .ordinal
            .map_or_else(|| format!("{}{}", self.numbered, line.at.number), |ordinal| format!("o{ordinal}"));
        let tag = line.rejoin.as_ref();
        let mut message =
            tag.and_then(|tag| tag.message.clone()).unwrap_or_else(|| Message::new(role, Vec::new()));
        message.role = role;
        message.created_at = message.created_at.or_else(|| line.time());
        self.thread.next(tag.and_then(|tag| tag.id.clone()).unwrap_or(own), message).at(line.at)
    }

    /// True when Rejoin wrote the line as part of the open message.
    fn is_continued_by(&mut self, line: &CodexLine<'_>) -> bool {
        let tagged = line.rejoin.as_ref().and_then(|tag| tag.id.as_ref());
        tagged.is_some() && tagged == self.thread.held().map(|open| &open.id)
    }

    /// Only messages that Rejoin wrote may continue on the next line.
    fn hold_or_add(
        &mut self,
        found: SourceMessage,
        line: &CodexLine<'_>,
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        if line.rejoin.is_some() {
            self.thread.hold(found);
            return Ok(());
        }
        self.add(found, reading)
    }

    fn close(&mut self, reading: &mut Reading<'_>) -> Result<()> {
        self.thread.take_held().map_or(Ok(()), |open| self.add(open, reading))
    }

    pub(super) fn finish(mut self, reading: &mut Reading<'_>) -> Result<()> {
        self.close(reading)?;
        self.thread.finish(None, reading)
    }

    fn add(&mut self, found: SourceMessage, reading: &mut Reading<'_>) -> Result<()> {
        let is_summary = found.message.blocks.iter().any(|block| matches!(block, Block::Summary(_)));
        let is_prompt =
            found.message.role == Role::User && !is_summary && found.message.extra.field(INJECTED).is_none();
        if is_prompt {
            self.prompts.push(self.path.len(), &found.message.text(), self.prompt.take());
        }
        self.path.push(found.id.clone());
        self.thread.add(found, reading)
    }
}

/// True when the first text has the prefix of a message that the program adds.
fn begins_as_injected(blocks: &[Block]) -> bool {
    let first = blocks.iter().find_map(|block| match block {
        Block::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    first.is_some_and(begins_as_codex_does)
}
