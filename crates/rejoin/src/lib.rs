//! Keeps AI conversations: every append is on disk when it returns, and nothing that was said is lost.
//!
//! ```
//! use rejoin::{Archive, Conversation, Message};
//!
//! # let directory = tempfile::tempdir().unwrap();
//! # std::env::set_current_dir(&directory).unwrap();
//! let archive = Archive::open("sqlite:history.db")?;
//! let mut trip = archive.start(Conversation::titled("Lisbon"))?;
//! let receipt = trip.append(Message::user("Where to eat?"))?; // on disk when this returns
//! let mut cheap = trip.fork(receipt.head, "Lisbon, on a budget")?;
//! cheap.append(Message::assistant("Try a tasca in Alfama."))?;
//!
//! assert_eq!(cheap.path()?.len(), 2);
//! # Ok::<(), rejoin::Error>(())
//! ```
//!
//! [`Archive`] is what programs hold. [`store`] is the small contract for those
//! who write a store of their own.
//!
//! # Features
//!
//! A store in memory needs no feature. The default is `sqlite` and `redact`.
//!
//! | feature | what it adds | heavy dependencies |
//! |---|---|---|
//! | `sqlite` | `sqlite:PATH`: one file, several processes; backups | SQLite, compiled from C |
//! | `jsonl` | `jsonl:DIR`: plain files | |
//! | `vault` | `vault+…`: stores that are encrypted, and the conversion of stores | AWS-LC, argon2 |
//! | `redact` | secrets taken out before anything is stored, for programs that ask; scrubbing | regex |
//! | `formats` | files of other programs, import and export, pages for people | AWS-LC, SQLite, zip, zstd |
//! | `service` | the storage service; includes `formats` | |
//! | `tracing` | warnings and other events go to the crate `tracing` | tracing |
//! | `full` | everything above | |
//!
//! - A URL of a store that a build lacks is [`ErrorKind::Unsupported`], and the error names the feature.
//!   What else a build lacks is not there to be called: without `redact`, messages are stored as they are
//!   given, and `Archive::with_redaction` does not compile.
//! - A build without `vault` refuses a store that is sealed. It does not read pins, so it cannot tell that
//!   a plain store stands where a vault was used. Whoever uses vaults opens their places with the feature.
//! - A scrub in a build without `formats` refuses conversations that were imported: it cannot read what
//!   they were read from.
//! - Without `tracing` nothing is told of what is passed over with a warning, such as an audit entry that
//!   could not be written. Errors are returned all the same.
//!
//! # How SQLite is built
//!
//! No promise depends on SQLite's build flags. One of them saves work, and this crate cannot set it for
//! you: by default SQLite syncs with `fsync`, which also writes the time stamps of the file. With
//! `-DHAVE_FDATASYNC=1` it uses `fdatasync`, which is as safe and can be cheaper.
//! `-DSQLITE_DEFAULT_MEMSTATUS=0` saves a lock at each allocation. To have both, set this in the
//! `.cargo/config.toml` of your workspace:
//!
//! ```toml
//! [env]
//! LIBSQLITE3_FLAGS = "-DHAVE_FDATASYNC=1 -DSQLITE_DEFAULT_MEMSTATUS=0"
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(feature = "full"),
    expect(
        dead_code,
        unused_imports,
        reason = "a feature that is off uses it; a build with all of them misses nothing"
    )
)]

// Without the feature, `tracing::warn!` and the others are macros of this crate.
#[cfg(not(feature = "tracing"))]
extern crate self as tracing;

mod archive;
#[cfg(feature = "async")]
mod async_recorder;
mod clock;
mod error;
#[cfg(feature = "formats")]
pub mod formats;
mod model;
mod ops;
#[cfg(feature = "service")]
pub mod service;
pub mod store;
pub mod testing;
#[cfg(not(feature = "tracing"))]
mod untraced;
#[cfg(feature = "vault")]
pub mod vault;
#[cfg(not(feature = "vault"))]
#[expect(unreachable_pub, reason = "it is public with the feature")]
mod vault;

pub use archive::Snippet as SearchSnippet;
pub use archive::{
    Access, Archive, AuditAction, AuditEntry, AuditFailure, AuditQuery, BegunAgain, Cause, Deleted,
    DeletedMessages, EndReason, Ending, Event, EventKind, Events, Expiring, Handle, Limits, List, Listed,
    Named, OpenTurn, PROMPT_HISTORY_LINES, Parent, PathReader, Project, PurgeFailure, PurgeKeys, PurgeReason,
    PurgeReport, Recorder, Report, Retention, RetentionPlan, Saved, Search, SearchHit, Searched, Stage,
    Stats, StoreUrl, Strain, Subagent, Subagents, Sweep, Swept, Tally,
};
#[cfg(feature = "vault")]
pub use archive::{Converted, Leftover};
#[cfg(feature = "formats")]
pub use archive::{DeletedHere, Imports};
pub use archive::{Existing, Restored};
#[cfg(feature = "async")]
pub use async_recorder::{AsyncRecorder, OpenReply, SavingState, SavingWatch, Unsaved};
pub use clock::{Nature, SystemNature};
pub use error::{Error, ErrorKind, Result};
pub use model::{
    Attachment, AttachmentKind, Block, Branch, Conversation, ConversationId, Digest, Fields, Head, Hold,
    Incomplete, Json, Media, MediaKind, Message, MessageId, Metrics, Origin, Other, Participant, Privacy,
    PrivacyNotes, Receipt, Redacted, Role, SHORT_LENGTH, Settings, ShortId, Snapshot, Status,
    StoredConversation, StoredMessage, Summary, Synopsis, Text, Thinking, Time, ToolCall, ToolResult, Usage,
    incomplete, interrupted,
};
#[cfg(not(feature = "tracing"))]
pub(crate) use untraced::{event as debug, event as error, event as info, event as warn};
pub mod compact {
    //! Compaction: what is kept of a conversation that grew too long.

    pub use crate::ops::{
        COMPACT_THRESHOLD, COMPACT_USER_MESSAGE_MAX_TOKENS, Count, Fact, FactKind, NO_SUMMARY,
        SUMMARY_PROMPT, Spoken, Summarised, compacted, compaction_limit, is_preamble, needs_compaction,
        user_messages,
    };
}

#[cfg(feature = "formats")]
pub mod export {
    //! Exports for people: what a conversation says, as Markdown or as a page.

    pub use crate::ops::{SHORT_ARGUMENTS, Shortened, html, markdown, shortened};
}

pub mod parts {
    //! The parts of an [`Archive`](crate::Archive), each returned by the method of its name.

    pub use crate::archive::{
        ArchiveAttachments, ArchiveAudit, ArchiveExports, ArchiveImports, ArchiveMaintenance, ArchiveMarks,
        ArchiveNames, ArchiveOpenTurns, ArchiveProjects, ArchiveReader, ArchiveRedaction, ArchiveRemoval,
        ArchiveRetention, ArchiveState, ArchiveStatus, ArchiveSubagents, ArchiveVault,
    };
}

pub mod text {
    //! How the library reads text: its words, its sentences and its previews.

    pub use crate::model::{
        WordQuery, each_sentence, each_word, is_common_word, is_invisible, preview, slug, word_root, words,
    };
}

pub mod view {
    //! The view: what a model is sent.

    pub use crate::ops::{
        CallIdRule, Compaction, EndingRule, FirstRule, ItemRule, Kept, KeptPlace, MediaRule, Recipient,
        Repair, RepeatRule, Said, TextRule, ThinkingRule, View, Viewed, view,
    };
}

#[cfg(feature = "formats")]
pub use ops::Extent;
pub use ops::{Ailment, Contents, Diagnosis, Severity, Survey, Verdict, Viewpoint, synopsis_of, title_of};
#[cfg(feature = "redact")]
pub use ops::{Finding, Personal, Rechained, Redaction, ScrubMode, ScrubPlace, Scrubbed};
#[cfg(feature = "formats")]
pub use ops::{Import, ImportMode, Imported, ImportedAs, ImportedConversation};
