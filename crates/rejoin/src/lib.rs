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
//! [`Archive`] is what programs hold. [`store`] is the small contract for those who write a store of their own.

mod archive;
mod clock;
mod error;
pub mod formats;
mod model;
mod ops;
pub mod service;
pub mod store;
pub mod testing;
pub mod vault;

pub use archive::Snippet as SearchSnippet;
pub use archive::{
    Access, Archive, AuditAction, AuditEntry, AuditFailure, AuditQuery, BegunAgain, Cause, Converted,
    Deleted, DeletedHere, DeletedMessages, EndReason, Ending, Event, EventKind, Events, Existing, Expiring,
    Handle, Imports, Leftover, Limits, List, Listed, Named, OpenTurn, PROMPT_HISTORY_LINES, Parent, Project,
    PurgeFailure, PurgeKeys, PurgeReason, PurgeReport, Recorder, Report, Restored, Retention, RetentionPlan,
    Saved, Search, SearchHit, Searched, Stage, Stats, StoreUrl, Strain, Subagent, Subagents, Sweep, Swept,
    Tally,
};
pub use clock::{Nature, SystemNature};
pub use error::{Error, ErrorKind, Result};
pub use model::{
    Attachment, AttachmentKind, Block, Branch, Conversation, ConversationId, Digest, Fields, Head, Hold,
    Incomplete, Json, Media, MediaKind, Message, MessageId, Metrics, Origin, Other, Participant, Privacy,
    PrivacyNotes, Receipt, Redacted, Role, SHORT_LENGTH, Settings, ShortId, Snapshot, Status,
    StoredConversation, StoredMessage, Summary, Synopsis, Text, Thinking, Time, ToolCall, ToolResult, Usage,
    incomplete, interrupted,
};

pub mod compact {
    //! Compaction: what is kept of a conversation that grew too long.

    pub use crate::ops::{
        COMPACT_THRESHOLD, COMPACT_USER_MESSAGE_MAX_TOKENS, Count, Fact, FactKind, NO_SUMMARY,
        SUMMARY_PROMPT, Spoken, Summarised, compacted, compaction_limit, is_preamble, needs_compaction,
        user_messages,
    };
}

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

pub use ops::{
    Ailment, Contents, Diagnosis, Extent, Finding, Import, ImportMode, Imported, ImportedAs,
    ImportedConversation, Personal, Rechained, Redaction, ScrubMode, ScrubPlace, Scrubbed, Severity, Survey,
    Verdict, Viewpoint, synopsis_of, title_of,
};
