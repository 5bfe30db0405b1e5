//! Records that go: one, all, or those whose time is over.

use serde::{Deserialize, Serialize};

use crate::archive::{self, PurgeReason, Sweep, Swept};
use crate::error::{Error, Result};
use crate::model::{ConversationId, Time};
use crate::service::ConversationStorageService;

/// So long somebody may still have another copy of what does not open.
const QUARANTINE_DAYS: u32 = 7;

/// What became of a purge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PurgeReport {
    /// Why it was made.
    pub reason: PurgeReason,
    /// When it began.
    pub started_at: Time,
    /// When it ended.
    pub completed_at: Time,
    /// How many records are gone.
    pub purged_count: u64,
    /// Those that are not, and why.
    pub failures: Vec<PurgeFailure>,
    /// False when somebody was reading the files of the store, which then hold traces until the next purge or
    /// sweep. Beyond the document, and not spelled where it is true.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub erased: bool,
}

const fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_yes(answer: &bool) -> bool {
    *answer
}

/// A record that could not be purged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PurgeFailure {
    /// Its id.
    pub conversation_id: String,
    /// The error in words.
    pub error: String,
}

impl From<archive::PurgeOutcome> for PurgeReport {
    fn from(report: archive::PurgeOutcome) -> Self {
        let failure = |failed: archive::UnpurgedConversation| PurgeFailure {
            conversation_id: failed.conversation.to_string(),
            error: failed.error,
        };
        Self {
            reason: report.reason,
            started_at: report.started_at,
            completed_at: report.completed_at,
            purged_count: report.purged.len() as u64,
            failures: report.failures.into_iter().map(failure).collect(),
            erased: report.is_erased,
        }
    }
}

impl ConversationStorageService {
    /// Purges a record: nothing it said is left in any file of the store, or, where somebody is reading them,
    /// nothing after the next purge or sweep. What waits for room is tried again.
    pub fn delete_record(&self, conversation_id: &str, reason: PurgeReason) -> Result<()> {
        let id: ConversationId = conversation_id.parse()?;
        let alone = self.forget_writes(id);
        let report = self.opened()?.removal().purge(&[id], reason, &mut |_| ());
        drop(alone);
        self.try_waiting();
        match report.failures.into_iter().next() {
            Some(failed) => Err(Error::new(failed.kind, failed.error)),
            None => Ok(()),
        }
    }

    /// Purges every record, and what waits to be stored.
    pub fn purge_all(&self, reason: PurgeReason) -> Result<PurgeReport> {
        let _alone = self.forget_all_writes();
        Ok(self.opened()?.removal().purge_everything(reason, &mut |_| ())?.into())
    }

    /// Begins the service: purges what expired while no program was running, as [`Self::sweep`] does.
    ///
    /// A program calls it once, when it starts, and then [`Self::sweep`] every six hours.
    pub fn initialize(&self) -> Result<Option<PurgeReport>> {
        self.sweep()
    }

    /// Purges what has expired; none when the clock may be wrong, so that it is tried later.
    ///
    /// A program calls it every six hours. What is held, in use or to be changed by a
    /// write that waits stays. What was in quarantine for a
    /// week goes too.
    pub fn sweep(&self) -> Result<Option<PurgeReport>> {
        let alone = self.alone();
        let awaited = self.awaited();
        // Who may still be at work cannot be known here, so whoever says so is believed.
        let sweep = Sweep { project: None, retention: self.retention, active: &awaited, is_alive: &|_| true };
        let archive = self.opened()?;
        let swept = archive.retention().sweep(&sweep)?;
        drop(alone);
        archive.vault().purge_quarantined(QUARANTINE_DAYS)?;
        self.try_waiting();
        Ok(match swept {
            Swept::Waiting(_) => None,
            Swept::Done(report) => Some(report.into()),
        })
    }
}
