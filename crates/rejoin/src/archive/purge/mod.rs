//! Purging: conversations go with every trace, a report says what became of each, and whoever follows the events is told.

mod keys;

use std::error::Error as _;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

pub use keys::PurgeKeys;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::archive::{Archive, AuditAction, AuditEntry, AuditFailure};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{ConversationId, Json, Time};
use crate::store::{Named, Outcome, Put, Safety, Space, Target, Task, Told, put_notice};

/// How long one attempt to erase what a store still holds may take.
const ERASING: Duration = Duration::from_millis(200);

/// Since when the store holds what it should not; remembered while it does.
const UNERASED: &str = "purge.unerased";

/// Why keys are replaced that an earlier purge could not replace.
const RETRIED: &str = "purge-retried";

/// What holds content without belonging to a conversation. The keys of a vault, the audit log and the notes of imports,
/// which are hashes and ids, stay.
const UNOWNED: [Space; 5] =
    [Space::State, Space::Project, Space::Attachment, Space::Quarantine, Space::Notice];

/// Why something is purged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PurgeReason {
    /// Somebody asked for it.
    UserRequested,
    /// Its time was over.
    RetentionExpired,
    /// A rule about private data asks for it.
    PrivacyPolicyChange,
    /// The project begins anew.
    WorkspaceReset,
    /// It is damaged.
    CorruptionDetected,
}

impl PurgeReason {
    /// Every reason.
    pub const ALL: [Self; 5] = [
        Self::UserRequested,
        Self::RetentionExpired,
        Self::PrivacyPolicyChange,
        Self::WorkspaceReset,
        Self::CorruptionDetected,
    ];

    /// The reason's code.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UserRequested => "user-requested",
            Self::RetentionExpired => "retention-expired",
            Self::PrivacyPolicyChange => "privacy-policy-change",
            Self::WorkspaceReset => "workspace-reset",
            Self::CorruptionDetected => "corruption-detected",
        }
    }
}

impl fmt::Display for PurgeReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for PurgeReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for PurgeReason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl FromStr for PurgeReason {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == text).ok_or_else(|| {
            let shown: String = text.chars().take(40).collect();
            let all = Self::ALL.map(Self::as_str).join(", ");
            Error::invalid(format!("`{shown}` is not a reason; they are {all}"))
        })
    }
}

/// What became of a purge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PurgeReport {
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
    pub failures: Vec<PurgeFailure>,
    /// True when the store holds no trace; else a reader held on to it, and the store erases it later.
    pub is_erased: bool,
    /// What became of the keys, in a vault.
    pub keys: PurgeKeys,
}

/// A conversation that could not be purged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PurgeFailure {
    /// The conversation.
    pub conversation: ConversationId,
    /// The kind of the error.
    #[serde(serialize_with = "kind_name")]
    pub kind: ErrorKind,
    /// The error in words.
    pub error: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn kind_name<S: Serializer>(kind: &ErrorKind, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.as_str())
}

impl PurgeReport {
    /// The report of a purge that begins.
    pub(super) const fn begin(reason: PurgeReason, now: Time) -> Self {
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
}

impl Archive {
    /// Purges conversations: they are removed, and nothing they said is left in any file of the store.
    ///
    /// One that cannot be purged does not stop the others. `tell` is told how many are done. Those who follow the events
    /// are told of the purge when it is complete. What a disk keeps of overwritten blocks is beyond any program; in a
    /// vault the key goes too, and the keys that opened it are replaced, once for all that went.
    pub fn purge(
        &self,
        ids: &[ConversationId],
        reason: PurgeReason,
        tell: &mut dyn FnMut(u64),
    ) -> PurgeReport {
        let mut purging = Purging::begin(self, AuditAction::Purged, reason);
        for (place, id) in ids.iter().enumerate() {
            purging.purge(*id);
            tell(place as u64 + 1);
        }
        purging.finish()
    }

    /// Purges every conversation, and what is remembered beside them: projects, prompts, attachments.
    pub fn purge_everything(&self, reason: PurgeReason, tell: &mut dyn FnMut(u64)) -> Result<PurgeReport> {
        let ids = self.survey()?.conversations;
        let mut purging = Purging::begin(self, AuditAction::Purged, reason);
        for (place, id) in ids.iter().enumerate() {
            purging.purge(*id);
            tell(place as u64 + 1);
        }
        // What does not open goes with its copy in quarantine, which comes later in the list. One that cannot be erased must
        // not keep the others, or the report of what has gone.
        let mut is_gone = true;
        for space in UNOWNED {
            if let Err(error) = self.erase_unowned(space) {
                tracing::warn!(%error, "what belongs to no conversation was not erased");
                is_gone = false;
            }
        }
        let mut report = purging.finish();
        report.is_erased &= is_gone || self.opens_unowned();
        Ok(report)
    }

    fn erase_unowned(&self, space: Space) -> Result<()> {
        let mut names: Vec<Vec<u8>> = Vec::new();
        let read = self.store().get(space, None, Named::ALL, &mut |name, _| {
            names.push(name.to_vec());
            Ok(())
        });
        let erased: Vec<Put<'_>> =
            names.iter().map(|name| Put { space, owner: None, name, bytes: None }).collect();
        if !erased.is_empty() {
            self.store().put(&erased, Safety::Synced)?;
        }
        read
    }

    /// True when nothing is left that does not open.
    fn opens_unowned(&self) -> bool {
        UNOWNED.iter().all(|space| self.store().get(*space, None, Named::ALL, &mut |_, _| Ok(())).is_ok())
    }

    /// Does what a purge had to leave: erases what somebody was reading, replaces keys that could not be. True when nothing
    /// is left.
    pub fn finish_erasing(&self) -> Result<bool> {
        if self.needs_new_keys()? {
            let keys = self.renew_keys(RETRIED);
            return Ok(self.erase_traces()? && keys != PurgeKeys::Failed);
        }
        Ok(!self.is_remembered(UNERASED)? || self.erase_traces()?)
    }

    /// Erases what the store still holds of what was removed; true when nothing is left, else it is remembered.
    pub(super) fn erase_traces(&self) -> Result<bool> {
        let is_erased = self.store().maintain(Task::Checkpoint, ERASING)?.left == 0;
        let rest = (!is_erased).then(|| self.now().to_string());
        if is_erased || !self.is_remembered(UNERASED)? {
            self.remember(UNERASED, rest.as_deref())?;
        }
        Ok(is_erased)
    }
}

impl Archive {
    /// Ends a purge: its report goes to the audit log, and those who follow the events are told, with what went last.
    pub(super) fn complete_purge(&self, report: &mut PurgeReport, last: Option<ConversationId>) {
        report.completed_at = self.now();
        self.note_done(entry_of(report));
        let (store, at) = (self.store(), report.completed_at);
        let told = Told::Purged {
            reason: report.reason.as_str().to_owned(),
            conversations: report.purged.len() as u64,
            messages: report.messages,
            bytes: report.bytes,
            failures: report.failures.len() as u64,
        };
        if let Err(error) = put_notice(store, store, at, last, told, Safety::Synced) {
            tracing::warn!(kind = error.kind().as_str(), "a purge was not told");
        }
        let (purged, failed) = (report.purged.len(), report.failures.len());
        tracing::info!(reason = report.reason.as_str(), purged, failed, "privacy.purge.completed");
    }
}

/// A purge under way.
#[derive(Debug)]
pub(super) struct Purging<'a> {
    archive: &'a Archive,
    /// What the audit log says of each conversation.
    action: AuditAction,
    report: PurgeReport,
}

impl<'a> Purging<'a> {
    pub(super) fn begin(archive: &'a Archive, action: AuditAction, reason: PurgeReason) -> Self {
        let report = PurgeReport::begin(reason, archive.now());
        Self { archive, action, report }
    }

    /// Purges one conversation, or notes why not.
    pub(super) fn purge(&mut self, id: ConversationId) {
        if self.report.purged.is_empty() && self.report.failures.is_empty() {
            self.archive.expect_new_keys();
        }
        let reason = self.report.reason.as_str();
        // What cannot be counted goes all the same.
        let attached = self.archive.attached_bytes(id).unwrap_or(0);
        let outcome = self.archive.store().remove(&[Target::Conversation(id)], reason, self.archive.now());
        match outcome.map(|mut outcomes| outcomes.pop()) {
            Ok(Some(Outcome::Removed { messages, bytes })) => {
                let bytes = bytes + attached;
                let entry = AuditEntry::new(self.action.clone(), self.report.reason.as_str());
                self.archive.note_done(entry.to(id).counting(messages, bytes));
                self.report.purged.push(id);
                self.report.messages += messages;
                self.report.bytes += bytes;
            }
            Ok(_) => self.fail(id, &Error::not_found(format!("there is no conversation `{id}`"))),
            Err(error) => self.fail(id, &error),
        }
    }

    pub(super) fn fail(&mut self, id: ConversationId, error: &Error) {
        let mut told = error.to_string();
        let mut cause = error.source();
        while let Some(next) = cause {
            told += &format!(": {next}");
            cause = next.source();
        }
        let failure = PurgeFailure { conversation: id, kind: error.kind(), error: told };
        self.report.failures.push(failure);
    }

    /// Erases the traces and writes the report, unless there was nothing to do.
    pub(super) fn finish(mut self) -> PurgeReport {
        if self.report.purged.is_empty() && self.report.failures.is_empty() {
            return self.report;
        }
        // Keys first: what they replace stands in the store's log, which is cut after.
        if !self.report.purged.is_empty() || self.archive.needs_new_keys().unwrap_or(false) {
            self.report.keys = self.archive.renew_keys(self.report.reason.as_str());
        }
        self.report.is_erased = self.archive.erase_traces().unwrap_or(false);
        let last = self.report.purged.last().copied();
        self.archive.complete_purge(&mut self.report, last);
        self.report
    }
}

fn entry_of(report: &PurgeReport) -> AuditEntry {
    let mut entry = AuditEntry::new(AuditAction::PurgeCompleted, report.reason.as_str());
    entry = entry.counting(report.messages, report.bytes);
    entry.conversations = report.purged.len() as u64;
    let failures = report.failures.iter();
    entry.failures = failures.map(|failed| AuditFailure::of(failed.conversation, failed.kind)).collect();
    entry.extra.set("started_at", Json::of(&report.started_at).expect("a time is JSON"));
    if let Some(keys) = report.keys.as_str() {
        entry.extra.set("keys", Json::of(&keys).expect("a word is JSON"));
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_reads_back_by_its_code() {
        let read = PurgeReason::ALL.map(|reason| reason.as_str().parse::<PurgeReason>().ok());

        assert_eq!(read, PurgeReason::ALL.map(Some));
    }
}
