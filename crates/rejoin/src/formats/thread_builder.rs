//! Builds the messages of one conversation while a reader goes through its source.
//!
//! A reader knows how its format is read. The rest is the same for every format and is here:
//!
//! - The conversation is announced before its first message; lines that come earlier wait for that. A conversation
//!   without messages is not announced at all.
//! - A message follows the one before it, unless the source says otherwise.
//! - A message that is read in pieces is held until nothing more of it comes, within the limit of one line.
//! - At the end the conversation is repeated, with everything that was learnt about it and with its head.

use crate::error::Result;
use crate::formats::byte_budget::ByteBudget;
use crate::formats::tag::MessageTag;
use crate::formats::{Aside, Piece, Reading, SourceConversation, SourceMessage};
use crate::model::{Block, Message};

/// What the limit of a held message is about.
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
    /// A message of which more pieces may come.
    held: Option<SourceMessage>,
    held_bytes: ByteBudget,
}

impl ThreadBuilder {
    /// Begins a conversation that is announced with its first message.
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

    /// Begins a conversation and announces it, whether it has messages or not.
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

    /// Announces the conversation, with the lines that came before. The second time does nothing.
    pub(super) fn announce(&mut self, reading: &mut Reading<'_>) -> Result<()> {
        if self.is_announced {
            return Ok(());
        }
        self.is_announced = true;
        reading.give(Piece::Conversation(Box::new(self.conversation.clone())))?;
        std::mem::take(&mut self.early).into_iter().try_for_each(|aside| reading.give(Piece::Aside(aside)))
    }

    /// Keeps what is no message until the conversation is announced, for sources that are bounded themselves.
    pub(super) fn keep(&mut self, line: u64, source: impl Into<String>) {
        self.early.push(self.new_aside(line, source));
    }

    /// Keeps a line that is no message.
    pub(super) fn aside(
        &mut self,
        line: u64,
        source: impl Into<String>,
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        let aside = self.new_aside(line, source);
        if self.is_announced {
            return reading.give(Piece::Aside(aside));
        }
        self.early_bytes.add(&aside.source);
        self.early.push(aside);
        self.early_bytes.check(reading.limits())
    }

    fn new_aside(&self, line: u64, source: impl Into<String>) -> Aside {
        Aside { conversation: self.conversation.id.clone(), line, source: source.into() }
    }

    /// A message that follows the last one and becomes the last one. It is not handed over yet.
    pub(super) fn next(&mut self, id: impl Into<String>, message: Message) -> SourceMessage {
        let id = id.into();
        let parent = self.last.replace(id.clone());
        self.message(id, parent, message)
    }

    /// A message with a parent that the source names. The last one stays what it is.
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

    /// Like [`next`](Self::next), for a message that Rejoin may have tagged. A tag takes precedence over the message as
    /// it stands there, `said`, of which a reader makes `plain`.
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

    /// Lets the next message follow another one than the last.
    pub(super) fn continue_from(&mut self, message: Option<String>) {
        self.last = message;
    }

    /// Hands over a message, after the announcement of its conversation.
    pub(super) fn add(&mut self, message: SourceMessage, reading: &mut Reading<'_>) -> Result<()> {
        self.announce(reading)?;
        reading.give(Piece::Message(Box::new(message)))
    }

    /// Holds a message of which more pieces may come.
    pub(super) fn hold(&mut self, message: SourceMessage) {
        self.held_bytes = ByteBudget::of(MESSAGE);
        self.held_bytes.add(&message.source);
        self.held = Some(message);
    }

    /// The message that is held.
    pub(super) const fn held(&mut self) -> Option<&mut SourceMessage> {
        self.held.as_mut()
    }

    /// Adds a piece to the message that is held.
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

    /// Takes the message that is held, complete.
    pub(super) const fn take_held(&mut self) -> Option<SourceMessage> {
        self.held.take()
    }

    /// Repeats an announced conversation with its head.
    pub(super) fn finish(&mut self, head: Option<String>, reading: &mut Reading<'_>) -> Result<()> {
        if !self.is_announced {
            return Ok(());
        }
        self.conversation.head = head;
        reading.give(Piece::Conversation(Box::new(self.conversation.clone())))
    }

    /// Says that nothing more comes of an announced conversation, nor of one that it started.
    pub(super) fn complete(&self, reading: &mut Reading<'_>) -> Result<()> {
        if self.is_announced { reading.give(Piece::Complete(self.id().to_owned())) } else { Ok(()) }
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
                Piece::Conversation(known) => format!("conversation {:?}", known.head),
                Piece::Message(found) => format!("message {} after {:?}", found.id, found.parent),
                Piece::Aside(aside) => format!("aside {} {}", aside.line, aside.source),
                Piece::Complete(id) => format!("complete {id}"),
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
            thread.finish(Some("b".to_owned()), reading)?;
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
