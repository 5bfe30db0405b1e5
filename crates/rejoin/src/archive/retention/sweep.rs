//! The sweep: takes away what has expired, after a second look at each.

use std::fmt;

use crate::archive::purge::Purging;
use crate::archive::retention::{Cause, Expiring, Retention, RetentionPlan};
use crate::archive::{Archive, AuditAction, PurgeReason, PurgeReport};
use crate::error::{ErrorKind, Result};
use crate::model::{ConversationId, Time};

/// What a sweep goes over, and what it must not touch.
#[derive(Clone, Copy)]
pub struct Sweep<'a> {
    /// Only this project; none means every one, and an empty key what belongs to none.
    pub project: Option<&'a str>,
    /// The policy.
    pub retention: Retention,
    /// Conversations that are being used, whatever their age.
    pub active: &'a [ConversationId],
    /// Tells whether the process with a name lives, as it was given to [`Archive::begin_use`].
    pub is_alive: &'a dyn Fn(&str) -> bool,
}

impl fmt::Debug for Sweep<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Sweep");
        debug.field("project", &self.project).field("retention", &self.retention);
        debug.field("active", &self.active).finish_non_exhaustive()
    }
}

/// What became of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub enum Swept {
    /// The clock may be wrong, so nothing goes before this time.
    Waiting(Time),
    /// What had expired is gone.
    Done(PurgeReport),
}

impl Archive {
    /// Takes away what has expired, and purges it like [`Archive::purge`].
    ///
    /// Each conversation is looked at again right before it goes: what was used, held or deleted meanwhile is passed by.
    pub fn sweep(&self, sweep: &Sweep<'_>) -> Result<Swept> {
        self.sweep_all(&[*sweep], &mut |_| Ok(()))
    }

    /// Does several sweeps, such as one for each project, as one purge: keys are replaced once.
    ///
    /// Before anything goes, `before` is told what is due, so that whoever keeps something that says the same can let it go
    /// first.
    pub fn sweep_all(
        &self,
        sweeps: &[Sweep<'_>],
        before: &mut dyn FnMut(&[ConversationId]) -> Result<()>,
    ) -> Result<Swept> {
        self.finish_erasing()?;
        if let Some(until) = self.doubts_clock_until()? {
            return Ok(Swept::Waiting(until));
        }
        let mut due: Vec<(&Sweep<'_>, Expiring)> = Vec::new();
        for sweep in sweeps {
            let RetentionPlan { due: found, .. } = self.retention_plan(sweep, 0)?;
            due.extend(found.into_iter().map(|expiring| (sweep, expiring)));
        }
        if !due.is_empty() {
            before(&due.iter().map(|(_, expiring)| expiring.stored.id).collect::<Vec<_>>())?;
        }
        let mut purging = Purging::begin(self, AuditAction::Expired, PurgeReason::RetentionExpired);
        for (sweep, expiring) in &due {
            match self.is_still_due(expiring, sweep) {
                Ok(true) => purging.purge(expiring.stored.id),
                Ok(false) => {}
                Err(error) => purging.fail(expiring.stored.id, &error),
            }
        }
        Ok(Swept::Done(purging.finish()))
    }

    fn is_still_due(&self, expiring: &Expiring, sweep: &Sweep<'_>) -> Result<bool> {
        let now = match self.conversation(expiring.stored.id) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            stored => stored?,
        };
        let is_due = match expiring.cause {
            Cause::Age | Cause::Own => sweep.retention.is_expired(&now, self.now()),
            Cause::Surplus => now == expiring.stored,
        };
        Ok(is_due && !self.is_in_use(now.id, sweep)?)
    }
}
