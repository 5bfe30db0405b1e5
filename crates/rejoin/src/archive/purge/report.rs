//! What became of a purge, as programs read it and as the audit log keeps it.

use std::error::Error as _;

use serde::{Serialize, Serializer};

use crate::archive::purge::{PurgeKeys, PurgeReason};
use crate::archive::{AuditAction, AuditEntry, AuditFailure};
use crate::error::{Error, ErrorKind};
use crate::model::{ConversationId, Json, Time};

/// What became of a purge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PurgeOutcome {
    /// Why it was made.
    pub reason: PurgeReason,
    /// When it began.
    pub started_at: Time,
    /// When it ended.
    pub completed_at: Time,
    /// Those that are gone.
    pub purged: Vec<ConversationId>,
    /// How many messages they had.
    pub messages: u64,
    /// How many bytes those took, with their attachments.
    pub bytes: u64,
    /// Those that are not gone, and why.
    pub failures: Vec<UnpurgedConversation>,
    /// True when the store holds no trace; else a reader held on to it, and the store erases it later.
    pub is_erased: bool,
    /// What became of the keys, in a vault.
    pub keys: PurgeKeys,
}

/// A conversation that could not be purged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnpurgedConversation {
    /// The conversation.
    pub conversation: ConversationId,
    /// The kind of the error.
    #[serde(serialize_with = "kind_name")]
    pub kind: ErrorKind,
    /// The error in words.
    pub error: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn kind_name<S: Serializer>(kind: &ErrorKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.as_str())
}

impl PurgeOutcome {
    /// The report of a purge that begins.
    pub(in crate::archive) const fn begin(reason: PurgeReason, now: Time) -> Self {
        Self {
            reason,
            started_at: now,
            completed_at: now,
            purged: Vec::new(),
            messages: 0,
            bytes: 0,
            failures: Vec::new(),
            is_erased: true,
            keys: PurgeKeys::None,
        }
    }

    /// What the audit log keeps of it: counts and codes.
    pub(super) fn entry(&self) -> AuditEntry {
        let mut entry = AuditEntry::new(AuditAction::PurgeCompleted, self.reason.as_str());
        entry = entry.counting(self.messages, self.bytes);
        entry.conversations = self.purged.len() as u64;
        let failures = self.failures.iter();
        entry.failures = failures.map(|failed| AuditFailure::of(failed.conversation, failed.kind)).collect();
        entry.extra.set("started_at", Json::of(&self.started_at).expect("a time is JSON"));
        if !self.is_erased {
            entry.extra.set("erased", Json::of(&false).expect("a word is JSON"));
        }
        if let Some(keys) = self.keys.as_str() {
            entry.extra.set("keys", Json::of(&keys).expect("a word is JSON"));
        }
        entry
    }
}

impl UnpurgedConversation {
    /// Why a conversation is not gone, with every cause.
    pub(super) fn of(conversation: ConversationId, error: &Error) -> Self {
        let mut told = error.to_string();
        let mut cause = error.source();
        while let Some(next) = cause {
            told += &format!(": {next}");
            cause = next.source();
        }
        Self { conversation, kind: error.kind(), error: told }
    }
}
