//! The sweep: takes away what has expired, after a second look at each.

use std::fmt;

use crate::archive::purge::Purging;
use crate::archive::retention::planner::Planner;
use crate::archive::retention::{Cause, Expiring, Retention, RetentionPlan};
use crate::archive::runs::goes_along;
use crate::archive::{Archive, ArchiveRetention, AuditAction, PurgeOutcome, PurgeReason};
use crate::error::{ErrorKind, Result};
use crate::model::{ConversationId, Message, StoredConversation, Time};
use crate::store::{Order, Selection};

/// What a sweep goes over, and what it must not touch.
#[derive(Clone, Copy)]
pub struct Sweep<'a> {
    /// Only this project; none means every one, and an empty key what belongs to none.
    pub project: Option<&'a str>,
    /// The policy.
    pub retention: Retention,
    /// Conversations that are being used, whatever their age.
    pub active: &'a [ConversationId],
    /// Tells whether the process with a name lives, as it was given to [`ArchiveRetention::begin_use`].
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
    Done(PurgeOutcome),
}

impl ArchiveRetention<'_> {
    /// Takes away what has expired, and purges it like
    /// [`ArchiveRemoval::purge`](crate::parts::ArchiveRemoval::purge).
    ///
    /// Each conversation is looked at again right before it goes: what was used,
    /// held or deleted meanwhile is passed by.
    pub fn sweep(&self, sweep: &Sweep<'_>) -> Result<Swept> {
        self.sweep_all(&[*sweep], &mut |_| Ok(()))
    }

    /// Does several sweeps, such as one for each project, as one purge: keys are replaced once.
    ///
    /// `before` is told of each right before it goes, so that whoever keeps something beside the store
    /// that says the same can let it go first. If that fails, it does not go. The runs of sub-agents
    /// go with their conversation, before it.
    pub fn sweep_all(
        &self,
        sweeps: &[Sweep<'_>],
        before: &mut dyn FnMut(ConversationId) -> Result<()>,
    ) -> Result<Swept> {
        if let Some(until) = self.archive.doubts_clock_until()? {
            self.archive.removal().finish_erasing()?;
            return Ok(Swept::Waiting(until));
        }
        let mut due: Vec<(&Sweep<'_>, Expiring)> = Vec::new();
        let mut planner = Planner::of(self.archive);
        for sweep in sweeps {
            let mut plan = RetentionPlan::default();
            planner.add(&mut plan, sweep, 0)?;
            due.extend(plan.due.into_iter().map(|expiring| (sweep, expiring)));
        }
        let mut purging = Purging::begin(self.archive, AuditAction::Expired, PurgeReason::RetentionExpired);
        for family in due.chunk_by(|_, (_, next)| next.cause == Cause::Along) {
            let (sweep, first) = &family[0];
            let runs = family[1..].iter().map(|(_, run)| run.stored.id);
            let going = match self.archive.still_due(first, runs, sweep) {
                Ok(going) => going,
                Err(error) => {
                    purging.fail(first.stored.id, &error);
                    continue;
                }
            };
            for id in going {
                if let Err(error) = before(id) {
                    purging.fail(id, &error);
                    break;
                }
                // Whoever stops in between finds the conversation again, and with it the runs that are left.
                if !purging.purge(id) {
                    break;
                }
            }
        }
        let report = purging.finish();
        // A purge has done what an earlier one had to leave.
        if report.purged.is_empty() && report.failures.is_empty() {
            self.archive.removal().finish_erasing()?;
        }
        Ok(Swept::Done(report))
    }
}

impl Archive {
    /// What goes of a conversation and its runs, those first; nothing when it
    /// was used, held or deleted meanwhile.
    fn still_due(
        &self,
        first: &Expiring,
        runs: impl Iterator<Item = ConversationId>,
        sweep: &Sweep<'_>,
    ) -> Result<Vec<ConversationId>> {
        if !self.is_still_due(first, sweep)? {
            return Ok(Vec::new());
        }
        let mut going = vec![first.stored.id];
        for id in runs {
            let run = match self.conversation(id) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                stored => stored?,
            };
            if self.is_in_use(id, sweep)? {
                return Ok(Vec::new());
            }
            going.extend(goes_along(&run).then_some(id));
        }
        going.reverse();
        Ok(going)
    }

    /// True when a message is younger than the policy allows. A clock that was set back for a while has dated
    /// the last activity too early, and not what was said before.
    fn was_used_since(&self, stored: &StoredConversation, sweep: &Sweep<'_>) -> Result<bool> {
        let now = self.now();
        let mut newest = stored.last_active_at;
        let all = Selection::All { order: Order::NewestFirst, offset: 0, limit: u64::MAX };
        let read = self.store().read(stored.id, all, &mut |seen| {
            let said_at = Message::from_body(seen.body).ok().and_then(|message| message.created_at);
            newest = newest.max(said_at.filter(|time| *time <= now).unwrap_or_default());
            Ok(())
        });
        // What is damaged expires all the same.
        read.or_else(|error| if error.kind() == ErrorKind::Corrupt { Ok(()) } else { Err(error) })?;
        let used = StoredConversation { last_active_at: newest, ..stored.clone() };
        Ok(!sweep.retention.is_expired(&used, now))
    }

    fn is_still_due(&self, expiring: &Expiring, sweep: &Sweep<'_>) -> Result<bool> {
        let now = match self.conversation(expiring.stored.id) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            stored => stored?,
        };
        let is_due = match expiring.cause {
            Cause::Age => {
                sweep.retention.is_expired(&now, self.now()) && !self.was_used_since(&now, sweep)?
            }
            Cause::Own => sweep.retention.is_expired(&now, self.now()),
            Cause::Surplus | Cause::Along => now == expiring.stored,
        };
        Ok(is_due && !self.is_in_use(now.id, sweep)?)
    }
}
