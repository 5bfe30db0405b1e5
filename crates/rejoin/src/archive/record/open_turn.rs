//! The open turn: what has arrived of a reply that is not finished, kept so that a crash does not lose it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::archive::{Archive, ArchiveOpenTurns};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{ConversationId, Message, MessageId, Receipt, Time};
use crate::ops::{in_line, stamp};
use crate::store::{BlobNames, Put, Safety, Space, Stale};

/// The version of what is written; a greater one is left alone.
const VERSION: u32 = 1;

/// What had arrived of a reply when it was last saved.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OpenTurn {
    /// What it is stored under.
    pub name: MessageId,
    /// The message it follows.
    pub base: Option<MessageId>,
    /// The process that received it.
    pub writer: String,
    /// When it was saved.
    pub saved_at: Time,
    /// The reply so far.
    pub partial: Message,
    /// Results of tools the reply asked for, so far.
    pub results: Vec<Message>,
}

/// As it is written.
#[derive(Serialize)]
struct WrittenTurn<'a> {
    version: u32,
    base: Option<MessageId>,
    writer: &'a str,
    saved_at: Time,
    partial: &'a Message,
    results: &'a [Message],
}

/// As it is read.
#[derive(Deserialize)]
struct StoredTurn {
    base: Option<MessageId>,
    writer: String,
    saved_at: Time,
    partial: Message,
    results: Vec<Message>,
}

#[derive(Deserialize)]
struct TurnVersion {
    version: u32,
}

/// The bytes of an open turn.
pub(super) fn encode(
    base: Option<MessageId>,
    writer: &str,
    saved_at: Time,
    partial: &Message,
    results: &[Message],
) -> Vec<u8> {
    let written = WrittenTurn { version: VERSION, base, writer, saved_at, partial, results };
    serde_json::to_vec(&written).expect("an open turn is plain data")
}

fn decode(name: &[u8], bytes: &[u8]) -> Result<OpenTurn> {
    let corrupt = |cause| Error::corrupt("read an open turn").because(cause);
    let TurnVersion { version } = serde_json::from_slice(bytes).map_err(corrupt)?;
    if version > VERSION {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!("the open turn has version `{version}`, this program reads up to `{VERSION}`"),
        ));
    }
    let StoredTurn { base, writer, saved_at, partial, results } =
        serde_json::from_slice(bytes).map_err(corrupt)?;
    let name = str::from_utf8(name).ok().and_then(|name| name.parse().ok());
    let name = name.ok_or_else(|| Error::corrupt("read the name of an open turn"))?;
    Ok(OpenTurn { name, base, writer, saved_at, partial, results })
}

fn is_damaged(read: &Result<()>) -> bool {
    matches!(read, Err(error) if error.kind() == ErrorKind::Corrupt)
}

impl OpenTurn {
    /// The messages to keep: the reply marked as interrupted, and an answer to every call it made.
    ///
    /// There are none when nothing had arrived that can be kept.
    pub fn messages(&self) -> Vec<Message> {
        let mut messages = self.partial.clone().interrupted(self.results.clone());
        stamp(&mut messages, self.saved_at);
        messages
    }
}

impl ArchiveOpenTurns<'_> {
    /// Replies of a conversation that were still arriving when they were last saved, oldest first.
    ///
    /// One of them may belong to a process that is still at work; its `writer` tells which. What cannot be
    /// read is passed over and stays where it is, so that it never stands in the way. One that is torn, or
    /// does not open, is looked at once more, because it may just be replaced; after that it is passed
    /// over. The next save writes it whole.
    pub fn list(&self, conversation: ConversationId) -> Result<Vec<OpenTurn>> {
        let (mut found, mut read) = self.archive.read_open_turns(conversation);
        if is_damaged(&read) {
            (found, read) = self.archive.read_open_turns(conversation);
        }
        match read {
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                tracing::warn!(%conversation, %error, "an open turn cannot be read");
            }
            other => other?,
        }
        found.sort_by_key(|turn| turn.saved_at);
        Ok(found)
    }

    /// Replies of a conversation that nobody receives any more, oldest first: their writers are not alive.
    pub fn leftovers(
        &self,
        conversation: ConversationId,
        is_alive: impl Fn(&str) -> bool,
    ) -> Result<Vec<OpenTurn>> {
        let mut turns = self.list(conversation)?;
        turns.retain(|turn| !is_alive(&turn.writer));
        Ok(turns)
    }

    /// Makes an open turn part of the conversation, in one write, and returns its receipt.
    ///
    /// Two programs that keep the same one store it once. When the message it follows is gone, it follows the
    /// conversation's head. One of which nothing can be kept is an error; it can be discarded.
    pub fn keep(&self, conversation: ConversationId, turn: &OpenTurn) -> Result<Receipt> {
        let messages = turn.messages();
        if messages.is_empty() {
            return Err(Error::invalid(format!("reply `{}` has no partial text to keep", turn.name)));
        }
        let mut handle = match turn.base.map(|base| self.archive.resume_at(conversation, base)) {
            Some(Err(error)) if error.kind() == ErrorKind::NotFound => self.archive.resume(conversation)?,
            Some(handle) => handle?,
            None => {
                let mut handle = self.archive.resume(conversation)?;
                handle.restart();
                handle
            }
        };
        let ids = (0..messages.len()).map(|place| format!("{}{place}", turn.name).parse()).collect();
        let prepared = handle.prepare(in_line(messages.into_iter().map(Cow::Owned)), 0)?;
        let mut prepared = match ids {
            Ok(ids) => prepared.named(ids),
            Err(_too_long) => prepared,
        };
        handle.commit(&mut prepared, Stale::Branch, &[erasure(conversation, &turn.name)])
    }

    /// Takes an open turn away.
    pub fn discard(&self, conversation: ConversationId, name: MessageId) -> Result<()> {
        self.archive.store().put(&[erasure(conversation, &name)], Safety::Synced)
    }
}

impl Archive {
    /// Those that can be read, and how the read ended.
    fn read_open_turns(&self, conversation: ConversationId) -> (Vec<OpenTurn>, Result<()>) {
        let (mut found, mut torn) = (Vec::new(), Ok(()));
        let read =
            self.store().get(Space::OpenTurn, Some(conversation), BlobNames::ALL, &mut |name, bytes| {
                match decode(name, bytes) {
                    Ok(turn) => found.push(turn),
                    Err(error) if error.kind() == ErrorKind::Corrupt => torn = Err(error),
                    Err(error) => tracing::warn!(%conversation, ?error, "an open turn cannot be read"),
                }
                Ok(())
            });
        (found, read.and(torn))
    }
}

pub(super) fn blob<'a>(conversation: ConversationId, name: &'a MessageId, bytes: &'a [u8]) -> Put<'a> {
    Put {
        space: Space::OpenTurn,
        owner: Some(conversation),
        name: name.as_str().as_bytes(),
        bytes: Some(bytes),
    }
}

pub(super) fn erasure(conversation: ConversationId, name: &MessageId) -> Put<'_> {
    Put { bytes: None, ..blob(conversation, name, b"") }
}
