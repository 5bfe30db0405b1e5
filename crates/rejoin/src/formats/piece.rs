//! What a reader hands over: a neutral tree, piece by piece, with the names of the source.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::formats::Key;
use crate::model::{Conversation, Message, Time};

/// Something that was found in a source.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Piece {
    /// What is known of a conversation. It comes before its messages, and again when more is known; the last one holds.
    Conversation(Box<SourceConversation>),
    /// A message.
    Message(Box<SourceMessage>),
    /// A name for a branch.
    Branch(SourceBranch),
    /// A message that survives every compaction. It comes before that message.
    Pin(SourcePin),
    /// A line that is kept without being a message.
    Aside(Aside),
    /// Something that could not be read.
    Skipped(Skipped),
    /// So many more bytes of the source are behind us.
    Passed(u64),
    /// Nothing more comes of this conversation, nor of one that it started. A source of many conversations says so.
    Complete(String),
}

/// A conversation as its source knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceConversation {
    /// Its id there; unique among the conversations of the format.
    pub id: String,
    /// When it was started. It never changes, because Rejoin's id is made of it.
    pub created_at: Time,
    /// Title, settings and project (as a path). The import adds where it came from.
    pub header: Conversation,
    /// What started it, if it is a run of a sub-agent.
    pub parent: Option<SourceParent>,
    /// The message that the program would go on from; none for the last one in the source.
    pub head: Option<String>,
}

impl SourceConversation {
    /// A conversation of which nothing else is known.
    pub fn new(id: impl Into<String>, created_at: Time) -> Self {
        Self { id: id.into(), created_at, header: Conversation::new(), parent: None, head: None }
    }
}

/// What started a run of a sub-agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceParent {
    /// The conversation; empty when the source does not say which.
    pub conversation: String,
    /// The message that asked for it; none when it is not known.
    pub message: Option<String>,
    /// The sub-agent's name.
    pub name: String,
    /// Which of its runs.
    pub run: String,
}

/// A message as its source knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceMessage {
    /// The conversation it belongs to.
    pub conversation: String,
    /// Its id there; unique in its conversation.
    pub id: String,
    /// The message it follows; none for a root.
    pub parent: Option<String>,
    /// What was said. A time that is missing becomes that of the message before it.
    pub message: Message,
    /// Of a compaction: the earlier messages that stay visible.
    pub keeps: Vec<SourceKept>,
    /// The line it begins at, from 1; 0 where there are no lines.
    pub line: u64,
    /// The text it was read from, to the letter; lines are joined by line feeds.
    pub source: String,
}

impl SourceMessage {
    /// Adds another line that it was read from.
    pub(super) fn append_source(&mut self, line: &str) {
        self.source.push('\n');
        self.source.push_str(line);
    }
}

/// A message that a compaction keeps visible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "KeptForm", into = "KeptForm")]
pub struct SourceKept {
    /// Which.
    pub message: String,
    /// What is sent of it, where that is not what was said: a long text is cut, a picture is left out.
    pub text: Option<String>,
}

/// A message that is kept as it is goes by its name alone.
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
    /// Its id there; unique in its conversation.
    pub id: String,
    /// Its name.
    pub title: String,
    /// The message that the next one on it follows.
    pub head: String,
}

/// A message that survives every compaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePin {
    /// The conversation it belongs to.
    pub conversation: String,
    /// The message.
    pub message: String,
}

/// A line that is kept without being a message: a title, a mark of the program's own.
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
    /// The line, from 1; 0 where there are no lines.
    pub line: u64,
    /// Why, in the form of an error: lower case, without a full stop.
    pub why: String,
}

/// How large a source may be. What is larger is an error, so that nothing of it is imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimits {
    /// The bytes of one line, or of a file that is read whole.
    pub line_bytes: u64,
    /// The bytes of one file, after decompression.
    pub file_bytes: u64,
    /// How many times larger than the file its contents may be.
    pub ratio: u64,
    /// How deep JSON may nest; deeper lines are skipped.
    pub depth: usize,
}

impl Default for ReadLimits {
    /// A line with the largest images that programs send, files of the largest sessions that were seen, and the depth
    /// that every JSON parser takes.
    fn default() -> Self {
        Self { line_bytes: 64 << 20, file_bytes: 64 << 30, ratio: 1_000, depth: 120 }
    }
}

/// One reading of a source: how large it may be, and who takes the pieces.
pub struct Reading<'a> {
    limits: ReadLimits,
    take: &'a mut dyn FnMut(Piece) -> Result<()>,
}

impl<'a> Reading<'a> {
    /// A reading that hands its pieces to `take`. An error of `take` ends it and is its answer.
    pub fn new(limits: ReadLimits, take: &'a mut dyn FnMut(Piece) -> Result<()>) -> Self {
        Self { limits, take }
    }

    /// How large the source may be.
    pub const fn limits(&self) -> ReadLimits {
        self.limits
    }

    /// Hands over a piece.
    pub fn give(&mut self, piece: Piece) -> Result<()> {
        (self.take)(piece)
    }

    /// Tells that something was skipped.
    pub(super) fn skip(&mut self, path: &Path, line: u64, why: impl fmt::Display) -> Result<()> {
        self.give(Piece::Skipped(Skipped { path: path.to_owned(), line, why: why.to_string() }))
    }
}

impl fmt::Debug for Reading<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// Conversations with their messages, gathered: what a writer takes.
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
    /// Messages that survive every compaction.
    pub pins: Vec<SourcePin>,
    /// Lines that are kept without being messages.
    pub asides: Vec<Aside>,
    /// What could not be read.
    pub skipped: Vec<Skipped>,
    /// The key to seal what is written with, for a format that can; none writes it open.
    pub key: Option<Key>,
}

impl Tree {
    /// Gathers what a reading hands over. Bounded by the caller's limits only; an import does not gather.
    pub fn gather(limits: ReadLimits, read: impl FnOnce(&mut Reading<'_>) -> Result<()>) -> Result<Self> {
        let mut tree = Self::default();
        read(&mut Reading::new(limits, &mut |piece| {
            tree.add(piece);
            Ok(())
        }))?;
        Ok(tree)
    }

    fn add(&mut self, piece: Piece) {
        match piece {
            Piece::Conversation(new) => {
                match self.conversations.iter_mut().find(|known| known.id == new.id) {
                    Some(known) => *known = *new,
                    None => self.conversations.push(*new),
                }
            }
            Piece::Message(message) => self.messages.push(*message),
            Piece::Branch(branch) => self.branches.push(branch),
            Piece::Pin(pin) => self.pins.push(pin),
            Piece::Aside(aside) => self.asides.push(aside),
            Piece::Skipped(skipped) => self.skipped.push(skipped),
            Piece::Passed(_) | Piece::Complete(_) => {}
        }
    }

    /// The messages of one conversation.
    pub fn messages_of<'a>(&'a self, conversation: &'a str) -> impl Iterator<Item = &'a SourceMessage> {
        self.messages.iter().filter(move |message| message.conversation == conversation)
    }

    /// The conversation that no other one in the tree started: the one a file is named after.
    pub fn main(&self) -> Result<&SourceConversation> {
        self.conversations
            .iter()
            .find(|conversation| conversation.parent.is_none())
            .or(self.conversations.first())
            .ok_or_else(|| Error::invalid("write a tree without conversations"))
    }
}
