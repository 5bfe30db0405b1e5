//! Reads a conversation, turn by turn.

use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::formats::codex::items::ConversationItem;
use crate::formats::cody::items;
use crate::formats::cody::line::{self, CodyLine, CodyTag, ConversationMeta, LineContent};
use crate::formats::lines::SourceLines;
use crate::formats::raw_object::RawObject;
use crate::formats::tag::MessageTag;
use crate::formats::thread_builder::ThreadBuilder;
use crate::formats::{Reading, Source, SourceConversation, SourceKept, SourceMessage};
use crate::model::{Block, Message, Role, Time};

/// How many of the newest prompts stay visible next to a summary. The program does not record which it keeps,
/// only that they are recent.
const KEPT: usize = 100;

pub(super) fn read(source: &Source, reading: &mut Reading<'_>) -> Result<()> {
    let path = source.path();
    if source.bytes() == 0 {
        return Err(Error::invalid("there are no turns in it"));
    }
    let mut lines = SourceLines::open(path, reading)?;
    let conversation = SourceConversation::new(source.stem(), Time::default());
    let mut thread = CodyThread { thread: ThreadBuilder::new(conversation), head: None, prompts: Vec::new() };
    while lines.advance(reading)? {
        match lines.parse::<RawObject<'_>>() {
            Ok(found) => thread.line(line::of(found), &lines, reading)?,
            Err(why) => reading.skip(path, lines.number(), why)?,
        }
    }
    thread.finish(reading)
}

/// A conversation while it is read.
struct CodyThread {
    thread: ThreadBuilder,
    head: Option<String>,
    /// The user's prompts, which a compaction of the program keeps.
    prompts: Vec<String>,
}

impl CodyThread {
    fn line(&mut self, line: CodyLine<'_>, lines: &SourceLines, reading: &mut Reading<'_>) -> Result<()> {
        let number = lines.number();
        if !self.thread.is_announced() && !line.is_known() {
            return reading.skip(lines.path(), number, "it is neither a turn nor about a conversation");
        }
        let tag = line.tag.unwrap_or_default();
        self.announce(&line.said, &tag, line.time, reading)?;
        let found = match &line.said {
            LineContent::Turn { items, provider, model } => {
                let settings = &mut self.thread.conversation.header.settings;
                if tag.messages.is_empty() {
                    settings.provider = provider.clone().or(settings.provider.take());
                    settings.model = model.clone().or(settings.model.take());
                }
                let turn = items::read(items);
                let sources: Vec<String> = turn.iter().map(|found| found.source.clone()).collect();
                let own = |found: items::TurnMessage| (format!("l{number}.{}", found.place), found.message);
                let mut messages =
                    self.messages(tag, items.get(), turn.into_iter().map(own).collect(), line.time);
                // Only the first has the text of the line, or a long turn would be stored many times.
                for (message, source) in messages.iter_mut().zip(sources).skip(1) {
                    message.source = source;
                }
                messages
            }
            LineContent::Item(item) => {
                let own = one(item).map(|message| (format!("l{number}"), message));
                self.messages(tag, item.get(), own.into_iter().collect(), line.time)
            }
            LineContent::Compacted(summary) => {
                let block = Block::Summary(summary.clone());
                let own = vec![(format!("l{number}"), Message::new(Role::User, vec![block]))];
                let is_own = !tag.messages.is_empty();
                let mut found = self.messages(tag, &summary.text, own, line.time);
                if let (false, Some(summary)) = (is_own, found.first_mut()) {
                    let first = self.prompts.len().saturating_sub(KEPT);
                    summary.keeps = self.prompts[first..].iter().cloned().map(SourceKept::from).collect();
                }
                found
            }
            LineContent::Meta(_) | LineContent::Mark | LineContent::Unknown => Vec::new(),
        };
        let source = lines.text();
        if found.is_empty() {
            return self.thread.aside(number, source, reading);
        }
        for (place, mut message) in found.into_iter().enumerate() {
            message.line = number;
            if place == 0 {
                source.clone_into(&mut message.source);
            }
            self.thread.add(message, reading)?;
        }
        Ok(())
    }

    /// Announces the conversation, as described by its first line.
    fn announce(
        &mut self,
        said: &LineContent<'_>,
        tag: &CodyTag,
        time: Option<Time>,
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        if self.thread.is_announced() {
            return Ok(());
        }
        if let Some(tagged) = &tag.conversation {
            self.thread.conversation = tagged.clone().into_conversation();
            self.head.clone_from(&self.thread.conversation.head);
        } else {
            self.thread.conversation.created_at = time.unwrap_or_default();
            if let LineContent::Meta(meta) = said {
                self.update_conversation(meta);
            }
        }
        self.thread.announce(reading)
    }

    fn update_conversation(&mut self, meta: &ConversationMeta) {
        let conversation = &mut self.thread.conversation;
        if let Some(id) = meta.id.as_ref().filter(|id| !id.is_empty()) {
            conversation.id.clone_from(id);
        }
        conversation.created_at = meta.time.unwrap_or(conversation.created_at);
        let header = &mut conversation.header;
        header.project.clone_from(&meta.directory);
        header.settings.provider.clone_from(&meta.provider);
        header.settings.model.clone_from(&meta.model);
    }

    /// Returns the messages of a line with the text `said`: from its tags if they are valid, otherwise as
    /// parsed.
    fn messages(
        &mut self,
        tag: CodyTag,
        said: &str,
        mut plain: Vec<(String, Message)>,
        time: Option<Time>,
    ) -> Vec<SourceMessage> {
        plain.iter_mut().for_each(|(_, message)| message.created_at = time);
        let is_held = || tag.messages.iter().all(|tag| tag.holds(said));
        let is_tagged = !tag.messages.is_empty() && (tag.messages.len() == plain.len() || is_held());
        let tags: Vec<Option<MessageTag>> = if is_tagged {
            tag.messages.into_iter().map(Some).collect()
        } else {
            plain.iter().map(|_| None).collect()
        };
        // Messages without items exist only in the tag.
        plain.resize_with(tags.len(), || (String::new(), Message::new(Role::User, Vec::new())));
        let mut found = Vec::new();
        for (tag, (own, message)) in tags.into_iter().zip(plain) {
            let placed = self.thread.next_tagged(tag, own, said, message);
            let is_summary = placed.message.blocks.iter().any(|block| matches!(block, Block::Summary(_)));
            if placed.message.role == Role::User && !is_summary {
                self.prompts.push(placed.id.clone());
            }
            found.push(placed);
        }
        if !is_tagged && !found.is_empty() {
            self.head = self.thread.last().map(str::to_owned);
        }
        found
    }

    fn finish(mut self, reading: &mut Reading<'_>) -> Result<()> {
        self.thread.finish(self.head, reading)
    }
}

/// Returns the message of a line with one item.
fn one(item: &RawValue) -> Option<Message> {
    Some(match items::read_one(item) {
        ConversationItem::Said(role, blocks) => Message::new(role, blocks),
        ConversationItem::Reply(blocks) => Message::new(Role::Assistant, blocks),
        ConversationItem::Result(block) => Message::new(Role::Tool, vec![block]),
        ConversationItem::Mark => return None,
    })
}
