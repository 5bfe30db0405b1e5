//! Reads a conversation, line by line.

use std::collections::HashSet;

use serde_json::value::RawValue;

use crate::error::Result;
use crate::formats::envoy::{Kind, kind_of, message, stored};
use crate::formats::found::Found;
use crate::formats::lines::Lines;
use crate::formats::tag::{self, ConversationTag, MessageTag};
use crate::formats::{Aside, Piece, Reading, Source, SourceConversation, SourceMessage};
use crate::model::{Block, Conversation, Message, Time};

pub(super) fn read(source: &Source, reading: &mut Reading<'_>) -> Result<()> {
    let path = source.path();
    let mut lines = Lines::open(path, reading)?;
    let mut strand = Strand::default();
    while lines.advance(reading)? {
        match lines.parse::<Found<'_>>() {
            Ok(found) => strand.line(found, source.stem(), &lines, reading)?,
            Err(why) => reading.skip(path, lines.number(), why)?,
        }
    }
    strand.finish(reading)
}

/// A conversation while it is read.
#[derive(Default)]
struct Strand {
    /// Known from the first line on.
    conversation: Option<SourceConversation>,
    last: Option<String>,
    /// The message that the program would go on from.
    head: Option<String>,
    calls: HashSet<String>,
}

impl Strand {
    fn line(
        &mut self,
        mut found: Found<'_>,
        stem: &str,
        lines: &Lines,
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        let kind = kind_of(&mut found);
        if kind.is_none() && self.conversation.is_none() {
            return reading.skip(lines.path(), lines.number(), "it does not say which conversation it is of");
        }
        let time: Option<Time> = tag::read(found.raw("timestamp"));
        let tagged = found.raw(tag::FIELD);
        let body = found.raw("message");
        if self.conversation.is_none() {
            let conversation = first(&mut found, kind, stem, time, tagged, body);
            self.head.clone_from(&conversation.head);
            reading.give(Piece::Conversation(Box::new(conversation.clone())))?;
            self.conversation = Some(conversation);
        } else if let (Some(Kind::SessionMeta), Some(body)) = (kind, body) {
            self.learn(body);
        }
        let messages = match (kind, body) {
            (Some(Kind::Conversation), Some(body)) => {
                self.messages(&mut found, tagged, body, (lines.number(), time))
            }
            _ => Vec::new(),
        };
        if messages.is_empty() {
            let conversation = self.id().to_owned();
            let (line, source) = (lines.number(), lines.text().to_owned());
            return reading.give(Piece::Aside(Aside { conversation, line, source }));
        }
        for mut message in messages {
            message.line = lines.number();
            message.source = lines.text().to_owned();
            reading.give(Piece::Message(Box::new(message)))?;
        }
        Ok(())
    }

    fn id(&self) -> &str {
        self.conversation.as_ref().map_or("", |conversation| &conversation.id)
    }

    /// What a later line says about the conversation.
    fn learn(&mut self, body: &RawValue) {
        let Ok(mut found) = serde_json::from_str::<Found<'_>>(body.get()) else { return };
        match found.text("type").as_deref() {
            Some("header") => {
                if let (Some(own), Some(header)) = (&mut self.conversation, tag::read(found.raw("header"))) {
                    own.header = header;
                }
            }
            Some("head") => self.head = found.text("head"),
            _ => {}
        }
    }

    fn messages(
        &mut self,
        found: &mut Found<'_>,
        tagged: Option<&RawValue>,
        body: &RawValue,
        place: (u64, Option<Time>),
    ) -> Vec<SourceMessage> {
        let tag: Option<MessageTag> = tag::read(tagged);
        let messages = match stored::read(found, body) {
            Some(stored) => vec![self.stored(stored)],
            None => self.said(tag.clone(), body, place),
        };
        for found in &messages {
            self.calls.extend(found.message.blocks.iter().filter_map(|block| match block {
                Block::ToolCall(call) => Some(call.id.clone()),
                _ => None,
            }));
        }
        if let Some(last) = messages.last() {
            self.last = Some(last.id.clone());
            // Rejoin says at the beginning where the head is; the program goes on from the end.
            if tag.is_none() {
                self.head.clone_from(&self.last);
            }
        }
        messages
    }

    fn stored(&self, stored: stored::Stored) -> SourceMessage {
        SourceMessage {
            conversation: self.id().to_owned(),
            id: stored.id,
            parent: stored.parent,
            message: stored.message,
            keeps: stored.keeps,
            line: 0,
            source: String::new(),
        }
    }

    /// The messages of a line with this number and time.
    fn said(
        &self,
        tag: Option<MessageTag>,
        body: &RawValue,
        (number, time): (u64, Option<Time>),
    ) -> Vec<SourceMessage> {
        let mut plain: Vec<Message> = message::read(body, &|call| self.calls.contains(call));
        plain.iter_mut().for_each(|message| message.created_at = time);
        let is_held = tag.as_ref().is_some_and(|tag| tag.holds(body.get()));
        let Some(own) = plain.pop() else { return Vec::new() };
        let mut messages: Vec<SourceMessage> = Vec::new();
        if !is_held {
            for call in plain {
                let id = format!("l{number}.call");
                messages.push(MessageTag::place(None, self.id(), id, self.last.clone(), ("", call)));
            }
        }
        let before = messages.last().map(|call| call.id.clone());
        let own = MessageTag::place(
            tag,
            self.id(),
            format!("l{number}"),
            before.clone().or_else(|| self.last.clone()),
            (body.get(), own),
        );
        messages.push(SourceMessage { parent: before.or_else(|| own.parent.clone()), ..own });
        messages
    }

    fn finish(self, reading: &mut Reading<'_>) -> Result<()> {
        let Some(mut conversation) = self.conversation else { return Ok(()) };
        conversation.head = self.head.or(self.last);
        reading.give(Piece::Conversation(Box::new(conversation)))
    }
}

/// What the first line says of the conversation.
fn first(
    found: &mut Found<'_>,
    kind: Option<Kind>,
    stem: &str,
    time: Option<Time>,
    tagged: Option<&RawValue>,
    body: Option<&RawValue>,
) -> SourceConversation {
    let is_meta = kind == Some(Kind::SessionMeta);
    if let Some(tag) = tag::read::<ConversationTag>(tagged).filter(|_| is_meta) {
        return tag.into_conversation();
    }
    let id = found.text("sessionId").filter(|id| !id.is_empty()).unwrap_or_else(|| stem.to_owned());
    let mut conversation = SourceConversation::new(id, time.unwrap_or_default());
    let start = body.filter(|_| is_meta).and_then(|body| serde_json::from_str::<Found<'_>>(body.get()).ok());
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
