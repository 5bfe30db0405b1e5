//! One conversation of a session while its lines are read.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::error::{Error, Result};
use crate::formats::claude::blocks;
use crate::formats::claude::calls::Calls;
use crate::formats::claude::line::{CompactMetadata, Line, Said, Segment};
use crate::formats::claude::reply::{Complete, Reply, role_of};
use crate::formats::held::Held;
use crate::formats::{Aside, INJECTED, Piece, Reading, SourceConversation, SourceMessage};
use crate::model::{Block, Fields, Json, Message, Other, Role, Summary};

/// How far back the two ends of what a compaction keeps are looked for.
const RECENT: usize = 4_096;

/// The level of a system line that stands for instructions to the model; only Rejoin writes it.
pub(super) const INSTRUCTION: &str = "instruction";

/// The program's own name for replies that no model wrote.
const SYNTHETIC: &str = "<synthetic>";

/// Where the titles of a session stand in rank: the person's own comes before the others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    None,
    Summary,
    Computed,
    Chosen,
}

/// One conversation while its lines are read.
pub(super) struct Strand {
    conversation: SourceConversation,
    is_told: bool,
    /// Lines that came before the first message.
    early: Vec<Aside>,
    held: Held,
    rank: Rank,
    /// A reply of which more lines may come.
    reply: Option<Reply>,
    /// The mark of a compaction whose summary has not come yet.
    boundary: Option<Boundary>,
    /// The messages that lines are part of, when the message has another id.
    names: HashMap<String, String>,
    /// What follows one of these lines follows another message.
    follows: HashMap<String, String>,
    /// The newest messages with their parents.
    recent: VecDeque<(String, Option<String>)>,
}

struct Boundary {
    message: SourceMessage,
    metadata: CompactMetadata,
}

impl Strand {
    pub(super) fn new(conversation: SourceConversation) -> Self {
        Self {
            conversation,
            is_told: false,
            early: Vec::new(),
            held: Held::of("what comes before the first message"),
            rank: Rank::None,
            reply: None,
            boundary: None,
            names: HashMap::new(),
            follows: HashMap::new(),
            recent: VecDeque::new(),
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.conversation.id
    }

    /// The newest message.
    pub(super) fn last(&self) -> Option<&str> {
        self.recent.back().map(|(id, _)| id.as_str())
    }

    /// Takes a line that is about the conversation.
    pub(super) fn mark(
        &mut self,
        line: &Line<'_>,
        number: u64,
        text: &str,
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        self.note(line);
        let conversation = self.conversation.id.clone();
        let aside = Aside { conversation, line: number, source: text.to_owned() };
        if self.is_told {
            return reading.give(Piece::Aside(aside));
        }
        self.held.add(text);
        self.early.push(aside);
        self.held.check(reading.limits())
    }

    fn note(&mut self, line: &Line<'_>) {
        let titles = [
            (Rank::Chosen, &line.custom_title),
            (Rank::Computed, &line.ai_title),
            (Rank::Summary, &line.summary),
        ];
        for (rank, title) in titles {
            if let Some(title) = title.as_ref().filter(|title| !title.trim().is_empty() && rank >= self.rank)
            {
                self.conversation.header.title = Some(title.clone());
                self.rank = rank;
            }
        }
        if line.is("last-prompt") {
            self.conversation.head.clone_from(&line.leaf_uuid);
        }
    }

    /// Takes a line of the tree.
    pub(super) fn line(
        &mut self,
        uuid: String,
        line: &mut Line<'_>,
        number: u64,
        text: &str,
        calls: &mut Calls,
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        self.learn(line);
        let mut said = line.message.take();
        let parent = line.parent_uuid.as_deref();
        if let (Some(reply), Some(said), true) = (&mut self.reply, &mut said, line.is("assistant"))
            && reply.goes_on(said, parent)
        {
            return reply.go_on(uuid, text, said);
        }
        let mut message = SourceMessage {
            conversation: self.conversation.id.clone(),
            id: uuid,
            parent: line.parent_uuid.clone(),
            message: Message::new(Role::System, Vec::new()),
            keeps: Vec::new(),
            line: number,
            source: text.to_owned(),
        };
        message.message.created_at = line.time();
        if line.is("user") {
            message.message.blocks = said_by_user(said.as_mut())?;
            message.message.role = role_of(&message.message.blocks);
            if line.is_meta == Some(true) {
                message.message.extra.set(INJECTED, Json::of(&true)?);
            }
            let follows_reply =
                self.reply.as_ref().zip(parent).is_some_and(|(reply, parent)| reply.has(parent));
            if message.message.role == Role::Tool && follows_reply {
                message.parent = parent.map(|parent| self.resolve(parent));
                self.reply.as_mut().expect("it was looked at above").answer(message);
                return Ok(());
            }
        }
        self.close(calls, reading)?;
        if line.subtype.as_deref() == Some("compact_boundary") {
            return self.hold(message, line, reading);
        }
        self.release(line, &mut message, reading)?;
        message.parent = message.parent.map(|parent| self.resolve(&parent));
        if let (true, Some(mut said)) = (line.is("assistant"), said) {
            message.message.role = Role::Assistant;
            message.message.is_error = line.is_api_error_message == Some(true);
            self.reply = Some(Reply::begin(message, &mut said)?);
            return Ok(());
        }
        if !line.is("user") {
            message.message.blocks = vec![foreign(line, text)?];
        }
        self.tell(message, reading)
    }

    /// Holds the mark of a compaction until its summary comes.
    fn hold(&mut self, mut message: SourceMessage, line: &Line<'_>, reading: &mut Reading<'_>) -> Result<()> {
        if let Some(Boundary { message, .. }) = self.boundary.take() {
            self.tell(message, reading)?;
        }
        message.parent = match &line.logical_parent_uuid {
            Some(parent) => Some(self.resolve(parent)),
            None => self.last().map(str::to_owned),
        };
        message.message.blocks = vec![foreign(line, &message.source)?];
        let metadata = line.compact_metadata.clone().unwrap_or_default();
        self.boundary = Some(Boundary { message, metadata });
        Ok(())
    }

    /// Makes a summary of the line that follows the mark of a compaction. Before another line, the mark is told alone.
    fn release(
        &mut self,
        line: &Line<'_>,
        message: &mut SourceMessage,
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        let is_summary = line.is_compact_summary == Some(true);
        let mut extra = Fields::new();
        match self.boundary.take() {
            Some(boundary) if is_summary && line.parent_uuid.as_deref() == Some(&boundary.message.id) => {
                self.names.insert(boundary.message.id.clone(), message.id.clone());
                message.parent = boundary.message.parent;
                message.line = boundary.message.line;
                message.source = format!("{}\n{}", boundary.message.source, message.source);
                message.keeps = self.kept(&boundary.metadata);
                extra = noted(&boundary.metadata)?;
            }
            Some(boundary) => self.tell(boundary.message, reading)?,
            None => {}
        }
        if is_summary {
            let text = message.message.text();
            message.message.blocks = vec![Block::Summary(Summary { text, extra })];
        }
        Ok(())
    }

    /// The messages that a compaction keeps visible.
    fn kept(&self, metadata: &CompactMetadata) -> Vec<String> {
        let uuids = match (&metadata.preserved_messages, &metadata.preserved_segment) {
            (Some(preserved), _) => preserved.uuids.clone(),
            (None, Some(segment)) => self.between(segment),
            (None, None) => Vec::new(),
        };
        let mut known = HashSet::new();
        let named = uuids.iter().map(|uuid| self.names.get(uuid).unwrap_or(uuid));
        named.filter(|id| known.insert(id.as_str())).cloned().collect()
    }

    /// The messages from one end to the other, along the parents.
    fn between(&self, segment: &Segment) -> Vec<String> {
        let name = |uuid: &String| self.names.get(uuid).unwrap_or(uuid).clone();
        let (head, mut next) = (name(&segment.head_uuid), Some(name(&segment.tail_uuid)));
        let mut found = Vec::new();
        for (id, parent) in self.recent.iter().rev() {
            if next.as_ref() != Some(id) {
                continue;
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

    /// Looks whether what is held is not too large. Results that are go out with what is there of their reply.
    pub(super) fn check(&mut self, calls: &mut Calls, reading: &mut Reading<'_>) -> Result<()> {
        let Some(reply) = &self.reply else { return Ok(()) };
        reply.check(reading.limits())?;
        if reply.is_full(reading.limits()) { self.close(calls, reading) } else { Ok(()) }
    }

    /// Tells the reply that is open. No line goes on with it after this.
    fn close(&mut self, calls: &mut Calls, reading: &mut Reading<'_>) -> Result<()> {
        let Some(reply) = self.reply.take() else { return Ok(()) };
        let Complete { reply, uuids, results, row } = reply.complete();
        let id = reply.id.clone();
        for block in &reply.message.blocks {
            if let Block::ToolCall(call) = block {
                calls.insert(&call.id, &self.conversation.id, &id);
            }
        }
        if let Some(model) = reply.message.extra.field("model").and_then(|model| model.to::<String>().ok())
            && model != SYNTHETIC
        {
            self.conversation.header.settings.model = Some(model);
        }
        self.names.extend(uuids.into_iter().skip(1).map(|uuid| (uuid, id.clone())));
        if let Some((tail, others)) = row.split_last() {
            self.follows.extend(others.iter().map(|result| (result.clone(), tail.clone())));
        }
        self.tell(reply, reading)?;
        results.into_iter().try_for_each(|mut result| {
            result.parent = result.parent.map(|parent| self.names.get(&parent).unwrap_or(&parent).clone());
            self.tell(result, reading)
        })
    }

    /// Tells everything that is left, and what is known of the conversation now.
    pub(super) fn finish(mut self, calls: &mut Calls, reading: &mut Reading<'_>) -> Result<()> {
        let leaf = self.conversation.head.take();
        self.close(calls, reading)?;
        if let Some(Boundary { message, .. }) = self.boundary.take() {
            self.tell(message, reading)?;
        }
        if !self.is_told {
            return Ok(());
        }
        let leaf = leaf.map(|leaf| self.resolve(&leaf));
        self.conversation.head = leaf.or_else(|| self.last().map(str::to_owned));
        reading.give(Piece::Conversation(Box::new(self.conversation)))
    }

    fn tell(&mut self, message: SourceMessage, reading: &mut Reading<'_>) -> Result<()> {
        if !self.is_told {
            self.is_told = true;
            reading.give(Piece::Conversation(Box::new(self.conversation.clone())))?;
            for aside in std::mem::take(&mut self.early) {
                reading.give(Piece::Aside(aside))?;
            }
        }
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back((message.id.clone(), message.parent.clone()));
        reading.give(Piece::Message(Box::new(message)))
    }

    /// Learns what a line says about the conversation.
    fn learn(&mut self, line: &Line<'_>) {
        if self.conversation.created_at.as_micros() == 0
            && let Some(time) = line.time()
        {
            self.conversation.created_at = time;
        }
        let header = &mut self.conversation.header;
        if header.project.is_none() {
            header.project.clone_from(&line.cwd);
        }
        header.settings.provider.get_or_insert_with(|| "anthropic".to_owned());
        // A mark selects the leaf only while no other line follows it.
        self.conversation.head = None;
    }

    /// The message that whoever follows this line follows.
    fn resolve(&self, uuid: &str) -> String {
        let named = self.names.get(uuid).map_or(uuid, String::as_str);
        self.follows.get(named).map_or(named, String::as_str).to_owned()
    }
}

fn said_by_user(said: Option<&mut Said<'_>>) -> Result<Vec<Block>> {
    let content = said.and_then(|said| said.content.take());
    content.map_or_else(|| Err(Error::invalid("it has no content")), blocks::read)
}

/// What the summary's block says about its compaction.
fn noted(metadata: &CompactMetadata) -> Result<Fields> {
    let mut fields = Fields::new();
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

/// A line that no message of ours stands for, as a block of its own kind.
fn foreign(line: &Line<'_>, text: &str) -> Result<Block> {
    let kind = line.kind.clone().unwrap_or_default();
    let mut fields = Fields::new();
    match (kind.as_str(), line.attachment, line.content) {
        ("attachment", Some(attachment), _) => fields.set("attachment", Json::parse(attachment.get())?),
        ("system", _, Some(content)) => {
            fields.set("subtype", Json::of(&line.subtype)?);
            if let Ok(content) = serde_json::from_str::<String>(content.get())
                && line.level.as_deref() == Some(INSTRUCTION)
            {
                return Ok(Block::text(content));
            }
            fields.set("content", Json::parse(content.get())?);
        }
        ("system", _, None) => fields.set("subtype", Json::of(&line.subtype)?),
        _ => fields.set("line", Json::parse(text)?),
    }
    Ok(Block::Other(Other { kind, fields }))
}
