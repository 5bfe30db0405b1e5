//! Verbs over stores: each reads or writes through the contract and knows no particular store.

mod attachment;
mod compact;
mod contents;
#[cfg(feature = "vault")]
mod convert;
mod diagnose;
#[cfg(feature = "formats")]
mod export;
mod files;
#[cfg(feature = "formats")]
mod import;
mod marker;
mod prepare;
#[cfg_attr(not(feature = "redact"), path = "unredacted.rs")]
mod redact;
#[cfg(feature = "redact")]
mod scrub;
#[cfg(any(feature = "formats", feature = "redact"))]
mod sources;
mod synopsis;
mod verify;
mod view;

pub(crate) use attachment::{
    AttachmentWriter, Detached, SettledCard, cards, erase_unused, fill, read as read_attachment, settle,
};
pub use compact::{Spoken, Summarised};
pub use contents::Contents;
pub(crate) use contents::{contents, prove};
#[cfg(feature = "vault")]
pub(crate) use convert::{Base, StoreMoment, compare, convert};
pub use diagnose::{Ailment, Diagnosis, Severity, Viewpoint};
pub(crate) use diagnose::{diagnose_contents, diagnose_place, unusable};
#[cfg(feature = "formats")]
pub use export::Extent;
#[cfg(feature = "formats")]
pub(crate) use export::{Naming, add_to_tree, view_tree};
pub use files::{FileContent, FileEntry, FileManifest, FileStamp, LeftOut};
pub(crate) use files::{PackedContent, pack as file_pack, unpack as file_unpack};
#[cfg(feature = "formats")]
pub use import::{Import, ImportMode, Imported, ImportedAs, ImportedConversation};
#[cfg(feature = "formats")]
pub(crate) use import::{ImportDestination, ImportQueue, import, is_used_here};
pub use prepare::Limits;
pub(crate) use prepare::{Preparation, ReadyTurn, check_title, in_line, redacted, stamp};
#[cfg(feature = "redact")]
pub(crate) use redact::HashKey;
#[cfg(not(feature = "redact"))]
pub(crate) use redact::Redaction;
pub(crate) use redact::{Cleaning, KeepKey, RedactionTally, Redactor};
#[cfg(feature = "redact")]
pub use redact::{Personal, Redaction};
#[cfg(feature = "redact")]
pub use scrub::{Finding, Rechained, ScrubMode, ScrubPlace, Scrubbed};
#[cfg(feature = "redact")]
pub(crate) use scrub::{scrub_conversation, scrub_state};
#[cfg(feature = "formats")]
pub(crate) use sources::unpack;
pub use verify::{Survey, Verification};
pub(crate) use verify::{absent, survey, verify_conversation};
pub use view::{
    CallIdRule, Compaction, Fact, FactKind, ItemRule, KeptMessage, MediaRule, PathMessage, Recipient, Repair,
    ThinkingRule, View, Viewed,
};
