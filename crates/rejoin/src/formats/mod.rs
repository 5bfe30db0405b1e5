//! Files of other programs: reading them, writing them, and what a round trip loses.
//!
//! ```text
//!    bytes ── read ──► pieces ── ops/import ──► store     a reader knows no store, an import knows no format
//!    bytes ◄─ write ── Tree   ◄─ ops/export ─── store
//! ```
//!
//! A [`Format`] is one row of [`FORMATS`] and one folder here: a name, the places of its files, a fidelity
//! note, and four functions.
//!
//! - `detect` looks at a path and the first bytes. It is quick and certain: no two formats claim the same
//!   file.
//! - `beside` names what else is read with a source, so that changes of it are noticed.
//! - `read` turns bytes into [`SourcePiece`]s in the order of the file: conversations, messages, kept lines,
//!   and skipped lines with the reason. It streams: it holds one reply and a few dozen bytes per message,
//!   never the file. It never panics and respects [`ReadLimits`]: a line that cannot be parsed is skipped and
//!   reported, an exceeded limit ends the source with an error.
//! - `write` turns a [`Tree`] into files, with the paths where the other program looks for them.
//!
//! Next to the folders is what several formats share: `thread_builder` builds the messages of a
//! conversation, `lines`, `json_array`, `whole_file` and `database` read within limits, and `tag` holds
//! what Rejoin adds to a format that cannot hold everything.
//!
//! What a reader guarantees to the import:
//!
//! - Ids are the source's own, or derived from what never changes, such as a line number in an append-only
//!   file. Reading the same source again gives the same ids, times and messages, so an import can be
//!   repeated.
//! - Every branch is read, even one that the program would not show. `head` names the one it would
//!   continue.
//! - Parents come before children where the source allows it. The import handles parents that never come.
//! - A sub-agent run is a conversation of its own that names its parent.
//! - Each message carries its source text, which is stored with it.
//!
//! Not here: Rejoin's ids, digests, what is new and what is known (`ops/import`), and the values of `~` and
//! of variables in places.

#[cfg_attr(not(feature = "service"), expect(unreachable_pub, reason = "the service makes some of it public"))]
pub(crate) mod agent_voice;
mod aider;
mod branch_paths;
mod byte_budget;
mod chatgpt;
mod claude;
mod claude_ai;
mod codex;
mod cody;
mod content;
mod cortext;
mod cpe;
mod database;
mod derived_uuid;
mod encoding;
mod envoy;
mod finder;
mod fingerprint;
mod folder;
mod gemini;
mod goose;
pub(crate) mod in_progress;
mod json;
mod json_array;
mod key;
mod lineage;
mod lines;
mod llm;
mod opencode;
mod partial_object;
mod piece;
mod qwen;
mod raw_object;
mod source;
mod subagent_group;
mod tag;
mod thread_builder;
mod topological_order;
mod whole_file;
mod zipped;

pub use finder::Finder;
pub(crate) use finder::{PathKey, key_of};
pub use fingerprint::Fingerprint;
pub use key::Key;
pub use piece::{
    Aside, ReadLimits, Reading, Skipped, SourceBranch, SourceConversation, SourceKept, SourceMessage,
    SourceParent, SourcePiece, SourcePin, Tree,
};
pub use source::{Source, Sources};

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::formats::fingerprint::Companion;
pub(crate) use crate::model::{INJECTED, SOURCE};

/// Every format, in the order of detection.
pub const FORMATS: &[&Format] = &[
    // Recognised by their first lines.
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

/// The field of a summary that is true when the kept messages are sent after the summary instead of before
/// it.
pub(crate) const KEPT_AFTER: &str = "kept_after";

/// A kind of file that another program writes.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Its name in commands and in the origin of conversations.
    pub name: &'static str,
    /// The program it belongs to.
    pub program: &'static str,
    /// Where the program keeps such files by default: below `~`, below a variable (`$NAME/…`, used only if it
    /// is set), or otherwise relative to the directory of a project.
    pub places: &'static [&'static str],
    /// What a round trip through the format loses.
    pub fidelity: &'static str,
    /// What a message is read from; shown when every message of a file is empty.
    pub expects: &'static str,
    detect: fn(&Source) -> Detection,
    beside: fn(&Source) -> Vec<Companion>,
    read: fn(&Source, &mut Reading<'_>) -> Result<()>,
    write: Option<WriteFunction>,
}

/// The function that writes conversations in a format.
type WriteFunction = fn(&Tree) -> Result<Vec<WrittenFile>>;

/// Whether a file belongs to a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Detection {
    /// It does not.
    No,
    /// It does.
    Yes,
    /// It is part of another source and read together with it.
    Part,
}

/// A file that a format has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFile {
    /// The path below the directory in which the program keeps its files.
    pub path: PathBuf,
    /// The contents.
    pub bytes: Vec<u8>,
}

impl Format {
    /// Returns the format with this name.
    pub fn named(name: &str) -> Result<&'static Self> {
        FORMATS.iter().copied().find(|format| format.name == name).ok_or_else(|| {
            let known: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
            Error::invalid(format!("`{name}` is not a format; expected one of {}", known.join(", ")))
        })
    }

    /// Returns the format of a source, if it is known.
    pub fn of(source: &Source) -> Option<&'static Self> {
        FORMATS.iter().copied().find(|format| format.detect(source) == Detection::Yes)
    }

    /// Returns whether a source is of this format.
    pub fn detect(&self, source: &Source) -> Detection {
        (self.detect)(source)
    }

    /// Returns the companions of a source that its name does not show.
    fn beside(&self, source: &Source) -> Vec<Companion> {
        (self.beside)(source)
    }

    /// The companions of a source whose name shows all of them: none.
    const fn alone(_: &Source) -> Vec<Companion> {
        Vec::new()
    }

    /// Reads a source and passes on its pieces, in the order of the source.
    pub fn read(&self, source: &Source, reading: &mut Reading<'_>) -> Result<()> {
        (self.read)(source, reading)
            .map_err(|error| error.during(format!("read `{}` as {}", source.path().display(), self.program)))
    }

    /// True for Rejoin's own files: their ids are ids here, and their contents are kept unchanged.
    pub fn is_own(&self) -> bool {
        self.name == json::FORMAT.name
    }

    /// True when its program encrypts what it writes, so that reading and writing take a key.
    pub fn can_seal(&self) -> bool {
        self.name == agent_voice::FORMAT.name
    }

    /// True when [`Format::write`] is supported.
    pub const fn can_write(&self) -> bool {
        self.write.is_some()
    }

    /// Writes conversations as the program would have written them.
    pub fn write(&self, tree: &Tree) -> Result<Vec<WrittenFile>> {
        let write = self.write.ok_or_else(|| {
            Error::new(crate::ErrorKind::Unsupported, format!("`{}` is only read", self.name))
        })?;
        write(tree)
    }
}
