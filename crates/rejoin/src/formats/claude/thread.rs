//! One conversation of a session while its lines are read.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::error::{Error, Result};
use crate::formats::claude::blocks;
use crate::formats::claude::calls::CallIndex;
use crate::formats::claude::line::{ApiMessage, ClaudeLine, CompactMetadata, KeptSegment};
use crate::formats::claude::reply::{ClaudeReply, CompleteReply, role_of};
use crate::formats::lineage::Lineage;
use crate::formats::thread_builder::ThreadBuilder;
use crate::formats::{INJECTED, KEPT_AFTER, Reading, SourceConversation, SourceKept, SourceMessage};
use crate::model::{Block, Fields, Json, Message, Role, Summary};

/// How far back the ends of a compaction's kept messages are searched.
const RECENT: usize = 4_096;

/// The model name of replies that the program wrote itself.
const SYNTHETIC: &str = "<synthetic>";

/// Precedence of titles: the user's own comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TitleRank {
    None,
    Summary,
    Computed,
    Chosen,
}

/// One conversation while its lines are read.
pub(super) struct ClaudeThread {
    thread: ThreadBuilder,
    rank: TitleRank,
    /// A reply that may continue.
    reply: Option<ClaudeReply>,
    /// The boundary of a compaction whose summary has not arrived.
    boundary: Option<PendingCompaction>,
    /// The messages of lines whose message has another id.
    names: HashMap<String, String>,
    /// Children of these lines follow another message.
    follows: HashMap<String, String>,
    /// Which lines of the tree are messages.
    lineage: Lineage,
    /// The newest messages with their parents.
    recent: VecDeque<(String, Option<String>)>,
}

struct PendingCompaction {
    message: SourceMessage,
    metadata: CompactMetadata,
}

impl ClaudeThread {
    pub(super) fn new(conversation: SourceConversation) -> Self {
        Self {
            thread: ThreadBuilder::new(conversation),
            rank: TitleRank::None,
            reply: None,
            boundary: None,
            names: HashMap::new(),
            follows: HashMap::new(),
            lineage: Lineage::default(),
            recent: VecDeque::new(),
        }
    }

    pub(super) fn id(&self) -> &str {
        self.thread.id()
    }

    /// The newest message.
    pub(super) fn last(&self) -> Option<&str> {
        self.recent.back().map(|(id, _)| id.as_str())
    }

    /// Reads a line about the conversation.
    pub(super) fn mark(&mut self, line: &ClaudeLine<'_>, reading: &mut Reading<'_>) -> Result<()> {
        self.note(line);
        self.thread.aside(line.at.number, line.at.text, reading)
    }

    /// Skips a line of the tree that is not a message. Its children follow its parent.
    pub(super) fn pass_over(&mut self, uuid: String, parent: Option<&str>) {
        if self.is_part_of_a_message(&uuid) {
            return;
        }
        if let (Some(reply), Some(parent)) = (&mut self.reply, parent)
            && reply.contains(parent)
        {
            reply.add_skipped(&uuid);
        }
        self.lineage.skip(uuid, parent);
    }

    /// True for a line of a message, complete or not.
    fn is_part_of_a_message(&self, uuid: &str) -> bool {
        self.lineage.has_message(uuid)
            || self.names.contains_key(uuid)
            || self.reply.as_ref().is_some_and(|reply| reply.contains(uuid))
            || self.boundary.as_ref().is_some_and(|boundary| boundary.message.id == uuid)
    }

    fn note(&mut self, line: &ClaudeLine<'_>) {
        let titles = [
            (TitleRank::Chosen, &line.custom_title),
            (TitleRank::Computed, &line.ai_title),
            (TitleRank::Summary, &line.summary),
        ];
        for (rank, title) in titles {
            if let Some(title) = title.as_ref().filter(|title| !title.trim().is_empty() && rank >= self.rank)
            {
                self.thread.conversation.header.title = Some(title.clone());
                self.rank = rank;
            }
        }
        if line.is("last-prompt") {
            self.thread.conversation.head.clone_from(&line.leaf_uuid);
        }
    }

    /// Reads a line of the tree.
    pub(super) fn line(
        &mut self,
        uuid: String,
        line: &mut ClaudeLine<'_>,
        calls: &mut CallIndex,
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        self.update_conversation(line);
        if !line.says_something() {
            self.pass_over(uuid, line.parent_uuid.as_deref());
            return self.mark(line, reading);
        }
        let mut said = line.message.take();
        if said.is_none() && !line.is("system") {
            return Err(Error::invalid("it has no content"));
        }
        let parent = line.parent_uuid.as_deref();
        if let (Some(reply), Some(said), true) = (&mut self.reply, &mut said, line.is("assistant"))
            && reply.is_continued_by(said, parent)
        {
            return reply.append_line(uuid, line.at.text, said);
        }
        let empty = Message::new(Role::System, Vec::new());
        let mut message = self.thread.message(uuid, line.parent_uuid.clone(), empty).at(line.at);
        message.message.created_at = line.time();
        if line.is_meta == Some(true) {
            message.message.extra.set(INJECTED, Json::of(&true)?);
        }
        if line.is("user") {
            message.message.blocks = said_by_user(said.as_mut())?;
            message.message.role = role_of(&message.message.blocks);
            if calls.is_kept() {
                note_run(line, &message.message.blocks, calls);
            }
            let follows_reply =
                self.reply.as_ref().zip(parent).is_some_and(|(reply, parent)| reply.contains(parent));
            if message.message.role == Role::Tool && follows_reply {
                message.parent = parent.and_then(|parent| self.resolve(parent));
                self.reply.as_mut().expect("it was looked at above").add_result(message);
                return Ok(());
            }
        }
        self.close(calls, reading)?;
        if line.subtype.as_deref() == Some("compact_boundary") {
            return self.hold_boundary(message, line, reading);
        }
        self.take_boundary(line, &mut message, reading)?;
        message.parent = message.parent.and_then(|parent| self.resolve(&parent));
        if let (true, Some(mut said)) = (line.is("assistant"), said) {
            message.message.role = Role::Assistant;
            message.message.is_error = line.is_api_error_message == Some(true);
            self.reply = Some(ClaudeReply::begin(message, &mut said)?);
            return Ok(());
        }
        if line.is_instruction() {
            message.message.blocks = instructions(line)?;
        }
        self.add(message, reading)
    }

    /// Holds the boundary of a compaction until its summary arrives.
    fn hold_boundary(
        &mut self,
        mut message: SourceMessage,
        line: &ClaudeLine<'_>,
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        self.drop_boundary(reading)?;
        let named = line.logical_parent_uuid.as_ref().and_then(|parent| self.resolve(parent));
        // In a fork, the kept messages come after the summary, so the parent of the boundary has not been
        // read.
        let named = named.filter(|parent| self.lineage.has_message(parent));
        message.parent = named.or_else(|| self.last().map(str::to_owned));
        let metadata = line.compact_metadata.clone().unwrap_or_default();
        self.boundary = Some(PendingCompaction { message, metadata });
        Ok(())
    }

    /// Drops a boundary that no summary followed: nothing replaces the history then.
    fn drop_boundary(&mut self, reading: &mut Reading<'_>) -> Result<()> {
        let Some(PendingCompaction { message, .. }) = self.boundary.take() else { return Ok(()) };
        self.lineage.skip(message.id, message.parent.as_deref());
        self.thread.aside(message.line, message.source, reading)
    }

    /// Turns the line after a boundary into a summary. Without a boundary, nothing is replaced: the program
    /// sends the summary together with everything before it.
    fn take_boundary(
        &mut self,
        line: &ClaudeLine<'_>,
        message: &mut SourceMessage,
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        let above = line.parent_uuid.as_deref().and_then(|parent| self.lineage.nearest_message(parent));
        let follows = |boundary: &mut PendingCompaction| above == Some(&boundary.message.id);
        let is_summary = line.is_compact_summary == Some(true);
        let Some(boundary) = self.boundary.take_if(|boundary| is_summary && follows(boundary)) else {
            return self.drop_boundary(reading);
        };
        let text = message.message.text();
        let extra = summary_fields(&boundary.metadata)?;
        message.message.blocks = vec![Block::Summary(Summary { text, extra })];
        message.keeps = self.kept_messages(&boundary.metadata);
        self.names.insert(boundary.message.id, message.id.clone());
        message.parent = boundary.message.parent;
        message.line = boundary.message.line;
        let summary = std::mem::replace(&mut message.source, boundary.message.source);
        message.append_source(&summary);
        Ok(())
    }

    /// Returns the messages that a compaction keeps visible.
    fn kept_messages(&self, metadata: &CompactMetadata) -> Vec<SourceKept> {
        let uuids = match (&metadata.preserved_messages, &metadata.preserved_segment) {
            (Some(preserved), _) => preserved.uuids.clone(),
            (None, Some(segment)) => self.between(segment),
            (None, None) => Vec::new(),
        };
        let mut known = HashSet::new();
        let messages = uuids.iter().filter(|uuid| !self.lineage.is_skipped(uuid));
        let named = messages.map(|uuid| self.names.get(uuid).unwrap_or(uuid));
        named.filter(|id| known.insert(id.as_str())).cloned().map(SourceKept::from).collect()
    }

    /// Returns the messages from one end to the other, along the parents.
    fn between(&self, segment: &KeptSegment) -> Vec<String> {
        let name = |uuid: &str| self.names.get(uuid).map_or(uuid, String::as_str).to_owned();
        let head = name(&segment.head_uuid);
        // An end may be a line that is not a message.
        let is_passed = self.lineage.is_skipped(&segment.head_uuid);
        let outside = self.lineage.nearest_message(&segment.head_uuid).filter(|_| is_passed).map(name);
        let mut next = self.lineage.nearest_message(&segment.tail_uuid).map(name);
        let mut found = Vec::new();
        for (id, parent) in self.recent.iter().rev() {
            if next.as_ref() != Some(id) {
                continue;
            }
            if outside.as_ref() == Some(id) {
                break;
            }
            found.push(id.clone());
            if *id == head {
                break;
            }
            next.clone_from(parent);
        }
        found.reverse();
        found
    }

    /// Checks the size of what is held. Results over the limit are passed on with their reply.
    pub(super) fn check(&mut self, calls: &mut CallIndex, reading: &mut Reading<'_>) -> Result<()> {
        let Some(reply) = &self.reply else { return Ok(()) };
        reply.check(reading.limits())?;
        if reply.is_full(reading.limits()) { self.close(calls, reading) } else { Ok(()) }
    }

    /// Completes the open reply.
    fn close(&mut self, calls: &mut CallIndex, reading: &mut Reading<'_>) -> Result<()> {
        let Some(reply) = self.reply.take() else { return Ok(()) };
        let CompleteReply { reply, uuids, results, row } = reply.complete();
        let id = reply.id.clone();
        for block in &reply.message.blocks {
            if let Block::ToolCall(call) = block {
                calls.insert(&call.id, self.thread.id(), &id);
            }
        }
        if let Some(model) = reply.message.extra.field("model").and_then(|model| model.to::<String>().ok())
            && model != SYNTHETIC
        {
            self.thread.conversation.header.settings.model = Some(model);
        }
        self.names.extend(uuids.into_iter().skip(1).map(|uuid| (uuid, id.clone())));
        if let Some((tail, others)) = row.split_last() {
            self.follows.extend(others.iter().map(|result| (result.clone(), tail.clone())));
        }
        self.add(reply, reading)?;
        results.into_iter().try_for_each(|mut result| {
            result.parent = result.parent.map(|parent| self.names.get(&parent).cloned().unwrap_or(parent));
            self.add(result, reading)
        })
    }

    /// Completes everything that is held, and the conversation.
    pub(super) fn finish(mut self, calls: &mut CallIndex, reading: &mut Reading<'_>) -> Result<()> {
        let leaf = self.thread.conversation.head.take();
        self.close(calls, reading)?;
        self.drop_boundary(reading)?;
        let leaf = leaf.and_then(|leaf| self.resolve(&leaf));
        let head = leaf.or_else(|| self.last().map(str::to_owned));
        self.thread.finish(head, reading)
    }

    fn add(&mut self, message: SourceMessage, reading: &mut Reading<'_>) -> Result<()> {
        self.lineage.add(&message.id);
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back((message.id.clone(), message.parent.clone()));
        self.thread.add(message, reading)
    }

    /// Records what a line says about the conversation.
    fn update_conversation(&mut self, line: &ClaudeLine<'_>) {
        let conversation = &mut self.thread.conversation;
        if conversation.created_at.as_micros() == 0
            && let Some(time) = line.time()
        {
            conversation.created_at = time;
        }
        let header = &mut conversation.header;
        if header.project.is_none() {
            header.project.clone_from(&line.cwd);
        }
        header.settings.provider.get_or_insert_with(|| "anthropic".to_owned());
        // A marker selects the leaf only if no other line follows it.
        conversation.head = None;
    }

    /// Returns the message that a child of this line follows; none for a root.
    fn resolve(&self, uuid: &str) -> Option<String> {
        let line = self.lineage.nearest_message(uuid)?;
        let named = self.names.get(line).map_or(line, String::as_str);
        Some(self.follows.get(named).map_or(named, String::as_str).to_owned())
    }
}

/// Notes which run of a sub-agent a call started, where its result tells.
fn note_run(line: &ClaudeLine<'_>, blocks: &[Block], calls: &mut CallIndex) {
    let result = blocks.iter().find_map(|block| match block {
        Block::ToolResult(result) => Some(result),
        _ => None,
    });
    if let (Some(result), Some(run)) = (result, line.answering_run()) {
        calls.answer(run, &result.call_id);
    }
}

fn said_by_user(said: Option<&mut ApiMessage<'_>>) -> Result<Vec<Block>> {
    let content = said.and_then(|said| said.content.take());
    content.map_or_else(|| Err(Error::invalid("it has no content")), blocks::read)
}

/// Returns the fields of a summary that describe its compaction.
fn summary_fields(metadata: &CompactMetadata) -> Result<Fields> {
    let mut fields = Fields::new();
    // The program sends the summary first.
    fields.set(KEPT_AFTER, Json::of(&true)?);
    if let Some(trigger) = &metadata.trigger {
        fields.set("trigger", Json::of(trigger)?);
    }
    if let Some(tokens) = metadata.pre_tokens {
        fields.set("tokens_before", Json::of(&tokens)?);
    }
    if let Some(tokens) = metadata.post_tokens {
        fields.set("tokens_after", Json::of(&tokens)?);
    }
    Ok(fields)
}

/// Returns the blocks of an instruction line. Rejoin writes them next to the text if there are several.
fn instructions(line: &ClaudeLine<'_>) -> Result<Vec<Block>> {
    let blocks = line.blocks.and_then(|blocks| serde_json::from_str(blocks.get()).ok()).map(blocks::read);
    let text = || line.content.and_then(|content| serde_json::from_str::<String>(content.get()).ok());
    blocks.unwrap_or_else(|| Ok(vec![Block::text(text().unwrap_or_default())]))
}
