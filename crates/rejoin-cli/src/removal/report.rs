//! What became of everything that was to go.

use rejoin::{ConversationId, PurgeOutcome};
use serde::Serialize;

use super::warn_of_failure;
use crate::context::Context;
use crate::error::{Failure, Kind};

/// What became of each item of a plan.
#[derive(Debug)]
pub(crate) struct RemovalReport<T> {
    pub(crate) items: Vec<(T, Fate)>,
    /// The bytes that were freed where the store counts them for all items together.
    freed: Option<u64>,
}

impl<T> RemovalReport<T> {
    pub(crate) const fn of(items: Vec<(T, Fate)>) -> Self {
        Self { items, freed: None }
    }

    /// How many items are gone.
    pub(crate) fn deleted(&self) -> u64 {
        self.fates().filter(|fate| fate.is_deleted()).count() as u64
    }

    /// The bytes that were freed.
    pub(crate) fn bytes(&self) -> u64 {
        self.freed.unwrap_or_else(|| self.fates().map(Fate::bytes).sum())
    }

    /// How many items stayed because of what happened meanwhile.
    pub(crate) fn passed_by(&self) -> u64 {
        self.fates().filter(|fate| matches!(fate, Fate::PassedBy)).count() as u64
    }

    pub(crate) fn failed(&self) -> usize {
        self.failures().count()
    }

    pub(crate) fn failures(&self) -> impl Iterator<Item = (&T, &Failure)> {
        self.items.iter().filter_map(|(item, fate)| Some((item, fate.failure()?)))
    }

    /// The sums as programs read them, with the items in the form of the command.
    pub(crate) fn shape<Item>(&self, items: Vec<Item>) -> RemovedShape<Item> {
        RemovedShape { items, deleted: self.deleted(), bytes: self.bytes(), failed: self.failed() }
    }

    /// Warns of each item that is still there. `done` is what failed, such as `deleted`.
    pub(crate) fn warn(
        &self,
        done: &str,
        name: impl Fn(&T) -> String,
        why: impl Fn(&Failure) -> String,
        context: &Context,
    ) {
        for (item, failure) in self.failures() {
            warn_of_failure(done, &name(item), &why(failure), None, context);
        }
    }

    /// Success, or the failure that makes the exit code, such as `2 of 3 could not be purged`. Its
    /// kind is that of the first failure.
    pub(crate) fn verdict(&self, done: &str, of: Option<usize>) -> Result<(), Failure> {
        let all = of.map(|all| format!(" of {all}")).unwrap_or_default();
        match self.failures().next() {
            None => Ok(()),
            Some((_, failure)) => Err(failure.retold(format!("{}{all} could not be {done}", self.failed()))),
        }
    }

    fn fates(&self) -> impl Iterator<Item = &Fate> {
        self.items.iter().map(|(_, fate)| fate)
    }
}

impl RemovalReport<ConversationId> {
    /// What the library says of a purge. It counts bytes for all conversations together.
    pub(crate) fn of_purge(outcome: &PurgeOutcome) -> Self {
        let gone = outcome.purged.iter().map(|id| (*id, Fate::Deleted(0)));
        let left = outcome.failures.iter().map(|failure| {
            (failure.conversation, Fate::Failed(Failure::new(Kind::Other, failure.error.as_str())))
        });
        Self { items: left.chain(gone).collect(), freed: Some(outcome.bytes) }
    }
}

/// What becomes of something that was to go, as programs read it.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FateShape {
    Planned,
    /// It goes within the days of notice.
    Soon,
    Deleted,
    #[serde(rename = "passed by")]
    PassedBy,
    /// It was not there.
    Missing,
    Failed,
}

/// What becomes of one thing that was to go.
#[derive(Debug)]
pub(crate) enum Fate {
    /// It waits for its turn, or would go if this were not a dry run.
    Planned,
    /// It is gone, and took this many bytes.
    Deleted(u64),
    /// Somebody used, kept or deleted it after it was looked at.
    PassedBy,
    /// Nothing has its name.
    Missing(Failure),
    Failed(Failure),
}

impl Fate {
    /// The same as programs read it.
    pub(crate) const fn outcome(&self) -> FateShape {
        match self {
            Self::Planned => FateShape::Planned,
            Self::Deleted(_) => FateShape::Deleted,
            Self::PassedBy => FateShape::PassedBy,
            Self::Missing(_) => FateShape::Missing,
            Self::Failed(_) => FateShape::Failed,
        }
    }

    pub(crate) const fn is_deleted(&self) -> bool {
        matches!(self, Self::Deleted(_))
    }

    /// The bytes that were freed.
    pub(crate) const fn bytes(&self) -> u64 {
        match self {
            Self::Deleted(bytes) => *bytes,
            Self::Planned | Self::PassedBy | Self::Missing(_) | Self::Failed(_) => 0,
        }
    }

    pub(crate) const fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Missing(failure) | Self::Failed(failure) => Some(failure),
            Self::Planned | Self::Deleted(_) | Self::PassedBy => None,
        }
    }
}

/// What became of conversations, as programs read it.
#[derive(Debug, Serialize)]
pub(crate) struct RemovedShape<Item> {
    pub(crate) items: Vec<Item>,
    pub(crate) deleted: u64,
    pub(crate) bytes: u64,
    pub(crate) failed: usize,
}
