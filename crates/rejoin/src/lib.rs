#![doc = include_str!("../README.md")]
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

// What the tests share with the suite of `testing` names the library from outside.
extern crate self as rejoin;

mod archive;
#[cfg(feature = "async")]
mod async_recorder;
mod clock;
#[cfg(test)]
#[path = "../tests/it/doubles/mod.rs"]
mod doubles;
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
    Named, OpenTurn, Parent, PathReader, Project, PurgeKeys, PurgeOutcome, PurgeReason, Recorder, Retention,
    RetentionPlan, Saved, Search, SearchHit, Stage, Stats, StoreUrl, Strain, Subagent, Subagents, Sweep,
    Swept, Tally, UnpurgedConversation,
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
    Attachment, AttachmentKind, Block, Branch, Conversation, ConversationId, Digest, Fields, FileSnapshot,
    Head, Hold, Incomplete, Json, Media, MediaKind, Message, MessageId, Metrics, Origin, Other, Participant,
    PlainText, Privacy, PrivacyNotes, Receipt, Redacted, Role, Settings, ShortId, Snapshot, Status,
    StoredConversation, StoredMessage, Summary, Synopsis, Text, Thinking, Time, ToolCall, ToolResult, Usage,
};
#[cfg(not(feature = "tracing"))]
pub(crate) use untraced::{event as debug, event as error, event as info, event as warn};
pub mod parts {
    //! The parts of an [`Archive`](crate::Archive), each returned by the method of its name.

    pub use crate::archive::{
        ArchiveAttachments, ArchiveAudit, ArchiveExports, ArchiveFiles, ArchiveImports, ArchiveMaintenance,
        ArchiveMarks, ArchiveNames, ArchiveOpenTurns, ArchiveProjects, ArchiveReader, ArchiveRedaction,
        ArchiveRemoval, ArchiveRetention, ArchiveState, ArchiveStatus, ArchiveSubagents, ArchiveVault,
    };
}

pub mod files {
    //! Snapshots of a project's files: what was there, and what it held.

    pub use crate::archive::FileKeeper;
    pub use crate::ops::{FileContent, FileEntry, FileManifest, FileStamp, LeftOut};
}

pub mod view {
    //! The view, which is what a model is sent, and compaction: what is kept of a conversation that grew too
    //! long.

    pub use crate::ops::{
        CallIdRule, Compaction, Fact, FactKind, ItemRule, KeptMessage, MediaRule, PathMessage, Recipient,
        Repair, Spoken, Summarised, ThinkingRule, View, Viewed,
    };
}

#[cfg(feature = "formats")]
pub use ops::Extent;
pub use ops::{Ailment, Contents, Diagnosis, Severity, Survey, Verification, Viewpoint};
#[cfg(feature = "redact")]
pub use ops::{Finding, Personal, Rechained, Redaction, ScrubMode, ScrubPlace, Scrubbed};
#[cfg(feature = "formats")]
pub use ops::{Import, ImportMode, Imported, ImportedAs, ImportedConversation};
