//! Reads a conversation, line by line.

use std::collections::HashSet;

use serde_json::value::RawValue;

use crate::error::Result;
use crate::formats::envoy::{EnvoyKind, kind_of, message, stored};
use crate::formats::lines::SourceLines;
use crate::formats::raw_object::RawObject;
use crate::formats::tag::{self, ConversationTag, MessageTag};
use crate::formats::thread_builder::ThreadBuilder;
use crate::formats::{Reading, Source, SourceConversation, SourceMessage};
use crate::model::{Block, Conversation, Message, Time};

pub(super) fn read(source: &Source, reading: &mut Reading<'_>) -> Result<()> {
    let path = source.path();
    let mut lines = SourceLines::open(path, reading)?;
    let mut thread = EnvoyThread::default();
    while lines.advance(reading)? {
        match lines.parse::<RawObject<'_>>() {
            Ok(found) => thread.line(found, source.stem(), &lines, reading)?,
            Err(why) => reading.skip(path, lines.number(), why)?,
        }
    }
    thread.finish(reading)
}

/// A conversation while it is read.
#[derive(Default)]
struct EnvoyThread {
    /// Known from the first line on.
    thread: Option<ThreadBuilder>,
    /// The message from which the program would continue.
    head: Option<String>,
    calls: HashSet<String>,
}

impl EnvoyThread {
    fn line(
        &mut self,
        mut found: RawObject<'_>,
        stem: &str,
        lines: &SourceLines,
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        let kind = kind_of(&mut found);
        if kind.is_none() && self.thread.is_none() {
            return reading.skip(lines.path(), lines.number(), "it does not say which conversation it is of");
        }
        let time: Option<Time> = tag::read(found.raw("timestamp"));
        let tagged = found.raw(tag::FIELD);
        let body = found.raw("message");
        let thread = match &mut self.thread {
            Some(thread) => {
                if let (Some(EnvoyKind::SessionMeta), Some(body)) = (kind, body) {
                    update_conversation(body, &mut thread.conversation, &mut self.head);
                }
                thread
            }
            none => {
                let conversation = first(&mut found, kind, stem, time, tagged, body);
                self.head.clone_from(&conversation.head);
                none.insert(ThreadBuilder::announced(conversation, reading)?)
            }
        };
        let tag: Option<MessageTag> = tag::read(tagged);
        let is_own = tag.is_some();
        let messages = match (kind, body) {
            (Some(EnvoyKind::Conversation), Some(body)) => match stored::read(&mut found, body) {
                Some(stored) => vec![stored_message(thread, stored)],
                None => said(thread, tag, body, &self.calls, (lines.number(), time)),
            },
            _ => Vec::new(),
        };
        let Some(last) = messages.last().map(|last| last.id.clone()) else {
            return thread.aside(lines.number(), lines.text(), reading);
        };
        thread.continue_from(Some(last.clone()));
        // Rejoin writes the head at the beginning; the program continues at the end.
        if !is_own {
            self.head = Some(last);
        }
        for message in messages {
            self.calls.extend(message.message.blocks.iter().filter_map(|block| match block {
                Block::ToolCall(call) => Some(call.id.clone()),
                _ => None,
            }));
            thread.add(message.at(lines.current()), reading)?;
        }
        Ok(())
    }

    fn finish(self, reading: &mut Reading<'_>) -> Result<()> {
        let Some(mut thread) = self.thread else { return Ok(()) };
        thread.finish(self.head, reading)
    }
}

/// Applies a later line about the conversation.
fn update_conversation(body: &RawValue, conversation: &mut SourceConversation, head: &mut Option<String>) {
    let Ok(mut found) = serde_json::from_str::<RawObject<'_>>(body.get()) else { return };
    match found.text("type").as_deref() {
        Some("header") => {
            if let Some(header) = tag::read(found.raw("header")) {
                conversation.header = header;
            }
        }
        Some("head") => *head = found.text("head"),
        _ => {}
    }
}

fn stored_message(thread: &ThreadBuilder, stored: stored::JsonlMessage) -> SourceMessage {
    SourceMessage { keeps: stored.keeps, ..thread.message(stored.id, stored.parent, stored.message) }
}

/// Returns the messages of a line with this number and time.
fn said(
    thread: &mut ThreadBuilder,
    tag: Option<MessageTag>,
    body: &RawValue,
    calls: &HashSet<String>,
    (number, time): (u64, Option<Time>),
) -> Vec<SourceMessage> {
    let mut plain: Vec<Message> = message::read(body, &|call| calls.contains(call));
    plain.iter_mut().for_each(|message| message.created_at = time);
    let is_held = tag.as_ref().is_some_and(|tag| tag.holds(body.get()));
    let Some(own) = plain.pop() else { return Vec::new() };
    if is_held {
        plain.clear();
    }
    let before = thread.last().map(str::to_owned);
    let call = |call| thread.message(format!("l{number}.call"), before.clone(), call);
    let mut messages: Vec<SourceMessage> = plain.into_iter().map(call).collect();
    let above = messages.last().map(|call| call.id.clone());
    let own = thread.next_tagged(tag, format!("l{number}"), body.get(), own);
    messages.push(SourceMessage { parent: above.or_else(|| own.parent.clone()), ..own });
    messages
}

/// Returns the conversation, as described by the first line.
fn first(
    found: &mut RawObject<'_>,
    kind: Option<EnvoyKind>,
    stem: &str,
    time: Option<Time>,
    tagged: Option<&RawValue>,
    body: Option<&RawValue>,
) -> SourceConversation {
    let is_meta = kind == Some(EnvoyKind::SessionMeta);
    if let Some(tag) = tag::read::<ConversationTag>(tagged).filter(|_| is_meta) {
        return tag.into_conversation();
    }
    let id = found.text("sessionId").filter(|id| !id.is_empty()).unwrap_or_else(|| stem.to_owned());
    let mut conversation = SourceConversation::new(id, time.unwrap_or_default());
    let start =
        body.filter(|_| is_meta).and_then(|body| serde_json::from_str::<RawObject<'_>>(body.get()).ok());
    let Some(mut start) = start else { return conversation };
    if let Some(created) = tag::read(start.raw("created")) {
        conversation.created_at = created;
    }
    if let Some(header) = tag::read::<Conversation>(start.raw("header")) {
        conversation.header = header;
        return conversation;
    }
    let mut text = |name: &str| start.text(name).filter(|text| !text.is_empty());
    conversation.header.project = text("projectPath");
    conversation.header.settings.provider = text("provider");
    conversation.header.git_commit = text("gitCommit");
    conversation
}
