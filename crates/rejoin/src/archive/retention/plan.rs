//! What goes, what goes soon, and what stays although it is old.

use crate::archive::retention::Sweep;
use crate::archive::retention::planner::Planner;
use crate::archive::{Archive, ArchiveRetention};
use crate::error::{ErrorKind, Result};
use crate::model::{ConversationId, StoredConversation, Time};
use crate::store::{BlobNames, Put, Safety, Space};

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
    /// It is the run of a sub-agent, and goes along with the conversation that started it.
    Along,
}

impl Cause {
    /// The cause as it is shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Age => "age",
            Self::Own => "its own expiry",
            Self::Surplus => "too many",
            Self::Along => "goes along",
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
    /// Those that go with the next sweep, newest activity first, each followed by the runs that go along.
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

impl ArchiveRetention<'_> {
    /// Finds what goes now and within `notice_days`. Nothing is changed.
    pub fn plan(&self, sweep: &Sweep<'_>, notice_days: u32) -> Result<RetentionPlan> {
        self.plan_all(&[(*sweep, notice_days)])
    }

    /// The same for several sweeps, such as one for each project, as one plan.
    pub fn plan_all(&self, sweeps: &[(Sweep<'_>, u32)]) -> Result<RetentionPlan> {
        let mut planner = Planner::of(self.archive);
        let mut plan = RetentionPlan::default();
        for (sweep, notice_days) in sweeps {
            planner.add(&mut plan, sweep, *notice_days)?;
        }
        plan.soon.sort_by_key(|expiring| (expiring.at, expiring.stored.id));
        Ok(plan)
    }

    /// Marks a conversation as in use by a process, so that no sweep takes it away, however old it is.
    ///
    /// The mark counts while the process lives.
    pub fn begin_use(&self, id: ConversationId, writer: &str) -> Result<()> {
        self.archive.put_use(id, writer, Some(b""))
    }

    /// Takes the mark away.
    pub fn end_use(&self, id: ConversationId, writer: &str) -> Result<()> {
        self.archive.put_use(id, writer, None)
    }
}

impl Archive {
    /// True when a conversation is named as active, has a reply that is not
    /// settled, or is open in a living process.
    pub(super) fn is_in_use(&self, id: ConversationId, sweep: &Sweep<'_>) -> Result<bool> {
        if sweep.active.contains(&id) {
            return Ok(true);
        }
        let mut is_in_use = false;
        let mut found = |_: &[u8], _: &[u8]| {
            is_in_use = true;
            Ok(())
        };
        match self.store().get(Space::OpenTurn, Some(id), BlobNames::ALL, &mut found) {
            // A reply that does not open was there all the same.
            Err(error) if error.kind() == ErrorKind::Corrupt => return Ok(true),
            other => other?,
        }
        let marks = BlobNames::Prefix(IN_USE.as_bytes());
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

    fn put_use(&self, id: ConversationId, writer: &str, bytes: Option<&[u8]>) -> Result<()> {
        let name = format!("{IN_USE}{writer}");
        let blob = Put { space: Space::State, owner: Some(id), name: name.as_bytes(), bytes };
        // After a power cut the process does not live, so losing the mark costs nothing.
        self.store().put(&[blob], Safety::Unsynced)
    }
}
