//! A reply while its lines arrive: its blocks and the results of its tools.

use std::collections::HashSet;

use crate::error::Result;
use crate::formats::byte_budget::ByteBudget;
use crate::formats::claude::blocks;
use crate::formats::claude::line::ApiMessage;
use crate::formats::{ReadLimits, SourceMessage};
use crate::model::{Block, Json, Message, Role, Usage};

/// The API of Claude Code, as recorded in replies.
const API: &str = "anthropic";

/// A reply that may continue.
#[derive(Debug)]
pub(super) struct ClaudeReply {
    /// The reply, under the id of its first line.
    message: SourceMessage,
    /// The API's id of the reply, shared by all of its lines.
    response: Option<String>,
    /// The ids of its lines.
    uuids: Vec<String>,
    /// Results of its tools, each with the line that it follows in the file.
    results: Vec<SourceMessage>,
    /// The ids of its lines and of its results, to recognise what follows it.
    known: HashSet<String>,
    held: ByteBudget,
    held_results: ByteBudget,
}

/// A complete reply: messages in order, and the ids of the lines that they were made of.
pub(super) struct CompleteReply {
    pub(super) reply: SourceMessage,
    pub(super) uuids: Vec<String>,
    pub(super) results: Vec<SourceMessage>,
    /// The results that form a chain. Children of any of them follow the last.
    pub(super) row: Vec<String>,
}

impl ClaudeReply {
    /// Starts a reply with its first line.
    pub(super) fn begin(mut message: SourceMessage, said: &mut ApiMessage<'_>) -> Result<Self> {
        message.message.extra.set("api", Json::of(&API)?);
        if let Some(model) = &said.model {
            message.message.extra.set("model", Json::of(model)?);
        }
        if let Some(id) = &said.id {
            message.message.extra.set("response_id", Json::of(id)?);
        }
        let mut reply = Self {
            uuids: vec![message.id.clone()],
            known: HashSet::from([message.id.clone()]),
            message,
            response: said.id.clone(),
            results: Vec::new(),
            held: ByteBudget::of("a reply"),
            held_results: ByteBudget::of("the results of a reply"),
        };
        reply.held.add(&reply.message.source);
        reply.take(said)?;
        Ok(reply)
    }

    /// True when a line with this response and parent continues it.
    pub(super) fn is_continued_by(&self, said: &ApiMessage<'_>, parent: Option<&str>) -> bool {
        said.id.is_some() && said.id == self.response && parent.is_some_and(|parent| self.contains(parent))
    }

    /// True when a line is part of it or a result of its tools.
    pub(super) fn contains(&self, uuid: &str) -> bool {
        self.known.contains(uuid)
    }

    /// Adds a line that follows it and is not a message.
    pub(super) fn add_skipped(&mut self, uuid: &str) {
        self.known.insert(uuid.to_owned());
    }

    /// Adds another line.
    pub(super) fn append_line(&mut self, uuid: String, text: &str, said: &mut ApiMessage<'_>) -> Result<()> {
        self.held.add(text);
        self.known.insert(uuid.clone());
        self.uuids.push(uuid);
        self.message.append_source(text);
        self.take(said)
    }

    /// Adds the result of one of its tools.
    pub(super) fn add_result(&mut self, result: SourceMessage) {
        self.held_results.add(&result.source);
        self.known.insert(result.id.clone());
        self.results.push(result);
    }

    /// Fails when it is larger than one line may be.
    pub(super) fn check(&self, limits: ReadLimits) -> Result<()> {
        self.held.check(limits)
    }

    /// True when its results exceed the limit and should be passed on.
    pub(super) const fn is_full(&self, limits: ReadLimits) -> bool {
        self.held_results.is_over(limits)
    }

    /// Every line repeats usage and finish reason; those of the last line are final.
    fn take(&mut self, said: &mut ApiMessage<'_>) -> Result<()> {
        if let Some(content) = said.content.take() {
            self.message.message.blocks.extend(blocks::read(content)?);
        }
        if let Some(usage) = &said.usage {
            self.message.message.usage = usage_of(usage);
        }
        if said.stop_reason.is_some() {
            self.message.message.finish.clone_from(&said.stop_reason);
        }
        Ok(())
    }

    /// Chains the results. A result that answers no new call is another branch and keeps its parent.
    pub(super) fn complete(self) -> CompleteReply {
        let mut row: Vec<String> = Vec::new();
        let mut answered = HashSet::new();
        let results = self
            .results
            .into_iter()
            .map(|mut result| {
                let calls = calls_of(&result.message);
                // All calls are recorded, not only those up to the first new one.
                if calls.into_iter().filter(|call| answered.insert(call.clone())).count() > 0 {
                    result.parent = Some(row.last().unwrap_or(&self.message.id).clone());
                    row.push(result.id.clone());
                }
                result
            })
            .collect();
        CompleteReply { reply: self.message, uuids: self.uuids, results, row }
    }
}

fn usage_of(usage: &Json) -> Option<Usage> {
    let mut read: Usage = usage.to().ok()?;
    read.detail = Some(usage.clone());
    Some(read)
}

fn calls_of(message: &Message) -> Vec<String> {
    let calls = message.blocks.iter().filter_map(|block| match block {
        Block::ToolResult(result) => Some(result.call_id.clone()),
        _ => None,
    });
    calls.collect()
}

/// Returns the role of a line from the user's side: tool if it has results.
pub(super) fn role_of(blocks: &[Block]) -> Role {
    let is_result = |block: &Block| matches!(block, Block::ToolResult(_));
    if blocks.iter().any(is_result) { Role::Tool } else { Role::User }
}
