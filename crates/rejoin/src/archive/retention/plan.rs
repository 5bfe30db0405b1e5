//! What goes, what goes soon, and what stays although it is old.

use std::collections::BTreeMap;

use crate::archive::retention::{DAY, Retention, Sweep};
use crate::archive::{Archive, List, subagent};
use crate::error::{ErrorKind, Result};
use crate::model::{ConversationId, Hold, StoredConversation, Time};
use crate::store::{Named, Put, Safety, Space};

/// Under this name and that of a process, a conversation is marked as in use by it.
const IN_USE: &str = "in-use:";

/// Why a conversation goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// Nothing was added for as many days as the policy has.
    Age,
    /// It has an expiry of its own.
    Own,
    /// Its project has more than the policy allows, and the others are newer.
    Surplus,
}

impl Cause {
    /// The cause as it is shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Age => "age",
            Self::Own => "its own expiry",
            Self::Surplus => "too many",
        }
    }
}

/// A conversation that goes.
#[derive(Clone, Debug, PartialEq)]
pub struct Expiring {
    /// The conversation.
    pub stored: StoredConversation,
    /// When it goes; one of too many goes at once.
    pub at: Time,
    /// Why.
    pub cause: Cause,
}

/// What a policy does to the conversations of a project.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RetentionPlan {
    /// Those that go with the next sweep, newest activity first.
    pub due: Vec<Expiring>,
    /// Those that go within the days of notice, the next one first.
    pub soon: Vec<Expiring>,
    /// How many would go if they were not held.
    pub held: u64,
    /// How many would go if they were not in use.
    pub in_use: u64,
}

impl RetentionPlan {
    /// The bytes of what goes with the next sweep.
    pub fn bytes(&self) -> u64 {
        self.due.iter().map(|expiring| expiring.stored.bytes).sum()
    }
}

impl Archive {
    /// Finds what goes now and within `notice_days`. Nothing is changed.
    pub fn retention_plan(&self, sweep: &Sweep<'_>, notice_days: u32) -> Result<RetentionPlan> {
        let now = self.now();
        let notice = now.plus_micros(i64::from(notice_days) * DAY);
        let mut plan = RetentionPlan::default();
        // The rest, by project and newest first, of which there may be too many.
        let mut rest: BTreeMap<String, Vec<StoredConversation>> = BTreeMap::new();
        let project = sweep.project.filter(|project| !project.is_empty()).map(str::to_owned);
        let is_of_none = sweep.project == Some("");
        let list = List { project, includes_expired: true, ..List::default() };
        self.each_conversation(&list, &mut |stored| {
            if is_of_none && stored.conversation.project.is_some() {
                return Ok(());
            }
            match sweep.retention.expires_at(&stored) {
                Some(at) if at <= now => self.add_due(&mut plan, sweep, stored, at)?,
                at => {
                    plan.held += u64::from(sweep.retention.would_expire(&stored, now));
                    if sweep.retention.counts(&stored) {
                        let project = stored.conversation.project.clone().unwrap_or_default();
                        rest.entry(project).or_default().push(stored.clone());
                    }
                    if let Some(at) = at.filter(|at| *at <= notice) {
                        let cause = cause_of(&stored);
                        plan.soon.push(Expiring { stored, at, cause });
                    }
                }
            }
            Ok(())
        })?;
        if let Some(most) = sweep.retention.max_per_project {
            for project in rest.into_values() {
                self.add_surplus(&mut plan, sweep, project, most)?;
            }
        }
        let going: Vec<ConversationId> = plan.due.iter().map(|expiring| expiring.stored.id).collect();
        plan.soon.retain(|expiring| !going.contains(&expiring.stored.id));
        plan.soon.sort_by_key(|expiring| (expiring.at, expiring.stored.id));
        Ok(plan)
    }

    fn add_due(
        &self,
        plan: &mut RetentionPlan,
        sweep: &Sweep<'_>,
        stored: StoredConversation,
        at: Time,
    ) -> Result<()> {
        if self.is_in_use(stored.id, sweep)? {
            plan.in_use += 1;
        } else {
            let cause = cause_of(&stored);
            plan.due.push(Expiring { stored, at, cause });
        }
        Ok(())
    }

    /// The oldest of one project that are too many. What is in use does not count.
    fn add_surplus(
        &self,
        plan: &mut RetentionPlan,
        sweep: &Sweep<'_>,
        project: Vec<StoredConversation>,
        most: u64,
    ) -> Result<()> {
        if project.len() as u64 <= most {
            return Ok(());
        }
        let mut counted = 0;
        for stored in project {
            if self.is_in_use(stored.id, sweep)? {
                continue;
            }
            counted += 1;
            if counted > most {
                plan.due.push(Expiring { stored, at: self.now(), cause: Cause::Surplus });
            }
        }
        Ok(())
    }

    /// True when a conversation is named as active, has a reply that is not settled, or is open in a living process.
    pub(super) fn is_in_use(&self, id: ConversationId, sweep: &Sweep<'_>) -> Result<bool> {
        if sweep.active.contains(&id) {
            return Ok(true);
        }
        let mut is_in_use = false;
        let mut found = |_: &[u8], _: &[u8]| {
            is_in_use = true;
            Ok(())
        };
        match self.store().get(Space::OpenTurn, Some(id), Named::ALL, &mut found) {
            // A reply that does not open was there all the same.
            Err(error) if error.kind() == ErrorKind::Corrupt => return Ok(true),
            other => other?,
        }
        let marks = Named::Beginning(IN_USE.as_bytes());
        let read = self.store().get(Space::State, Some(id), marks, &mut |name, _| {
            let writer = str::from_utf8(&name[IN_USE.len()..]).unwrap_or_default();
            is_in_use |= (sweep.is_alive)(writer);
            Ok(())
        });
        match read {
            // Whose mark it was cannot be known.
            Err(error) if error.kind() == ErrorKind::Corrupt => Ok(true),
            other => other.map(|()| is_in_use),
        }
    }

    /// Marks a conversation as in use by a process, so that no sweep takes it away, however old it is.
    ///
    /// The mark counts while the process lives.
    pub fn begin_use(&self, id: ConversationId, writer: &str) -> Result<()> {
        self.put_use(id, writer, Some(b""))
    }

    /// Takes the mark away.
    pub fn end_use(&self, id: ConversationId, writer: &str) -> Result<()> {
        self.put_use(id, writer, None)
    }

    fn put_use(&self, id: ConversationId, writer: &str, bytes: Option<&[u8]>) -> Result<()> {
        let name = format!("{IN_USE}{writer}");
        let blob = Put { space: Space::State, owner: Some(id), name: name.as_bytes(), bytes };
        // After a power cut the process does not live, so losing the mark costs nothing.
        self.store().put(&[blob], Safety::Unsynced)
    }
}

const fn cause_of(stored: &StoredConversation) -> Cause {
    if stored.conversation.expires_at.is_some() { Cause::Own } else { Cause::Age }
}

impl Retention {
    /// True for a conversation of which there may be too many. For ever means for ever, and so does until a day. Runs of
    /// sub-agents belong to another conversation and do not count.
    fn counts(&self, stored: &StoredConversation) -> bool {
        let header = &stored.conversation;
        self.days.is_some()
            && header.follows_retention
            && header.expires_at.is_none()
            && header.kind != subagent::KIND
            && matches!(header.hold, Hold::None)
    }

    /// True when a conversation that is held would have expired otherwise.
    fn would_expire(&self, stored: &StoredConversation, now: Time) -> bool {
        if stored.conversation.hold == Hold::None {
            return false;
        }
        let mut released = stored.clone();
        released.conversation.hold = Hold::None;
        self.is_expired(&released, now)
    }
}
