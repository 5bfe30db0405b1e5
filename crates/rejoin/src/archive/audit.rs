//! The audit log: what was deleted, purged, redacted, rotated and exported,
//! when and why, and never what it said.
//!
//! An entry holds ids, counts, codes and digests. No title, text, path or message of an error goes into it,
//! so it can stay when everything it tells of is gone.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::archive::{Archive, ArchiveAudit};
use crate::error::{ErrorKind, Result};
use crate::model::{ConversationId, Fields, Json, Redacted, Time};
use crate::store::{BlobNames, Put, Safety, Space};

/// The version of what is written; a greater one is read as far as it is understood.
const VERSION: u32 = 1;

/// A name begins with the time, so that the order of names is the order of time.
const NAME_LENGTH: usize = 16;

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AuditAction {
    /// A conversation or some of its messages were deleted.
    Deleted,
    /// A conversation was purged: deleted with every trace.
    Purged,
    /// A conversation went because of its age or because there were too many.
    Expired,
    /// A purge ended; the entry is its report.
    PurgeCompleted,
    /// Secrets were taken out, before something was stored or afterwards; the entry has
    /// the rules and how often each found one.
    Redacted,
    /// What was stored already was looked through and changed; the entry has the digests before and after.
    Scrubbed,
    /// A key was replaced.
    Rotated,
    /// Everything was sealed with new data keys.
    SealedAnew,
    /// A way to open the vault was added.
    SlotAdded,
    /// A way to open the vault was taken away.
    SlotRemoved,
    /// An older copy of the vault was taken as it is.
    Accepted,
    /// What a plain store held was sealed.
    Encrypted,
    /// What a vault held was copied into a plain store.
    Decrypted,
    /// A conversation was written to a file.
    Exported,
    /// A record that could not be opened was set aside.
    Quarantined,
    /// Something that this version does not know.
    Other(String),
}

impl AuditAction {
    /// Every action that this version knows.
    pub const ALL: [Self; 15] = [
        Self::Deleted,
        Self::Purged,
        Self::Expired,
        Self::PurgeCompleted,
        Self::Redacted,
        Self::Scrubbed,
        Self::Rotated,
        Self::SealedAnew,
        Self::SlotAdded,
        Self::SlotRemoved,
        Self::Accepted,
        Self::Encrypted,
        Self::Decrypted,
        Self::Exported,
        Self::Quarantined,
    ];

    /// The action as it is stored and shown.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Deleted => "deleted",
            Self::Purged => "purged",
            Self::Expired => "expired",
            Self::PurgeCompleted => "purge-completed",
            Self::Redacted => "redacted",
            Self::Scrubbed => "scrubbed",
            Self::Rotated => "rotated",
            Self::SealedAnew => "sealed-anew",
            Self::SlotAdded => "slot-added",
            Self::SlotRemoved => "slot-removed",
            Self::Accepted => "accepted",
            Self::Encrypted => "encrypted",
            Self::Decrypted => "decrypted",
            Self::Exported => "exported",
            Self::Quarantined => "quarantined",
            Self::Other(name) => name,
        }
    }
}

impl fmt::Display for AuditAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for AuditAction {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for AuditAction {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Ok(Self::ALL.into_iter().find(|action| action.as_str() == name).unwrap_or(Self::Other(name)))
    }
}

/// One thing that was done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// When; an entry that was just made has none yet.
    #[serde(default)]
    pub at: Time,
    /// What.
    pub action: AuditAction,
    /// Why, as a code.
    #[serde(default)]
    pub reason: String,
    /// The conversation it was done to, when it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
    /// How many conversations it touched.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub conversations: u64,
    /// How many messages.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub messages: u64,
    /// How many bytes they took.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes: u64,
    /// What could not be done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<AuditFailure>,
    /// Further facts, such as names of rules and digests; never content.
    #[serde(default, skip_serializing_if = "Fields::is_empty")]
    pub extra: Fields,
}

/// A conversation to which it could not be done. The kind of the error says why: its message may name a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditFailure {
    /// The conversation.
    pub conversation: ConversationId,
    /// The kind of the error.
    pub kind: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl AuditEntry {
    /// Something that is done now, for a reason given as a code.
    pub fn new(action: AuditAction, reason: impl Into<String>) -> Self {
        Self {
            at: Time::default(),
            action,
            reason: reason.into(),
            conversation: None,
            conversations: 0,
            messages: 0,
            bytes: 0,
            failures: Vec::new(),
            extra: Fields::new(),
        }
    }

    /// The same, done to one conversation.
    #[must_use]
    pub const fn to(mut self, conversation: ConversationId) -> Self {
        self.conversation = Some(conversation);
        self.conversations = 1;
        self
    }

    /// The same, with what it came to.
    #[must_use]
    pub const fn counting(mut self, messages: u64, bytes: u64) -> Self {
        self.messages = messages;
        self.bytes = bytes;
        self
    }

    /// The same, with the rules that took something out, and how often.
    #[must_use]
    pub(super) fn ruled(mut self, rules: &[Redacted]) -> Self {
        self.extra.set("rules", Json::of(&rules).expect("names and counts are JSON"));
        self
    }
}

/// An entry as it is stored, by itself or along with what it tells of.
pub(super) struct AuditBlob {
    name: [u8; NAME_LENGTH],
    bytes: Vec<u8>,
}

impl AuditBlob {
    pub(super) fn put(&self) -> Put<'_> {
        Put { space: Space::Audit, owner: None, name: &self.name, bytes: Some(&self.bytes) }
    }
}

impl AuditFailure {
    /// An error's kind, for a conversation.
    pub fn of(conversation: ConversationId, kind: ErrorKind) -> Self {
        Self { conversation, kind: kind.as_str().to_owned() }
    }
}

/// Which entries to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuditQuery {
    /// Only those of this time or later.
    pub since: Option<Time>,
    /// Only those of this conversation.
    pub conversation: Option<ConversationId>,
    /// How many at most; none means all.
    pub limit: Option<usize>,
}

/// As it is stored.
#[derive(Serialize)]
struct WrittenEntry<'a> {
    version: u32,
    #[serde(flatten)]
    entry: &'a AuditEntry,
}

impl ArchiveAudit<'_> {
    /// Writes an entry to the audit log, with the time now. It is on disk when this returns.
    pub fn note(&self, entry: AuditEntry) -> Result<()> {
        self.archive
            .store()
            .put(&[self.archive.audit_blob(entry).put()], Safety::Synced)
            .map_err(|error| error.during("write an entry of the audit log"))
    }

    /// What was done, newest first. An entry that cannot be read is passed over.
    pub fn query(&self, query: &AuditQuery) -> Result<Vec<AuditEntry>> {
        let mut entries = Vec::new();
        let read = self.archive.store().get(Space::Audit, None, BlobNames::ALL, &mut |_, bytes| {
            match serde_json::from_slice::<AuditEntry>(bytes) {
                Ok(entry) => entries.push(entry),
                Err(cause) => tracing::warn!(%cause, "an audit entry cannot be read"),
            }
            Ok(())
        });
        match read {
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                tracing::warn!(%error, "an audit entry does not open");
            }
            other => other?,
        }
        entries.retain(|entry| {
            query.since.is_none_or(|since| entry.at >= since)
                && query.conversation.is_none_or(|id| entry.conversation == Some(id))
        });
        // A report is named when its purge begins, and comes after what the purge did.
        entries.sort_by_key(|entry| (entry.at, entry.action == AuditAction::PurgeCompleted));
        entries.reverse();
        entries.truncate(query.limit.unwrap_or(usize::MAX));
        Ok(entries)
    }
}

impl Archive {
    /// Writes an entry for what is done already; a log that cannot be written does not undo it.
    pub(super) fn note_done(&self, entry: AuditEntry) {
        if let Err(error) = self.audit().note(entry) {
            tracing::warn!(kind = error.kind().as_str(), "an audit entry was not written");
        }
    }

    /// An entry with the time now.
    pub(super) fn audit_blob(&self, entry: AuditEntry) -> AuditBlob {
        let entry = AuditEntry { at: self.now(), ..entry };
        let mut name = [0; NAME_LENGTH];
        let (time, random) = name.split_at_mut(8);
        time.copy_from_slice(&entry.at.as_micros().max(0).to_be_bytes());
        self.nature.fill(random);
        let written = WrittenEntry { version: VERSION, entry: &entry };
        AuditBlob { name, bytes: serde_json::to_vec(&written).expect("an audit entry is plain data") }
    }
}
