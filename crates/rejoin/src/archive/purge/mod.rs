//! Purging: conversations go with every trace, a report says what became of each,
//! and whoever follows the events is told.
//!
//! The runs of sub-agents go before the conversation that started them, and lines of the prompt before the
//! conversation that says the same. Then, once for all: the keys of a vault are replaced, the store's log is
//! cut, the report goes to the audit log, and followers get a notice.

mod keys;
mod reason;
mod report;
mod unowned;

use std::collections::HashSet;
use std::time::Duration;

pub use keys::PurgeKeys;
pub use reason::PurgeReason;
pub use report::{PurgeOutcome, UnpurgedConversation};
use unowned::Unowned;

use crate::archive::events::NoticeKind;
use crate::archive::runs::Runs;
use crate::archive::state::prompt_history::PromptHistory;
use crate::archive::{Archive, ArchiveRemoval, AuditAction, AuditEntry};
use crate::error::{Error, Result};
use crate::model::{ConversationId, StoredConversation};
use crate::store::{Outcome, Safety, Target, Task, put_notice};

/// How long one attempt to erase what a store still holds may take.
const ERASING: Duration = Duration::from_millis(200);

/// Since when the store holds what it should not; remembered while it does.
const UNERASED: &str = "purge.unerased";

/// Why keys are replaced that an earlier purge could not replace.
const RETRIED: &str = "purge-retried";

impl ArchiveRemoval<'_> {
    /// Purges conversations: they are removed, and nothing they said is left in any file of the store.
    ///
    /// The runs of sub-agents that they started go along, before them; [`ArchiveRemoval::purged_along`]
    /// names those. So do the lines of
    /// the [prompt history](crate::parts::ArchiveState::prompt_history) that say what they said.
    ///
    /// One that cannot be purged does not stop the others. `tell` is told how many are done. Those
    /// who follow the events are told of the purge when it is complete. What a disk keeps of
    /// overwritten blocks is beyond any program; in a vault the key goes too, and the keys that
    /// opened it are replaced, once for all that went.
    pub fn purge(
        &self,
        ids: &[ConversationId],
        reason: PurgeReason,
        tell: &mut dyn FnMut(u64),
    ) -> PurgeOutcome {
        let mut purging = Purging::begin(self.archive, AuditAction::Purged, reason);
        match self.archive.with_runs(ids) {
            Ok(ids) => purging.purge_all(&ids, tell),
            // Without its runs, a conversation would be gone in part and nobody could find the rest.
            Err(error) => {
                let error = error.during("find the runs of sub-agents");
                ids.iter().for_each(|id| purging.fail(*id, &error));
            }
        }
        purging.finish()
    }

    /// The runs of sub-agents that a purge of these conversations takes along, each after what started it.
    ///
    /// Whoever asks before a purge shows them too. All of them go, also those that are
    /// held or have an expiry of their own.
    pub fn purged_along(&self, ids: &[ConversationId]) -> Result<Vec<StoredConversation>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let runs = Runs::of(self.archive, |_| true)?;
        let mut named: HashSet<ConversationId> = ids.iter().copied().collect();
        let along = ids.iter().flat_map(|id| runs.along(*id));
        Ok(along.filter(|run| named.insert(run.id)).collect())
    }

    /// Purges every conversation, and what is remembered beside them: projects, prompts, attachments.
    pub fn purge_everything(&self, reason: PurgeReason, tell: &mut dyn FnMut(u64)) -> Result<PurgeOutcome> {
        let ids = self.archive.maintenance().survey()?.conversations;
        let mut purging = Purging::begin(self.archive, AuditAction::Purged, reason);
        // They go with everything that belongs to no conversation.
        purging.prompt_history = None;
        purging.purge_all(&ids, tell);
        purging.erase_unowned();
        Ok(purging.finish())
    }

    /// True when a purge or a scrub removed something that is not erased from every file yet: somebody was
    /// reading it, or the process was cut off. [`finish_erasing`](Self::finish_erasing) does the rest.
    pub fn has_traces(&self) -> Result<bool> {
        Ok(self.archive.needs_new_keys()? || self.archive.is_remembered(UNERASED)?)
    }

    /// Does what a purge had to leave: erases what somebody was reading, replaces keys that
    /// could not be. True when nothing is left.
    pub fn finish_erasing(&self) -> Result<bool> {
        if self.archive.needs_new_keys()? {
            let keys = self.archive.renew_keys(RETRIED);
            return Ok(self.archive.erase_traces()? && keys != PurgeKeys::Failed);
        }
        Ok(!self.archive.is_remembered(UNERASED)? || self.archive.erase_traces()?)
    }
}

impl Archive {
    /// Each conversation once, after the runs that it started: a purge that is
    /// cut off leaves what names the rest.
    fn with_runs(&self, ids: &[ConversationId]) -> Result<Vec<ConversationId>> {
        let mut all: Vec<ConversationId> =
            self.removal().purged_along(ids)?.iter().map(|run| run.id).collect();
        all.reverse();
        let mut named = HashSet::new();
        all.extend(ids.iter().filter(|id| named.insert(**id)));
        Ok(all)
    }

    /// Remembers that something has to be erased, before it is removed: a purge that
    /// is cut off is made up for by the next.
    pub(super) fn expect_erasing(&self) {
        if let Err(error) = self.state().remember(UNERASED, Some(&self.now().to_string())) {
            tracing::warn!(kind = error.kind().as_str(), "it was not noted that something has to be erased");
        }
    }

    /// Erases what the store still holds of what was removed; true when nothing
    /// is left, else it is remembered.
    pub(super) fn erase_traces(&self) -> Result<bool> {
        let is_erased = self.store().maintain(Task::Checkpoint, ERASING)?.left == 0;
        let rest = (!is_erased).then(|| self.now().to_string());
        if is_erased || !self.is_remembered(UNERASED)? {
            self.state().remember(UNERASED, rest.as_deref())?;
        }
        Ok(is_erased)
    }

    /// Ends a purge: its report goes to the audit log, and those who follow the
    /// events are told, with what went last.
    pub(super) fn complete_purge(&self, report: &mut PurgeOutcome, last: Option<ConversationId>) {
        report.completed_at = self.now();
        self.note_done(report.entry());
        let (store, at) = (self.store(), report.completed_at);
        let told = NoticeKind::Purged {
            reason: report.reason.as_str().to_owned(),
            conversations: report.purged.len() as u64,
            messages: report.messages,
            bytes: report.bytes,
            failures: report.failures.len() as u64,
            is_erased: report.is_erased,
        };
        if let Err(error) = put_notice(store, store, at, last, &told, Safety::Synced) {
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
    report: PurgeOutcome,
    unowned: Unowned,
    /// The lines of the prompt, of which those go that say what goes.
    prompt_history: Option<PromptHistory<'a>>,
}

impl<'a> Purging<'a> {
    pub(super) fn begin(archive: &'a Archive, action: AuditAction, reason: PurgeReason) -> Self {
        let report = PurgeOutcome::begin(reason, archive.now());
        let prompt_history = Some(PromptHistory::of(archive));
        Self { archive, action, report, unowned: Unowned::Untouched, prompt_history }
    }

    fn purge_all(&mut self, ids: &[ConversationId], tell: &mut dyn FnMut(u64)) {
        for (place, id) in ids.iter().enumerate() {
            self.purge(*id);
            tell(place as u64 + 1);
        }
    }

    /// True before anything was tried.
    fn is_idle(&self) -> bool {
        let PurgeOutcome { purged, failures, .. } = &self.report;
        purged.is_empty() && failures.is_empty() && self.unowned == Unowned::Untouched
    }

    /// Purges one conversation, or notes why not. Answers whether it is gone.
    pub(super) fn purge(&mut self, id: ConversationId) -> bool {
        if self.is_idle() {
            self.archive.expect_new_keys();
            self.archive.expect_erasing();
        }
        // The lines go first: their traces are erased with those of what goes after them.
        if let Some(lines) = &mut self.prompt_history
            && let Err(error) = lines.forget_said_in(id)
        {
            self.fail(id, &error.during("forget the lines of the prompt"));
            return false;
        }
        let reason = self.report.reason.as_str();
        // What cannot be counted goes all the same.
        let attached = self.archive.attachments().bytes(id).unwrap_or(0);
        let outcome = self.archive.store().remove(&[Target::Conversation(id)], reason, self.archive.now());
        match outcome.map(|mut outcomes| outcomes.pop()) {
            Ok(Some(Outcome::Removed { messages, bytes })) => {
                let bytes = bytes + attached;
                let entry = AuditEntry::new(self.action.clone(), self.report.reason.as_str());
                self.archive.note_done(entry.to(id).counting(messages, bytes));
                self.report.purged.push(id);
                self.report.messages += messages;
                self.report.bytes += bytes;
                return true;
            }
            Ok(_) => self.fail(id, &Error::not_found(format!("no conversation `{id}`"))),
            Err(error) => self.fail(id, &error),
        }
        false
    }

    /// Erases what belongs to no conversation.
    fn erase_unowned(&mut self) {
        self.archive.expect_new_keys();
        self.archive.expect_erasing();
        self.unowned = self.archive.erase_unowned();
    }

    pub(super) fn fail(&mut self, id: ConversationId, error: &Error) {
        self.report.failures.push(UnpurgedConversation::of(id, error));
    }

    /// Erases the traces and writes the report, unless there was nothing to do.
    pub(super) fn finish(mut self) -> PurgeOutcome {
        if self.is_idle() {
            return self.report;
        }
        // Keys first: what they replace stands in the store's log, which is cut after.
        let has_gone = !self.report.purged.is_empty() || self.unowned != Unowned::Untouched;
        if has_gone || self.archive.needs_new_keys().unwrap_or(false) {
            self.report.keys = self.archive.renew_keys(self.report.reason.as_str());
        }
        let is_erased = self.archive.erase_traces().unwrap_or(false);
        self.report.is_erased = is_erased && self.unowned != Unowned::Left;
        let last = self.report.purged.last().copied();
        self.archive.complete_purge(&mut self.report, last);
        self.report
    }
}
