//! What a reader passes on: a neutral tree, piece by piece, with the ids of the source.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::formats::Key;
use crate::formats::lines::SourceLine;
use crate::model::{Conversation, Message, Time};

/// Something found in a source.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SourcePiece {
    /// The description of a conversation. It comes before its messages and is repeated when more is known;
    /// the last one counts.
    Conversation(Box<SourceConversation>),
    /// A message.
    Message(Box<SourceMessage>),
    /// A name for a branch.
    Branch(SourceBranch),
    /// A pinned message, which every compaction keeps. It comes before that message.
    Pin(SourcePin),
    /// A line that is kept although it is not a message.
    Aside(Aside),
    /// Something that could not be read.
    Skipped(Skipped),
    /// This many more bytes of the source have been read.
    Passed(u64),
    /// The conversation and those that it started are complete. Sent by sources with many conversations.
    Complete(String),
}

/// A conversation as its source knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceConversation {
    /// Its id in the source, unique within the format.
    pub id: String,
    /// When it was started. It must never change, because Rejoin's id is derived from it.
    pub created_at: Time,
    /// Title, settings and project (as a path). The import adds the origin.
    pub header: Conversation,
    /// What started it, if it is a sub-agent run.
    pub parent: Option<SourceParent>,
    /// The message from which the program would continue; none for the last one in the source.
    pub head: Option<String>,
}

impl SourceConversation {
    /// Creates a conversation of which nothing else is known.
    pub fn new(id: impl Into<String>, created_at: Time) -> Self {
        Self { id: id.into(), created_at, header: Conversation::new(), parent: None, head: None }
    }
}

/// What started a sub-agent run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceParent {
    /// The conversation; empty when the source does not say which.
    pub conversation: String,
    /// The message with the call that started it, if known.
    pub message: Option<String>,
    /// The sub-agent's name.
    pub name: String,
    /// The id of the run.
    pub run: String,
}

/// A message as its source knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceMessage {
    /// The conversation it belongs to.
    pub conversation: String,
    /// Its id in the source, unique in its conversation.
    pub id: String,
    /// The message it follows; none for a root.
    pub parent: Option<String>,
    /// The message. If it has no time, it gets that of the previous message.
    pub message: Message,
    /// For a compaction: the earlier messages that stay visible.
    pub keeps: Vec<SourceKept>,
    /// The line at which it begins, from 1; 0 if the source has no lines.
    pub line: u64,
    /// The verbatim text it was read from; lines are joined by newlines.
    pub source: String,
}

impl SourceMessage {
    /// Sets the line that it was read from.
    pub(super) fn at(self, line: SourceLine<'_>) -> Self {
        Self { line: line.number, source: line.text.to_owned(), ..self }
    }

    /// Appends another line to the text it was read from.
    pub(super) fn append_source(&mut self, line: &str) {
        self.source.push('\n');
        self.source.push_str(line);
    }
}

/// A message that stays visible after a compaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "KeptForm", into = "KeptForm")]
pub struct SourceKept {
    /// The id of the message.
    pub message: String,
    /// What is sent in its place, if that differs from the message: long texts are cut, pictures are left
    /// out.
    pub text: Option<String>,
}

/// Unless its text was replaced, a kept message is written as its id alone.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum KeptForm {
    Whole(String),
    Cut { message: String, text: String },
}

impl From<String> for SourceKept {
    fn from(message: String) -> Self {
        Self { message, text: None }
    }
}

impl From<KeptForm> for SourceKept {
    fn from(spelling: KeptForm) -> Self {
        match spelling {
            KeptForm::Whole(message) => Self::from(message),
            KeptForm::Cut { message, text } => Self { message, text: Some(text) },
        }
    }
}

impl From<SourceKept> for KeptForm {
    fn from(kept: SourceKept) -> Self {
        match kept.text {
            None => Self::Whole(kept.message),
            Some(text) => Self::Cut { message: kept.message, text },
        }
    }
}

/// A named branch as its source knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceBranch {
    /// The conversation it belongs to.
    pub conversation: String,
    /// Its id in the source, unique in its conversation.
    pub id: String,
    /// Its name.
    pub title: String,
    /// The newest message on it.
    pub head: String,
}

/// A pinned message, which every compaction keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePin {
    /// The conversation it belongs to.
    pub conversation: String,
    /// The message.
    pub message: String,
}

/// A line that is kept although it is not a message, such as a title or a program's own marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aside {
    /// The conversation it belongs to.
    pub conversation: String,
    /// The line, from 1.
    pub line: u64,
    /// Its text.
    pub source: String,
}

/// Something that could not be read, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1; 0 if the source has no lines.
    pub line: u64,
    /// Why, worded as an error: lower case, no full stop.
    pub why: String,
}

/// Limits on the size of a source. Exceeding one is an error, and nothing of the source is imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimits {
    /// The bytes of one line, or of a file that is loaded whole.
    pub line_bytes: u64,
    /// The bytes of one file, after decompression.
    pub file_bytes: u64,
    /// How many times larger than the file its decompressed contents may be.
    pub ratio: u64,
    /// How deep JSON may nest; deeper lines are skipped.
    pub depth: usize,
}

impl Default for ReadLimits {
    /// Fits a line with the largest images that programs send, files of the largest sessions seen, and the
    /// nesting depth that every JSON parser accepts.
    fn default() -> Self {
        Self { line_bytes: 64 << 20, file_bytes: 64 << 30, ratio: 1_000, depth: 120 }
    }
}

/// One pass over a source: its limits, and the receiver of its pieces.
pub struct Reading<'a> {
    limits: ReadLimits,
    take: &'a mut dyn FnMut(SourcePiece) -> Result<()>,
}

impl<'a> Reading<'a> {
    /// Creates a pass whose pieces go to `take`. An error returned by `take` ends the pass.
    pub fn new(limits: ReadLimits, take: &'a mut dyn FnMut(SourcePiece) -> Result<()>) -> Self {
        Self { limits, take }
    }

    /// The limits of the source.
    pub const fn limits(&self) -> ReadLimits {
        self.limits
    }

    /// Passes on a piece.
    pub fn give(&mut self, piece: SourcePiece) -> Result<()> {
        (self.take)(piece)
    }

    /// Reports that something was skipped.
    pub(super) fn skip(&mut self, path: &Path, line: u64, why: impl fmt::Display) -> Result<()> {
        self.give(SourcePiece::Skipped(Skipped { path: path.to_owned(), line, why: why.to_string() }))
    }
}

impl fmt::Debug for Reading<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// Conversations with their messages, collected for a writer.
///
/// Parents come before their children, and a conversation before those that it started.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree {
    /// The conversations.
    pub conversations: Vec<SourceConversation>,
    /// The messages of all of them.
    pub messages: Vec<SourceMessage>,
    /// Names of branches.
    pub branches: Vec<SourceBranch>,
    /// Pinned messages.
    pub pins: Vec<SourcePin>,
    /// Lines that are kept although they are not messages.
    pub asides: Vec<Aside>,
    /// What could not be read.
    pub skipped: Vec<Skipped>,
    /// The key to encrypt with, for formats that support it; without one, they are written in plain text.
    pub key: Option<Key>,
}

impl Tree {
    /// Collects all pieces of a pass. Only the limits bound its memory; an import does not use it.
    pub fn gather(limits: ReadLimits, read: impl FnOnce(&mut Reading<'_>) -> Result<()>) -> Result<Self> {
        let mut tree = Self::default();
        read(&mut Reading::new(limits, &mut |piece| {
            tree.add(piece);
            Ok(())
        }))?;
        Ok(tree)
    }

    fn add(&mut self, piece: SourcePiece) {
        match piece {
            SourcePiece::Conversation(new) => {
                match self.conversations.iter_mut().find(|known| known.id == new.id) {
                    Some(known) => *known = *new,
                    None => self.conversations.push(*new),
                }
            }
            SourcePiece::Message(message) => self.messages.push(*message),
            SourcePiece::Branch(branch) => self.branches.push(branch),
            SourcePiece::Pin(pin) => self.pins.push(pin),
            SourcePiece::Aside(aside) => self.asides.push(aside),
            SourcePiece::Skipped(skipped) => self.skipped.push(skipped),
            SourcePiece::Passed(_) | SourcePiece::Complete(_) => {}
        }
    }

    /// Returns the messages of one conversation.
    pub fn messages_of<'a>(&'a self, conversation: &'a str) -> impl Iterator<Item = &'a SourceMessage> {
        self.messages.iter().filter(move |message| message.conversation == conversation)
    }

    /// Returns the conversation that no other in the tree started. Files are named after it.
    pub fn main(&self) -> Result<&SourceConversation> {
        self.conversations
            .iter()
            .find(|conversation| conversation.parent.is_none())
            .or(self.conversations.first())
            .ok_or_else(|| Error::invalid("write a tree without conversations"))
    }
}
