//! What can be wrong with a store or its place, each as a value, so that any
//! front end can say what to do about it.

use std::fmt;
use std::path::PathBuf;

use crate::error::ErrorKind;
use crate::model::{ConversationId, Time};

/// Below this the next long turn may not fit: the log alone grows to several megabytes.
const NO_SPACE: u64 = 16 << 20;

/// How much an ailment matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It works, and should be looked at.
    Warning,
    /// It does not work, or what is kept is not safe.
    Problem,
}

/// Something that is wrong with a store or its place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ailment {
    /// Others may read or change a file or directory.
    OpenToOthers {
        /// Which.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
        /// Those it should have.
        wanted: u32,
    },
    /// A file or directory belongs to someone else.
    WrongOwner {
        /// Which.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
        /// Whose it should be.
        expected: u32,
    },
    /// The place lies on a file system that machines share.
    NetworkFileSystem {
        /// Where.
        path: PathBuf,
        /// Its name.
        name: &'static str,
    },
    /// The disk is full or nearly so.
    LittleSpace {
        /// How many bytes are left.
        free: u64,
    },
    /// A process keeps others from writing.
    Held {
        /// Which, where the system tells.
        process: Option<u32>,
    },
    /// A copy that was interrupted left its file behind.
    Leftover {
        /// The file.
        path: PathBuf,
    },
    /// A store that was replaced is still kept beside it, with everything that has been deleted since.
    KeptCopy {
        /// The file.
        path: PathBuf,
    },
    /// There is a log without the database it belongs to.
    LogWithoutStore {
        /// The log.
        path: PathBuf,
    },
    /// The log has grown without being folded.
    LongLog {
        /// Its length.
        bytes: u64,
    },
    /// A newer program wrote it.
    NewerSchema {
        /// Why it is refused.
        why: String,
    },
    /// An older program wrote it; it is brought up to date when it is next used.
    OlderSchema {
        /// Its version.
        found: i32,
        /// The version it will have.
        known: i32,
    },
    /// It cannot be opened.
    Unusable {
        /// What kind of failure it is.
        kind: ErrorKind,
        /// Why.
        why: String,
    },
    /// Its structure is damaged: a page, or rows that belong to nothing.
    Damaged {
        /// Where, when it is known.
        conversation: Option<ConversationId>,
        /// What.
        what: String,
    },
    /// A conversation is not what was written.
    BrokenChain {
        /// Which.
        conversation: ConversationId,
        /// What is wrong.
        what: String,
    },
    /// The newest activity lies in the future.
    ClockBehindStore {
        /// When it was, as the store says.
        newest: Time,
        /// What the clock says.
        now: Time,
    },
    /// The clock shows a time before this program was written.
    ClockWrong {
        /// What it says.
        now: Time,
    },
    /// The key of the hashes in markers lies in the store, though it could be kept outside.
    KeyInside,
    /// The search index lacks many messages; they are found all the same, more slowly.
    IndexBehind {
        /// How many.
        messages: u64,
    },
}

impl Ailment {
    /// How much it matters.
    pub const fn severity(&self) -> Severity {
        match self {
            Self::OpenToOthers { .. }
            | Self::WrongOwner { .. }
            | Self::NetworkFileSystem { .. }
            | Self::Held { .. }
            | Self::LogWithoutStore { .. }
            | Self::NewerSchema { .. }
            | Self::Unusable { .. }
            | Self::Damaged { .. }
            | Self::BrokenChain { .. }
            | Self::ClockWrong { .. } => Severity::Problem,
            Self::LittleSpace { free } if *free < NO_SPACE => Severity::Problem,
            Self::LittleSpace { .. }
            | Self::Leftover { .. }
            | Self::KeptCopy { .. }
            | Self::LongLog { .. }
            | Self::OlderSchema { .. }
            | Self::ClockBehindStore { .. }
            | Self::KeyInside
            | Self::IndexBehind { .. } => Severity::Warning,
        }
    }
}

/// Says what is wrong: lower case, without a full stop.
impl fmt::Display for Ailment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OpenToOthers { path, mode, .. } => {
                let verb = if mode & 0o022 == 0 { "read" } else { "change" };
                write!(f, "others may {verb} `{}` (mode {mode:o})", path.display())
            }
            Self::WrongOwner { path, owner, expected } => {
                write!(f, "`{}` belongs to user {owner}, and you are user {expected}", path.display())
            }
            Self::NetworkFileSystem { path, name } => {
                write!(f, "`{}` lies on {name}, a network file system", path.display())
            }
            Self::LittleSpace { free } if *free < NO_SPACE => {
                write!(f, "the disk is full: {} kB left", free / 1_000)
            }
            Self::LittleSpace { free } => write!(f, "little space on the disk: {} MB left", free / 1_000_000),
            Self::Held { process: Some(process) } => {
                write!(f, "process {process} keeps the store locked")
            }
            Self::Held { process: None } => f.write_str("another process keeps the store locked"),
            Self::Leftover { path } => {
                write!(f, "an interrupted copy left `{}` behind", path.display())
            }
            Self::KeptCopy { path } => {
                write!(f, "the store that was replaced is still kept in `{}`", path.display())
            }
            Self::LogWithoutStore { path } => {
                write!(f, "the log `{}` is there, and its store is not", path.display())
            }
            Self::LongLog { bytes } => write!(f, "the log has grown to {} MB", bytes / 1_000_000),
            Self::NewerSchema { why } | Self::Unusable { why, .. } => f.write_str(why),
            Self::OlderSchema { found, known } => {
                write!(f, "schema {found}; the next use brings it to {known} and keeps a copy")
            }
            Self::Damaged { conversation: Some(id), what } => write!(f, "{what} in {}", id.short()),
            Self::Damaged { conversation: None, what } => f.write_str(what),
            Self::BrokenChain { conversation, what } => write!(f, "{}: {what}", conversation.short()),
            Self::ClockBehindStore { newest, now } => {
                write!(f, "the clock says {}, and something was stored at {}", minute(*now), minute(*newest))
            }
            Self::ClockWrong { now } => write!(f, "the clock says {}, long past", minute(*now)),
            Self::KeyInside => f.write_str(
                "the key of redaction lies in the store: whoever has its files can try out numbers",
            ),
            Self::IndexBehind { messages } => write!(f, "{messages} messages are not in the search index"),
        }
    }
}

/// A time to the minute, in UTC: `2025-01-01 10:30Z`.
fn minute(time: Time) -> String {
    let text = time.to_string().replace('T', " ");
    text.get(..16).map_or(text.clone(), |minute| format!("{minute}Z"))
}
