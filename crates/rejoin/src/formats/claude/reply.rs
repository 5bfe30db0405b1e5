//! A reply while its lines arrive: its blocks, and the results of its tools.

use std::collections::HashSet;

use crate::error::Result;
use crate::formats::byte_budget::ByteBudget;
use crate::formats::claude::blocks;
use crate::formats::claude::line::ApiMessage;
use crate::formats::{ReadLimits, SourceMessage};
use crate::model::{Block, Json, Message, Role, Usage};

/// The API that Claude Code talks to, as replies name it.
const API: &str = "anthropic";

/// A reply of which more lines may come.
#[derive(Debug)]
pub(super) struct Reply {
    /// The reply, under the id of its first line.
    message: SourceMessage,
    /// What the API calls it; lines that share it are one reply.
    response: Option<String>,
    /// The lines that it is made of.
    uuids: Vec<String>,
    /// Results of its tools, with the line that each follows in the file.
    results: Vec<SourceMessage>,
    /// Its lines and those of its results, to know what follows it.
    known: HashSet<String>,
    held: ByteBudget,
    held_results: ByteBudget,
}

/// A reply that is complete: messages in a row, and what its lines are called from now on.
pub(super) struct CompleteReply {
    pub(super) reply: SourceMessage,
    pub(super) uuids: Vec<String>,
    pub(super) results: Vec<SourceMessage>,
    /// The results that follow each other; whatever follows one of them follows the last.
    pub(super) row: Vec<String>,
}

impl Reply {
    /// Begins a reply with its first line.
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

    /// True when a line with this response and parent goes on with it.
    pub(super) fn goes_on(&self, said: &ApiMessage<'_>, parent: Option<&str>) -> bool {
        said.id.is_some() && said.id == self.response && parent.is_some_and(|parent| self.has(parent))
    }

    /// True when a line is one of its own, or a result of its tools.
    pub(super) fn has(&self, uuid: &str) -> bool {
        self.known.contains(uuid)
    }

    /// Learns of a line that follows one of its own and is no message.
    pub(super) fn reach(&mut self, uuid: &str) {
        self.known.insert(uuid.to_owned());
    }

    /// Adds another line.
    pub(super) fn go_on(&mut self, uuid: String, text: &str, said: &mut ApiMessage<'_>) -> Result<()> {
        self.held.add(text);
        self.known.insert(uuid.clone());
        self.uuids.push(uuid);
        self.message.append_source(text);
        self.take(said)
    }

    /// Adds the result of one of its tools.
    pub(super) fn answer(&mut self, result: SourceMessage) {
        self.held_results.add(&result.source);
        self.known.insert(result.id.clone());
        self.results.push(result);
    }

    /// An error when it is larger than it may be.
    pub(super) fn check(&self, limits: ReadLimits) -> Result<()> {
        self.held.check(limits)
    }

    /// True when its results should not be held any longer.
    pub(super) const fn is_full(&self, limits: ReadLimits) -> bool {
        self.held_results.is_over(limits)
    }

    /// Every line repeats usage and finish; those of the last one are complete.
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

    /// Puts the results in a row. One that answers nothing new is another branch and stays where it was.
    pub(super) fn complete(self) -> CompleteReply {
        let mut row: Vec<String> = Vec::new();
        let mut answered = HashSet::new();
        let results = self
            .results
            .into_iter()
            .map(|mut result| {
                let calls = calls_of(&result.message);
                // Every call is taken note of, whichever of them is new.
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

/// The role of a line that the user's side wrote: results are a tool's.
pub(super) fn role_of(blocks: &[Block]) -> Role {
    let is_result = |block: &Block| matches!(block, Block::ToolResult(_));
    if blocks.iter().any(is_result) { Role::Tool } else { Role::User }
}
