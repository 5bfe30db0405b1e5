//! Files of other programs: what can be read, what can be written, and what is lost on the way.
//!
//! ```text
//!    bytes ── read ──► pieces ── ops/import ──► store        a reader knows no store, an import knows no format
//!    bytes ◄─ write ── Tree   ◄─ ops/export ─── store
//! ```
//!
//! A [`Format`] is one row of [`FORMATS`] and one file or folder here: a name, the places where its files are,
//! a fidelity note, and four functions.
//!
//! - `detect` looks at a path and the first bytes. It is quick, and it is sure: two formats never claim the same file.
//! - `beside` names what else is read with a source, so that a change of it is seen.
//! - `read` turns bytes into [`Piece`]s, in the order of the file: conversations, messages, lines that are kept without
//!   being messages, and lines that were skipped, with the reason. It streams. It holds what one reply needs, and a few
//!   dozen bytes for a message, never the file. It never panics, and it stays within [`ReadLimits`]: a line that cannot
//!   be understood is skipped and told, a limit that is passed is the end of the source and an error.
//! - `write` turns a [`Tree`] into files, with the paths where the other program looks for them.
//!
//! What a reader owes the import:
//!
//! - Ids are the source's own, or made of what never changes there (a line number of a file that only grows). The same
//!   source read again gives the same ids, times and messages, so an import can be repeated.
//! - Every branch is read, also one that the program itself would not show. `head` says which one it would go on with.
//! - A parent comes before its children where the source allows it. A parent that never comes is the import's problem.
//! - A run of a sub-agent is a conversation of its own that names its parent.
//! - The text of the source goes along with each message and is kept beside it.
//!
//! What is not here: ids of Rejoin, digests, what is new and what is known (`ops/import`), what `~` and
//! the variables of a place are.

#[cfg_attr(not(feature = "service"), expect(unreachable_pub, reason = "the service makes some of it public"))]
pub(crate) mod agent_voice;
mod aider;
mod begun;
mod chatgpt;
mod claude;
mod claude_ai;
mod codex;
mod cody;
mod content;
mod cortext;
mod cpe;
mod database;
mod envoy;
mod family;
mod finder;
mod fingerprint;
mod folder;
mod found;
mod gemini;
mod goose;
mod held;
mod items;
mod json;
mod key;
mod leaves;
mod lineage;
mod lines;
mod llm;
mod named;
mod octets;
mod opencode;
mod order;
mod piece;
mod qwen;
mod source;
mod tag;
pub(crate) mod unfinished;
mod whole;
mod zipped;

pub use finder::Finder;
pub(crate) use finder::{PathKey, key_of};
pub use fingerprint::Fingerprint;
pub use key::Key;
pub use piece::{
    Aside, Piece, ReadLimits, Reading, Skipped, SourceBranch, SourceConversation, SourceKept, SourceMessage,
    SourceParent, SourcePin, Tree,
};
pub use source::{Source, Sources};

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::formats::fingerprint::Companion;
pub(crate) use crate::model::{INJECTED, SOURCE};

/// Every format, in the order in which they are asked whether a file is theirs.
pub const FORMATS: &[&Format] = &[
    // Their first lines say it.
    &claude::FORMAT,
    &qwen::FORMAT,
    &codex::FORMAT,
    &cody::FORMAT,
    &envoy::FORMAT,
    &cortext::FORMAT,
    &agent_voice::FORMAT,
    &gemini::FORMAT,
    &chatgpt::FORMAT,
    &claude_ai::FORMAT,
    &aider::FORMAT,
    // Databases are opened to be recognised.
    &cpe::FORMAT,
    &goose::FORMAT,
    &llm::FORMAT,
    &opencode::FORMAT,
    &json::FORMAT,
];

/// The field of a summary that is true when what it keeps is sent after it, and not before it.
pub(crate) const KEPT_AFTER: &str = "kept_after";

/// A kind of file that another program writes.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Its name in commands and in the origin of conversations.
    pub name: &'static str,
    /// The program it belongs to.
    pub program: &'static str,
    /// Where the program keeps such files unless it is told otherwise: below `~`, below a variable (`$NAME/…`, which
    /// counts only where it is set), or, if it begins with neither, below the directory of a project.
    pub places: &'static [&'static str],
    /// What does not survive reading and writing it again.
    pub fidelity: &'static str,
    /// What a message of it is read from, for whoever has a file in which every message is empty.
    pub expects: &'static str,
    detect: fn(&Source) -> Detection,
    beside: fn(&Source) -> Vec<Companion>,
    read: fn(&Source, &mut Reading<'_>) -> Result<()>,
    write: Option<Write>,
}

/// How a format writes conversations.
type Write = fn(&Tree) -> Result<Vec<Written>>;

/// Whether a file is of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Detection {
    /// It is not.
    No,
    /// It is.
    Yes,
    /// It is a part of another source, and read together with it.
    Part,
}

/// A file that a format has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Where, below the directory in which the program keeps its files.
    pub path: PathBuf,
    /// What.
    pub bytes: Vec<u8>,
}

impl Format {
    /// The format of this name.
    pub fn named(name: &str) -> Result<&'static Self> {
        FORMATS.iter().copied().find(|format| format.name == name).ok_or_else(|| {
            let known: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
            Error::invalid(format!("`{name}` is not a format; they are {}", known.join(", ")))
        })
    }

    /// The format of a source, if it is one that is known.
    pub fn of(source: &Source) -> Option<&'static Self> {
        FORMATS.iter().copied().find(|format| format.detect(source) == Detection::Yes)
    }

    /// Whether a source is of this format.
    pub fn detect(&self, source: &Source) -> Detection {
        (self.detect)(source)
    }

    /// What is read with a source and stands where the names of files do not tell it.
    fn beside(&self, source: &Source) -> Vec<Companion> {
        (self.beside)(source)
    }

    /// What a source has beside it, of which the names of files tell everything.
    const fn alone(_: &Source) -> Vec<Companion> {
        Vec::new()
    }

    /// Reads a source and hands over what is in it, piece by piece, in the order in which it is found.
    pub fn read(&self, source: &Source, reading: &mut Reading<'_>) -> Result<()> {
        (self.read)(source, reading)
            .map_err(|error| error.during(format!("read `{}` as {}", source.path().display(), self.program)))
    }

    /// True of Rejoin's own files: the names in them are ids here, and what they say is kept as it is.
    pub fn is_own(&self) -> bool {
        self.name == json::FORMAT.name
    }

    /// True when its program seals what it writes, so that a key opens and seals it here.
    pub fn can_seal(&self) -> bool {
        self.name == agent_voice::FORMAT.name
    }

    /// True when [`Format::write`] works.
    pub const fn can_write(&self) -> bool {
        self.write.is_some()
    }

    /// Writes conversations as the program would have.
    pub fn write(&self, tree: &Tree) -> Result<Vec<Written>> {
        let write = self.write.ok_or_else(|| {
            Error::new(crate::ErrorKind::Unsupported, format!("`{}` is only read", self.name))
        })?;
        write(tree)
    }
}
