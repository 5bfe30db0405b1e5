//! Saves a talk while it happens, and never stands in its way.
//!
//! A finished message is appended. A reply that is still arriving is the open turn, which replaces itself and is not
//! history; it goes in the same write that appends the finished reply. When the store fails, messages wait here in
//! order and are tried again with growing pauses; nothing is written twice, because a turn keeps its ids.

mod breaker;
mod open_turn;

use std::collections::VecDeque;
use std::time::Duration;

pub use open_turn::OpenTurn;

use crate::archive::handle::Prepared;
use crate::archive::{Archive, Handle};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{ConversationId, Message, MessageId, Receipt};
use crate::store::{Put, Safety, Space, Stale};
use breaker::Breaker;

/// How long the name of an open turn is: two programs must never choose the same.
const NAME_LENGTH: usize = 10;

/// Saves a talk while it happens.
#[derive(Debug)]
pub struct Recorder {
    handle: Handle,
    /// Who records, so that another program can tell whether this one still lives.
    writer: String,
    /// What the open turn is stored under.
    name: MessageId,
    has_open_turn: bool,
    waiting: VecDeque<Vec<Message>>,
    /// The first of the waiting turns, once it was tried.
    tried: Option<Prepared>,
    breaker: Breaker,
    cause: Option<Error>,
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
        Self {
            handle,
            writer: writer.into(),
            name,
            has_open_turn: false,
            waiting: VecDeque::new(),
            tried: None,
            breaker: Breaker::default(),
            cause: None,
        }
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
    /// Only a request that is wrong in itself, such as a turn that is too large, is an error. When the store fails the
    /// messages wait.
    pub fn append(&mut self, messages: Vec<Message>) -> Result<Saved> {
        if let Err(error) = self.handle.prepare(follow(messages.clone()))
            && error.kind() == ErrorKind::Invalid
        {
            return Err(error);
        }
        self.waiting.push_back(messages);
        self.retry()
    }

    /// Tries to save what waits, unless the store failed so recently that trying again would only cost time.
    pub fn retry(&mut self) -> Result<Saved> {
        let mut last = None;
        while !self.waiting.is_empty() {
            if !self.breaker.allows(self.handle.archive().now()) {
                return Ok(Saved::Later);
            }
            match self.save_first() {
                Ok(receipt) => {
                    self.breaker.succeeded();
                    self.cause = None;
                    last = Some(receipt);
                }
                Err(error) => {
                    self.breaker.failed(self.handle.archive().now());
                    self.cause = Some(error);
                    return Ok(Saved::Later);
                }
            }
        }
        Ok(last.map_or(Saved::Later, Saved::Now))
    }

    fn save_first(&mut self) -> Result<Receipt> {
        if self.tried.is_none() {
            let messages = self.waiting.front().cloned().unwrap_or_default();
            self.tried = Some(self.handle.prepare(follow(messages))?);
        }
        let prepared = self.tried.as_mut().expect("it was prepared above");
        let gone = Put {
            space: Space::OpenTurn,
            owner: Some(self.handle.id()),
            name: self.name.as_str().as_bytes(),
            bytes: None,
        };
        let blobs = if self.has_open_turn { &[gone][..] } else { &[] };
        let receipt = self.handle.commit(prepared, Stale::Branch, blobs)?;
        self.has_open_turn = false;
        self.tried = None;
        self.waiting.pop_front();
        Ok(receipt)
    }

    /// Saves what has arrived of a reply, in place of what was saved before. It is on disk when this returns.
    pub fn save_open(&mut self, partial: &Message, results: &[Message]) -> Result<()> {
        if !self.waiting.is_empty() {
            // What it follows is not on disk, so nobody could take it up.
            return Ok(());
        }
        let turn = OpenTurn {
            name: self.name,
            base: self.handle.head(),
            writer: self.writer.clone(),
            saved_at: self.handle.archive().now(),
            partial: partial.clone(),
            results: results.to_vec(),
        };
        let bytes = turn.to_bytes();
        let blob = Put {
            space: Space::OpenTurn,
            owner: Some(self.handle.id()),
            name: self.name.as_str().as_bytes(),
            bytes: Some(&bytes),
        };
        self.handle.archive().store().put(&[blob], Safety::Synced)?;
        self.has_open_turn = true;
        Ok(())
    }

    /// Takes the open turn away: what had arrived is not wanted.
    pub fn discard_open(&mut self) -> Result<()> {
        if self.has_open_turn {
            self.handle.archive().discard_open_turn(self.handle.id(), self.name)?;
            self.has_open_turn = false;
        }
        Ok(())
    }

    /// How many messages wait to be saved.
    pub fn waiting(&self) -> usize {
        self.waiting.iter().map(Vec::len).sum()
    }

    /// Why the messages wait.
    pub const fn cause(&self) -> Option<&Error> {
        self.cause.as_ref()
    }

    /// How long to wait before trying again.
    pub fn pause(&self) -> Duration {
        self.breaker.pause(self.handle.archive().now())
    }

    /// Goes on from another message: what is recorded next follows it.
    pub fn rewind(&mut self, to: MessageId) -> Result<()> {
        self.handle.rewind(to)
    }

    /// Goes on in a new branch that starts at a message.
    pub fn fork(&mut self, at: MessageId, title: &str) -> Result<()> {
        self.handle = self.handle.fork(at, title)?;
        Ok(())
    }
}

/// Each message follows the one before.
fn follow(messages: Vec<Message>) -> Vec<(Option<usize>, Message)> {
    messages.into_iter().enumerate().map(|(place, message)| (place.checked_sub(1), message)).collect()
}

impl Archive {
    /// Records a conversation from a handle on it.
    pub fn record(&self, handle: Handle, writer: impl Into<String>) -> Recorder {
        Recorder::new(handle, writer)
    }
}
