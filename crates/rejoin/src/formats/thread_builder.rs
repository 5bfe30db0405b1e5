//! Builds the messages of one conversation while a reader goes through its source.
//!
//! A format knows how its lines are parsed. The rest is the same everywhere:
//!
//! - The conversation is announced before its first message. Lines that come earlier wait for that, and a
//!   conversation without messages is never announced.
//! - A message follows the previous one unless the source names another parent.
//! - A message that arrives in pieces is held until it is complete, within the limit of one line.
//! - At the end the conversation is repeated with everything learned about it and with its head.

use crate::error::Result;
use crate::formats::byte_budget::ByteBudget;
use crate::formats::tag::MessageTag;
use crate::formats::{Aside, Reading, SourceConversation, SourceMessage, SourcePiece};
use crate::model::{Block, Message};

/// The name of a held message in errors.
const MESSAGE: &str = "a message";

/// One conversation while its source is read.
#[derive(Debug)]
pub(super) struct ThreadBuilder {
    /// What is known about it so far.
    pub(super) conversation: SourceConversation,
    is_announced: bool,
    /// Lines that came before the conversation was announced.
    early: Vec<Aside>,
    early_bytes: ByteBudget,
    /// The message that the next one follows.
    last: Option<String>,
    /// A message that may continue.
    held: Option<SourceMessage>,
    held_bytes: ByteBudget,
}

impl ThreadBuilder {
    /// Starts a conversation that is announced with its first message.
    pub(super) const fn new(conversation: SourceConversation) -> Self {
        Self {
            conversation,
            is_announced: false,
            early: Vec::new(),
            early_bytes: ByteBudget::of("what comes before the first message"),
            last: None,
            held: None,
            held_bytes: ByteBudget::of(MESSAGE),
        }
    }

    /// Starts a conversation and announces it, even if no message follows.
    pub(super) fn announced(conversation: SourceConversation, reading: &mut Reading<'_>) -> Result<Self> {
        let mut thread = Self::new(conversation);
        thread.announce(reading)?;
        Ok(thread)
    }

    /// The id of the conversation.
    pub(super) fn id(&self) -> &str {
        &self.conversation.id
    }

    /// True once the conversation was announced.
    pub(super) const fn is_announced(&self) -> bool {
        self.is_announced
    }

    /// Announces the conversation, followed by the lines that came before. Does nothing the second time.
    pub(super) fn announce(&mut self, reading: &mut Reading<'_>) -> Result<()> {
        if self.is_announced {
            return Ok(());
        }
        self.is_announced = true;
        reading.give(SourcePiece::Conversation(Box::new(self.conversation.clone())))?;
        std::mem::take(&mut self.early)
            .into_iter()
            .try_for_each(|aside| reading.give(SourcePiece::Aside(aside)))
    }

    /// Keeps something until the conversation is announced, without a limit: for sources that are bounded
    /// already.
    pub(super) fn keep(&mut self, line: u64, source: impl Into<String>) {
        self.early.push(self.new_aside(line, source));
    }

    /// Keeps a line that is not a message.
    pub(super) fn aside(
        &mut self,
        line: u64,
        source: impl Into<String>,
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        let aside = self.new_aside(line, source);
        if self.is_announced {
            return reading.give(SourcePiece::Aside(aside));
        }
        self.early_bytes.add(&aside.source);
        self.early.push(aside);
        self.early_bytes.check(reading.limits())
    }

    fn new_aside(&self, line: u64, source: impl Into<String>) -> Aside {
        Aside { conversation: self.conversation.id.clone(), line, source: source.into() }
    }

    /// Creates a message that follows the last one and becomes the last one. [`add`](Self::add) passes it on.
    pub(super) fn next(&mut self, id: impl Into<String>, message: Message) -> SourceMessage {
        let id = id.into();
        let parent = self.last.replace(id.clone());
        self.message(id, parent, message)
    }

    /// Creates a message with a parent named by the source. Does not change which message is the last one.
    pub(super) fn message(
        &self,
        id: impl Into<String>,
        parent: Option<String>,
        message: Message,
    ) -> SourceMessage {
        SourceMessage {
            conversation: self.conversation.id.clone(),
            id: id.into(),
            parent,
            message,
            keeps: Vec::new(),
            line: 0,
            source: String::new(),
        }
    }

    /// Like [`next`](Self::next), for a line that may have a tag. `said` is the text of the line, which was
    /// parsed as `plain`; the tag takes precedence.
    pub(super) fn next_tagged(
        &mut self,
        tag: Option<MessageTag>,
        id: String,
        said: &str,
        plain: Message,
    ) -> SourceMessage {
        let message = tag.unwrap_or_default().place(&self.conversation.id, id, self.last.take(), said, plain);
        self.last = Some(message.id.clone());
        message
    }

    /// The message that the next one follows.
    pub(super) fn last(&self) -> Option<&str> {
        self.last.as_deref()
    }

    /// Makes the next message follow another one.
    pub(super) fn continue_from(&mut self, message: Option<String>) {
        self.last = message;
    }

    /// Passes on a message. Announces the conversation first if necessary.
    pub(super) fn add(&mut self, message: SourceMessage, reading: &mut Reading<'_>) -> Result<()> {
        self.announce(reading)?;
        reading.give(SourcePiece::Message(Box::new(message)))
    }

    /// Holds a message that may continue.
    pub(super) fn hold(&mut self, message: SourceMessage) {
        self.held_bytes = ByteBudget::of(MESSAGE);
        self.held_bytes.add(&message.source);
        self.held = Some(message);
    }

    /// The held message.
    pub(super) const fn held(&mut self) -> Option<&mut SourceMessage> {
        self.held.as_mut()
    }

    /// Adds a piece to the held message.
    pub(super) fn extend_held(
        &mut self,
        blocks: Vec<Block>,
        source: &str,
        reading: &Reading<'_>,
    ) -> Result<()> {
        let Some(held) = &mut self.held else { return Ok(()) };
        held.message.blocks.extend(blocks);
        held.append_source(source);
        self.held_bytes.add(source);
        self.held_bytes.check(reading.limits())
    }

    /// Takes the held message, now complete.
    pub(super) const fn take_held(&mut self) -> Option<SourceMessage> {
        self.held.take()
    }

    /// Repeats an announced conversation with its head: the one that the source names, or the last message.
    pub(super) fn finish(&mut self, head: Option<String>, reading: &mut Reading<'_>) -> Result<()> {
        if !self.is_announced {
            return Ok(());
        }
        self.conversation.head = head.or_else(|| self.last.clone());
        reading.give(SourcePiece::Conversation(Box::new(self.conversation.clone())))
    }

    /// Reports that an announced conversation is complete, with those that it started.
    pub(super) fn complete(&self, reading: &mut Reading<'_>) -> Result<()> {
        if self.is_announced { reading.give(SourcePiece::Complete(self.id().to_owned())) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::formats::{ReadLimits, Tree};
    use crate::model::Time;

    fn thread() -> ThreadBuilder {
        ThreadBuilder::new(SourceConversation::new("c", Time::default()))
    }

    /// The pieces of a reading, in short.
    fn pieces(read: impl FnOnce(&mut Reading<'_>) -> Result<()>) -> Vec<String> {
        let mut pieces = Vec::new();
        let mut take = |piece| {
            pieces.push(match piece {
                SourcePiece::Conversation(known) => format!("conversation {:?}", known.head),
                SourcePiece::Message(found) => format!("message {} after {:?}", found.id, found.parent),
                SourcePiece::Aside(aside) => format!("aside {} {}", aside.line, aside.source),
                SourcePiece::Complete(id) => format!("complete {id}"),
                other => format!("{other:?}"),
            });
            Ok(())
        };
        read(&mut Reading::new(ReadLimits::default(), &mut take)).unwrap();
        pieces
    }

    #[test]
    fn a_conversation_is_announced_before_what_is_in_it() {
        let told = pieces(|reading| {
            let mut thread = thread();
            thread.aside(1, "first", reading)?;
            let message = thread.next("a", Message::user("hello"));
            thread.add(message, reading)?;
            thread.aside(3, "third", reading)?;
            let message = thread.next("b", Message::assistant("hi"));
            thread.add(message, reading)?;
            thread.finish(None, reading)?;
            thread.complete(reading)
        });

        let expected = [
            "conversation None",
            "aside 1 first",
            "message a after None",
            "aside 3 third",
            "message b after Some(\"a\")",
            "conversation Some(\"b\")",
            "complete c",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn a_conversation_without_messages_is_not_announced() {
        let told = pieces(|reading| {
            let mut thread = thread();
            thread.aside(1, "first", reading)?;
            thread.finish(None, reading)?;
            thread.complete(reading)
        });

        assert_eq!(told, [""; 0]);
    }

    #[test]
    fn the_next_message_follows_the_one_that_is_continued_from() {
        let mut thread = thread();

        let parents = [
            thread.next("a", Message::user("1")).parent,
            thread.message("x", Some("y".to_owned()), Message::user("2")).parent,
            thread.next("b", Message::user("3")).parent,
            {
                thread.continue_from(Some("a".to_owned()));
                thread.next_tagged(None, "c".to_owned(), "4", Message::user("4")).parent
            },
        ];

        assert_eq!(parents.map(Option::unwrap_or_default), ["", "y", "a", "a"]);
        assert_eq!(thread.last(), Some("c"));
    }

    #[test]
    fn what_is_held_is_bounded_by_the_limit_of_a_line() {
        let limits = ReadLimits { line_bytes: 5, ..ReadLimits::default() };
        let (mut early, mut held) = (thread(), thread());
        let mut outcomes = Vec::new();

        Tree::gather(limits, |reading| {
            outcomes.extend(["123", "456"].map(|text| early.aside(1, text, reading)));
            let message = held.next("a", Message::user(""));
            held.hold(message);
            outcomes.extend(["123", "456"].map(|text| held.extend_held(Vec::new(), text, reading)));
            Ok(())
        })
        .unwrap();

        let kinds: Vec<_> =
            outcomes.into_iter().map(|outcome| outcome.err().map(|error| error.kind())).collect();
        assert_eq!(kinds, [None, Some(ErrorKind::Invalid), None, Some(ErrorKind::Invalid)]);
        assert_eq!(held.take_held().map(|message| message.source), Some("\n123\n456".to_owned()));
    }
}
