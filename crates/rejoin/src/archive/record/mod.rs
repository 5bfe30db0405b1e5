//! Saves a talk while it happens, and never stands in its way.
//!
//! A finished message is appended. A reply that is still arriving is the open turn, which replaces
//! itself and is not history; it goes in the same write that appends the finished reply. When the store
//! fails, messages wait here in order and are tried again with growing pauses; nothing is written
//! twice, because a turn keeps its ids.
//!
//! The message of the user is to be appended before the request leaves. A crash then leaves a complete turn,
//! or an open one that can be kept or discarded.

mod breaker;
mod open_turn;
mod strain;
mod tally;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

pub(crate) use breaker::Breaker;
pub use open_turn::OpenTurn;
pub use strain::Strain;
pub(crate) use strain::{Strains, is_for_want_of_room};

use crate::archive::handle::PreparedTurn;
use crate::archive::status::Ending;
use crate::archive::{Archive, Handle};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    Block, Conversation, ConversationId, Incomplete, Message, MessageId, Receipt, StoredConversation,
};
use crate::ops::{in_line, stamp};
use crate::store::{Displaced, Safety, Stale};
use tally::RecordTally;

/// How long the name of an open turn is: two programs must never choose the same.
const NAME_LENGTH: usize = 10;

/// Saves a talk while it happens.
///
/// A conversation that another program deletes meanwhile stays deleted. What is said afterwards goes to a new
/// one with the same project, kind and settings, and the receipt names it. When only the message that the
/// next one would follow is gone, the talk goes on from the conversation's head.
pub struct Recorder {
    handle: Handle,
    /// Who records, so that another program can tell whether this one still lives.
    writer: String,
    /// What the open turn is stored under.
    name: MessageId,
    /// True when the store may hold an open turn of this recorder.
    has_open_turn: bool,
    waiting: VecDeque<WaitingTurn>,
    breaker: Breaker,
    cause: Option<Error>,
    /// What a conversation in the place of a deleted one begins with.
    header: Conversation,
    reopen: Option<Box<ReopenArchive>>,
    is_store_in_doubt: bool,
    tally: RecordTally,
    strains: Strains,
    begun_again: Vec<BegunAgain>,
}

/// A conversation that was deleted while it was recorded, and the one in which the talk goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BegunAgain {
    /// The one that is gone.
    pub deleted: ConversationId,
    /// The one that has what was said since.
    pub conversation: ConversationId,
}

type ReopenArchive = dyn FnMut() -> Result<Archive> + Send;

/// A turn that is not on disk.
#[derive(Debug)]
struct WaitingTurn {
    messages: Vec<Message>,
    bytes: u64,
    /// Once it was its turn to be tried.
    prepared: Option<PreparedTurn>,
}

/// What became of messages that were to be saved.
#[derive(Debug)]
pub enum Saved {
    /// They are on disk.
    Now(Receipt),
    /// They wait in memory; [`Recorder::retry`] tries again.
    Later,
}

impl Recorder {
    /// Records what follows the handle's head. `writer` names this process to others, such as `1234@5678`.
    pub fn new(handle: Handle, writer: impl Into<String>) -> Self {
        let name = handle.archive().fresh_id_of(NAME_LENGTH);
        let header = handle.header().unwrap_or_default();
        Self {
            handle,
            writer: writer.into(),
            name,
            has_open_turn: false,
            waiting: VecDeque::new(),
            breaker: Breaker::default(),
            cause: None,
            header,
            reopen: None,
            is_store_in_doubt: false,
            tally: RecordTally::default(),
            strains: Strains::default(),
            begun_again: Vec::new(),
        }
    }

    /// Sets how to find out how many bytes may still be written, so that little
    /// room is told before there is none.
    #[must_use]
    pub fn watching_room(mut self, room: impl Fn() -> Option<u64> + Send + 'static) -> Self {
        self.strains.watch_room(room);
        self
    }

    /// Signs that the store is under strain, since this was last asked. Each is told once until it is over.
    pub fn take_strains(&mut self) -> Vec<Strain> {
        self.strains.take()
    }

    /// The conversations that were deleted, since this was last asked, so that the talk went on in others.
    pub fn take_begun_again(&mut self) -> Vec<BegunAgain> {
        std::mem::take(&mut self.begun_again)
    }

    /// Sets how to open the store again. A store whose file system failed once
    /// takes no more until that is done.
    #[must_use]
    pub fn reopening(mut self, open: impl FnMut() -> Result<Archive> + Send + 'static) -> Self {
        self.reopen = Some(Box::new(open));
        self
    }

    /// The conversation that is recorded.
    pub const fn conversation(&self) -> ConversationId {
        self.handle.id()
    }

    /// The handle underneath; its head is that of the last message on disk.
    pub const fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Saves finished messages as one turn, and takes the open turn away in the same write.
    ///
    /// Only a turn that is wrong in itself is an error: one that is not complete, or too large. It is not
    /// kept then. When the store fails the messages wait.
    pub fn append(&mut self, mut messages: Vec<Message>) -> Result<Saved> {
        if let Some(lack) = Incomplete::of(&messages) {
            return Err(Error::invalid(format!("the turn is not complete: {lack}")));
        }
        let now = self.handle.archive().now();
        // The time is when it was said, however long it waits to be saved.
        stamp(&mut messages, now);
        let ahead = self.waiting.iter().map(|turn| turn.bytes).sum();
        let prepared = self.handle.prepare(in_line(messages.iter().map(Cow::Borrowed)), ahead)?;
        self.tally.note(&messages, now);
        let bytes = prepared.bytes();
        // A turn behind others will follow a message that is not stored yet, so it is prepared again then.
        let prepared = self.waiting.is_empty().then_some(prepared);
        self.waiting.push_back(WaitingTurn { messages, bytes, prepared });
        self.retry()
    }

    /// Tries to save what waits, unless the store failed so recently that trying again would only cost time.
    ///
    /// The answer is about the newest turn. It is an error when the store refused
    /// that one for good, and it is dropped.
    pub fn retry(&mut self) -> Result<Saved> {
        if self.breaker.allows(self.handle.archive().now()) { self.flush() } else { Ok(Saved::Later) }
    }

    /// Tries to save what waits, however recently the store failed: for the end of a talk.
    pub fn flush(&mut self) -> Result<Saved> {
        let mut outcome = Ok(Saved::Later);
        while !self.waiting.is_empty() {
            let begun = self.handle.archive().now();
            outcome = match self.save_first() {
                Ok(receipt) => {
                    self.succeeded();
                    let took = self.handle.archive().now().as_micros() - begun.as_micros();
                    self.strains.wrote(Duration::from_micros(u64::try_from(took).unwrap_or(0)));
                    self.handle.archive().tell_strains(&mut self.strains, self.handle.id());
                    tracing::debug!("Persisted {} messages", receipt.messages.len());
                    Ok(Saved::Now(receipt))
                }
                Err(error) if error.kind() == ErrorKind::Invalid => {
                    tracing::error!(?error, "a turn cannot be saved");
                    Err(error)
                }
                Err(error) => {
                    self.failed(error);
                    return Ok(Saved::Later);
                }
            };
            self.waiting.pop_front();
        }
        outcome
    }

    fn save_first(&mut self) -> Result<Receipt> {
        self.reopen_store()?;
        match self.commit_first() {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Conflict) => {
                self.find_footing()?;
                self.commit_first()
            }
            other => other,
        }
    }

    fn commit_first(&mut self) -> Result<Receipt> {
        let first = self.waiting.front_mut().expect("a turn waits");
        let prepared = match &mut first.prepared {
            Some(prepared) => prepared,
            slot => slot.insert(self.handle.prepare(in_line(first.messages.iter().map(Cow::Borrowed)), 0)?),
        };
        let erasure = open_turn::erasure(self.handle.id(), &self.name);
        let blobs = if self.has_open_turn { &[erasure][..] } else { &[] };
        let receipt = self.handle.commit(prepared, Stale::Branch, blobs)?;
        self.has_open_turn = false;
        Ok(receipt)
    }

    /// Finds out what can be recorded next, when what it was to follow is not there.
    fn find_footing(&mut self) -> Result<()> {
        match self.handle.look_again() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let deleted = self.handle.id();
                self.handle = self.handle.archive().start(self.header.clone().begun_again())?;
                self.has_open_turn = false;
                let conversation = self.handle.id();
                self.begun_again.push(BegunAgain { deleted, conversation });
                tracing::warn!(%deleted, %conversation, "the conversation was deleted; the talk goes on in a new one");
            }
            other => other?,
        }
        if let Some(first) = self.waiting.front_mut() {
            first.prepared = None;
        }
        Ok(())
    }

    fn reopen_store(&mut self) -> Result<()> {
        if let Some(reopen) = self.reopen.as_mut().filter(|_| self.is_store_in_doubt) {
            self.handle.reopen(reopen.as_mut())?;
            self.is_store_in_doubt = false;
        }
        Ok(())
    }

    fn succeeded(&mut self) {
        self.breaker.succeeded();
        self.cause = None;
    }

    fn failed(&mut self, error: Error) {
        tracing::warn!("Conversation persistence failed: {error}");
        self.is_store_in_doubt |= is_in_doubt(&error);
        self.breaker.failed(self.handle.archive().now());
        self.strains.failed(&error);
        self.cause = Some(error);
    }

    /// Saves what has arrived of a reply, in place of what was saved before,
    /// and returns whether it is on disk.
    ///
    /// It is not while the store fails, or while messages before it wait: what it follows would not be there.
    /// Thinking that is still arriving is marked by the field `isThinkingComplete`, `false`. It is never kept
    /// as a message, so nothing is written before there is more than thinking.
    pub fn save_open(&mut self, partial: &Message, results: &[Message]) -> bool {
        let is_possible = self.waiting.is_empty() && self.breaker.allows(self.handle.archive().now());
        is_possible && self.flush_open(partial, results)
    }

    /// The same, however recently the store failed: for the end of a talk.
    pub fn flush_open(&mut self, partial: &Message, results: &[Message]) -> bool {
        if !self.waiting.is_empty() {
            return false;
        }
        let is_only_thinking = partial.blocks.iter().all(|block| matches!(block, Block::Thinking(_)));
        if is_only_thinking && !self.has_open_turn {
            return true;
        }
        let archive = self.handle.archive();
        let (partial, results) = (archive.redacted_partial(partial), archive.redacted_results(results));
        let mut put = self.put_open(&partial, &results);
        if put.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            put = self.find_footing().and_then(|()| self.put_open(&partial, &results));
        }
        match put {
            Ok(()) => self.succeeded(),
            Err(error) => self.failed(error),
        }
        self.cause.is_none()
    }

    fn put_open(&mut self, partial: &Message, results: &[Message]) -> Result<()> {
        self.reopen_store()?;
        let now = self.handle.archive().now();
        let bytes = open_turn::encode(self.handle.head(), &self.writer, now, partial, results);
        // It may be stored in spite of an error, and has to go away all the same.
        self.has_open_turn = true;
        let blob = open_turn::blob(self.handle.id(), &self.name, &bytes);
        self.handle.archive().store().put(&[blob], Safety::Synced)
    }

    /// Takes the open turn away: what had arrived is not wanted.
    pub fn discard_open(&mut self) -> Result<()> {
        if self.has_open_turn {
            self.reopen_store()?;
            self.handle.archive().open_turns().discard(self.handle.id(), self.name)?;
            self.has_open_turn = false;
        }
        Ok(())
    }

    /// How many messages wait to be saved.
    pub fn waiting(&self) -> usize {
        self.waiting.iter().map(|turn| turn.messages.len()).sum()
    }

    /// Gives up what waits, and returns it: for the end of a talk whose store did not come back.
    pub fn take_waiting(&mut self) -> Vec<Message> {
        self.waiting.drain(..).flat_map(|turn| turn.messages).collect()
    }

    /// Why the store failed when it was last tried.
    pub const fn cause(&self) -> Option<&Error> {
        self.cause.as_ref()
    }

    /// How long to wait before trying again.
    pub fn pause(&self) -> Duration {
        self.breaker.pause(self.handle.archive().now())
    }

    /// Goes on from another message: what is recorded next follows it.
    ///
    /// While messages wait this fails, because they have to stand where they were said.
    pub fn rewind(&mut self, to: MessageId) -> Result<()> {
        self.settle()?;
        self.handle.rewind(to)
    }

    /// Goes on before the first message: what is said next is another beginning of the conversation. The
    /// conversation's head moves only then. While messages wait this fails.
    pub fn restart(&mut self) -> Result<()> {
        self.settle()?;
        self.handle.restart();
        Ok(())
    }

    /// Goes on in a new branch that starts at a message. While messages wait this fails.
    pub fn fork(&mut self, at: MessageId, title: &str) -> Result<()> {
        self.settle()?;
        self.handle = self.handle.fork(at, title)?;
        Ok(())
    }

    /// Ends the talk for now, and adds what was measured while it was recorded.
    /// While messages wait this fails.
    pub fn end(&mut self, ending: Ending) -> Result<StoredConversation> {
        self.settle()?;
        let stored = self.handle.archive().end_measured(self.handle.id(), ending, &self.tally.metrics())?;
        self.tally = RecordTally::default();
        Ok(stored)
    }

    /// Saves what waits, or fails.
    fn settle(&mut self) -> Result<()> {
        self.flush()?;
        match self.waiting() {
            0 => self.reopen_store(),
            messages => {
                let error =
                    Error::new(ErrorKind::Unavailable, format!("{messages} messages are not saved yet"));
                Err(self
                    .cause
                    .take()
                    .map_or(error, |cause| cause.during(format!("save {messages} messages"))))
            }
        }
    }
}

/// True when what the store holds is unknown until it is opened again.
///
/// One whose files were taken away stays open: another one would be made in its place, and this one takes
/// writes again once its files are back.
pub(crate) fn is_in_doubt(error: &Error) -> bool {
    error.kind() == ErrorKind::Unavailable && Displaced::cause_of(error).is_none()
}

impl Conversation {
    /// The same without what was said in it: its title and synopsis may repeat what was deleted.
    fn begun_again(self) -> Self {
        Self {
            project: self.project,
            kind: self.kind,
            settings: self.settings,
            participants: self.participants,
            privacy: self.privacy,
            git_commit: self.git_commit,
            extra: self.extra,
            ..Self::default()
        }
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("handle", &self.handle)
            .field("writer", &self.writer)
            .field("waiting", &self.waiting())
            .field("cause", &self.cause)
            .finish_non_exhaustive()
    }
}

impl Archive {
    /// Records a conversation from a handle on it.
    pub fn record(&self, handle: Handle, writer: impl Into<String>) -> Recorder {
        Recorder::new(handle, writer)
    }
}
