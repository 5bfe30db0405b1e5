//! Works out what goes: each conversation by the policy, and the runs of its sub-agents with it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use crate::archive::retention::{Cause, DAY, Expiring, Retention, RetentionPlan, Sweep};
use crate::archive::runs::{Runs, goes_along};
use crate::archive::{Archive, List, Parent, subagent};
use crate::error::{ErrorKind, Result};
use crate::model::{ConversationId, Hold, StoredConversation, Time};

/// How many runs may have started each other.
const DEEPEST: usize = 100;

/// What was found out for one plan.
#[derive(Debug)]
pub(super) struct Planner<'a> {
    archive: &'a Archive,
    /// The runs that go along with others; none before they were needed.
    runs: Option<Runs>,
    /// What started runs; none where it is gone.
    origins: HashMap<ConversationId, Option<RunOrigin>>,
}

/// What counts of a conversation that started a run.
#[derive(Clone, Copy, Debug)]
struct RunOrigin {
    hold: Hold,
    /// What started it, if it is a run itself.
    parent: Option<Parent>,
}

/// The conversations of one sweep by what becomes of them, newest activity first.
#[derive(Debug, Default)]
struct Sorted {
    due: Vec<Expiring>,
    soon: Vec<Expiring>,
    /// The rest, by project, of which there may be too many.
    rest: BTreeMap<String, Vec<StoredConversation>>,
    held: u64,
}

impl<'a> Planner<'a> {
    pub(super) fn of(archive: &'a Archive) -> Self {
        Self { archive, runs: None, origins: HashMap::new() }
    }

    /// Adds what one sweep does.
    pub(super) fn add(
        &mut self,
        plan: &mut RetentionPlan,
        sweep: &Sweep<'_>,
        notice_days: u32,
    ) -> Result<()> {
        let Sorted { due, soon, rest, held } = self.sorted(sweep, notice_days)?;
        plan.held += held;
        let mut going = HashSet::new();
        for expiring in due {
            let family = self.family(expiring)?;
            if self.is_any_in_use(&family, sweep)? {
                plan.in_use += 1;
            } else {
                plan.due.extend(family);
            }
        }
        for project in rest.into_values() {
            for family in self.surplus(sweep, project)? {
                going.extend(family.iter().map(|expiring| expiring.stored.id));
                plan.due.extend(family);
            }
        }
        for expiring in soon.into_iter().filter(|expiring| !going.contains(&expiring.stored.id)) {
            plan.soon.extend(self.family(expiring)?);
        }
        Ok(())
    }

    fn sorted(&mut self, sweep: &Sweep<'_>, notice_days: u32) -> Result<Sorted> {
        let now = self.archive.now();
        let notice = now.plus_micros(i64::from(notice_days) * DAY);
        let project = sweep.project.filter(|project| !project.is_empty()).map(str::to_owned);
        let is_of_none = sweep.project == Some("");
        let list = List { project, includes_expired: true, ..List::default() };
        let (mut sorted, mut runs) = (Sorted::default(), Vec::new());
        self.archive.reader().each_conversation(&list, &mut |stored| {
            if is_of_none && stored.conversation.project.is_some() {
                return Ok(());
            }
            if stored.parent().is_some() {
                runs.push(stored);
            } else {
                sorted.add(stored, &sweep.retention, now, notice);
            }
            Ok(())
        })?;
        for run in runs {
            if self.decides(&run)? {
                sorted.add(run, &sweep.retention, now, notice);
            }
        }
        Ok(sorted)
    }

    /// True for a run that the policy decides about by itself: what started it is gone, or somebody
    /// decided so and does not hold the whole.
    fn decides(&mut self, run: &StoredConversation) -> Result<bool> {
        let (mut root, mut next) = (None, run.parent());
        for _ in 0..DEEPEST {
            let Some(parent) = next else { break };
            let Some(origin) = self.origin(parent.conversation)? else { break };
            (root, next) = (Some(origin.hold), origin.parent);
        }
        Ok(root.is_none_or(|hold| hold == Hold::None && !goes_along(run)))
    }

    fn origin(&mut self, id: ConversationId) -> Result<Option<RunOrigin>> {
        if let Some(known) = self.origins.get(&id) {
            return Ok(*known);
        }
        let found = match self.archive.conversation(id) {
            Ok(stored) => Some(RunOrigin { hold: stored.conversation.hold, parent: stored.parent() }),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            // What it says about itself cannot be known, so its runs stay.
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                Some(RunOrigin { hold: Hold::User, parent: None })
            }
            Err(error) => return Err(error),
        };
        self.origins.insert(id, found);
        Ok(found)
    }

    /// What goes, and behind it the runs that go along.
    fn family(&mut self, first: Expiring) -> Result<Vec<Expiring>> {
        let runs = match self.runs.take() {
            Some(runs) => runs,
            None => Runs::of(self.archive, goes_along)?,
        };
        let (id, at) = (first.stored.id, first.at);
        let mut family = vec![first];
        let along = |stored| Expiring { stored, at, cause: Cause::Along };
        family.extend(runs.along(id).into_iter().map(along));
        self.runs = Some(runs);
        Ok(family)
    }

    /// The oldest of one project that are too many. What is in use does not count.
    fn surplus(
        &mut self,
        sweep: &Sweep<'_>,
        mut project: Vec<StoredConversation>,
    ) -> Result<Vec<Vec<Expiring>>> {
        let Some(most) = sweep.retention.max_per_project.filter(|most| project.len() as u64 > *most) else {
            return Ok(Vec::new());
        };
        // A list ends with what is dated far ahead. When that was used is not known, so it goes last here.
        project.sort_by_key(|stored| Reverse((stored.last_active_at, stored.id)));
        let (mut counted, mut surplus) = (0, Vec::new());
        for stored in project {
            let family = self.family(Expiring { stored, at: self.archive.now(), cause: Cause::Surplus })?;
            if self.is_any_in_use(&family, sweep)? {
                continue;
            }
            counted += 1;
            if counted > most {
                surplus.push(family);
            }
        }
        Ok(surplus)
    }

    fn is_any_in_use(&self, family: &[Expiring], sweep: &Sweep<'_>) -> Result<bool> {
        for expiring in family {
            if self.archive.is_in_use(expiring.stored.id, sweep)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Sorted {
    fn add(&mut self, stored: StoredConversation, retention: &Retention, now: Time, notice: Time) {
        match retention.expires_at(&stored) {
            Some(at) if at <= now => {
                let cause = cause_of(&stored);
                self.due.push(Expiring { stored, at, cause });
            }
            at => {
                self.held += u64::from(retention.would_expire(&stored, now));
                if retention.counts(&stored) {
                    let project = stored.conversation.project.clone().unwrap_or_default();
                    self.rest.entry(project).or_default().push(stored.clone());
                }
                if let Some(at) = at.filter(|at| *at <= notice) {
                    let cause = cause_of(&stored);
                    self.soon.push(Expiring { stored, at, cause });
                }
            }
        }
    }
}

const fn cause_of(stored: &StoredConversation) -> Cause {
    if stored.conversation.expires_at.is_some() { Cause::Own } else { Cause::Age }
}

impl Retention {
    /// True for a conversation of which there may be too many. For ever means for ever, and so does until a
    /// day. Runs of sub-agents belong to another conversation and do not count.
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
