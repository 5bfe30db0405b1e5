//! Asks for a summary: of the view as it is, and of less when the provider calls it too long.

use std::borrow::Cow;
use std::collections::HashSet;

use rejoin::view::{Compaction, PathMessage, Recipient, Spoken, View, Viewed};
use rejoin::{Block, Message, MessageId, Role, Usage};

use crate::error::{Error, ErrorKind, Result};
use crate::providers::{Provider, Reply, Request, Stop, ToolSpec};

/// What is said when nothing more can be left out.
const TOO_LARGE: &str = "Cannot compact: history too large even after truncation";

/// Enough for a summary, also of a model that thinks first. Providers want room for it in the window.
const MAX_TOKENS: u64 = 12_000;

/// A summary.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SummaryReply {
    /// What the model wrote; empty when it wrote nothing that can be read.
    pub(super) text: String,
    /// How many of the oldest messages it could not be shown.
    pub(super) trimmed: u64,
    /// What it cost.
    pub(super) usage: Option<Usage>,
}

/// Who is asked, and what comes before the view.
#[derive(Clone, Copy, Debug)]
pub(super) struct SummaryRequest<'a> {
    pub(super) provider: &'a dyn Provider,
    pub(super) model: &'a str,
    pub(super) system: &'a str,
    pub(super) tools: &'a [ToolSpec],
}

impl SummaryRequest<'_> {
    /// Asks for a summary of a view. Messages in `protected` are shown in any case, and so are system
    /// messages and the last one of the user, which may be a summary.
    ///
    /// An answer that cannot be read is an empty summary.
    pub(super) async fn ask(&self, shown: View<'_>, protected: &HashSet<MessageId>) -> Result<SummaryReply> {
        let recipient = self.provider.recipient();
        let mut units = units(shown.messages, protected);
        let mut answer = SummaryReply::default();
        // How many messages are left out next: 1, 1, 2, 4, …
        let mut step = 1;
        let mut failures = 0;
        let mut tools = self.tools;
        loop {
            match self.attempt(&units, &recipient, failures, tools).await {
                // Words before a call say what comes next, not what was.
                Ok(reply) if has_calls(&reply) && !tools.is_empty() => {
                    tools = &[];
                    continue;
                }
                Ok(reply) if has_calls(&reply) || reply.stop == Stop::Refused => {
                    return Ok(SummaryReply { usage: reply.message.usage, ..answer });
                }
                Ok(reply) => {
                    let text = reply.message.text();
                    return Ok(SummaryReply { text, usage: reply.message.usage, ..answer });
                }
                Err(error) if error.kind() == ErrorKind::Malformed => return Ok(answer),
                Err(error) if error.kind() != ErrorKind::TooLong => return Err(error),
                Err(_) => {}
            }
            failures += 1;
            if failures > 2 {
                step *= 2;
            }
            let left_out = leave_out(&mut units, step);
            if left_out == 0 {
                return Err(Error::new(ErrorKind::TooLong, TOO_LARGE));
            }
            answer.trimmed += left_out;
        }
    }

    async fn attempt(
        &self,
        units: &[MessageUnit<'_>],
        recipient: &Recipient,
        failures: u32,
        tools: &[ToolSpec],
    ) -> Result<Reply> {
        let shown = || units.iter().flat_map(|unit| &unit.messages);
        let said: Vec<PathMessage<'_>> = shown()
            .map(|viewed| PathMessage { id: viewed.id, is_pinned: false, message: &viewed.message })
            .collect();
        // What follows a gap may need a repair. The first attempt sends what any request would, so
        // that the provider knows its beginning.
        let messages =
            if failures == 0 { shown().cloned().collect() } else { View::of(&said, &[], recipient).messages };
        let messages = asking(messages);
        let request = Request { tools, ..self.request(&messages) };
        self.provider.reply(request, &mut |_| {}).await
    }

    pub(super) const fn request<'b>(&'b self, messages: &'b [Viewed<'b>]) -> Request<'b> {
        let max_tokens = Some(MAX_TOKENS);
        Request { model: self.model, system: self.system, messages, tools: self.tools, max_tokens }
    }
}

fn has_calls(reply: &Reply) -> bool {
    reply.message.blocks.iter().any(|block| matches!(block, Block::ToolCall(_)))
}

/// A view with the question for its summary at the end.
pub(super) fn asking<'a>(mut messages: Vec<Viewed<'a>>) -> Vec<Viewed<'a>> {
    messages.push(Viewed { id: None, message: Cow::Owned(Message::user(Compaction::PROMPT)) });
    messages
}

/// Messages that can only be left out together: a reply and the results of its calls.
struct MessageUnit<'a> {
    messages: Vec<Viewed<'a>>,
    is_needed: bool,
}

fn units<'a>(messages: Vec<Viewed<'a>>, protected: &HashSet<MessageId>) -> Vec<MessageUnit<'a>> {
    let newest = messages.iter().rposition(|viewed| viewed.message.role == Role::User);
    let mut units: Vec<MessageUnit<'a>> = Vec::new();
    for (place, viewed) in messages.into_iter().enumerate() {
        let is_needed = viewed.message.role == Role::System
            || Some(place) == newest
            || viewed.id.is_some_and(|id| protected.contains(&id));
        match units.last_mut().filter(|_| viewed.message.role == Role::Tool) {
            Some(unit) => {
                unit.is_needed |= is_needed;
                unit.messages.push(viewed);
            }
            None => units.push(MessageUnit { messages: vec![viewed], is_needed }),
        }
    }
    units
}

/// Leaves out the oldest messages that may be, at least `least` of them if there are, and returns how many.
fn leave_out(units: &mut Vec<MessageUnit<'_>>, least: u64) -> u64 {
    let mut left_out = 0;
    units.retain(|unit| {
        let stays = unit.is_needed || left_out >= least;
        if !stays {
            left_out += unit.messages.len() as u64;
        }
        stays
    });
    left_out
}

/// The messages that every summariser is shown: pinned ones, those with a snapshot, what a program said about
/// the project, and what the user said last.
pub(super) fn protected(path: &[PathMessage<'_>]) -> HashSet<MessageId> {
    let is_protected = |message: &Message| {
        let has_snapshot = message
            .blocks
            .iter()
            .any(|block| matches!(block, Block::Snapshot(state) if !state.is_of_files()));
        has_snapshot || message.role == Role::User && Compaction::is_preamble(&message.text())
    };
    let protected = path.iter().filter(|said| said.is_pinned || is_protected(said.message));
    let newest = Spoken::all(path).pop().and_then(|spoken| spoken.id);
    protected.filter_map(|said| said.id).chain(newest).collect()
}
