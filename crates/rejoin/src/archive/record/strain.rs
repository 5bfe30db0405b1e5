//! Signs that the store is under strain, told once each until it is over.

use std::error::Error as StdError;
use std::time::Duration;
use std::{fmt, io};

use crate::error::Error;

/// A write that takes longer is slow: a person begins to notice it.
const SLOW: Duration = Duration::from_millis(150);

/// With less room than this, some hundred turns, a store is nearly full.
const LITTLE: u64 = 32 << 20;

/// A sign that the store is under strain.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strain {
    /// `storage.write.slow`: a write took long.
    Slow {
        /// How long.
        took: Duration,
    },
    /// `storage.capacity.low`: there is little room left.
    Low {
        /// How many bytes.
        free: u64,
    },
    /// `storage.capacity.exhausted`: there is no room left, so that messages wait.
    Exhausted,
}

impl Strain {
    /// The event's name.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Slow { .. } => "storage.write.slow",
            Self::Low { .. } => "storage.capacity.low",
            Self::Exhausted => "storage.capacity.exhausted",
        }
    }
}

/// A sentence for people, with what to do.
impl fmt::Display for Strain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slow { took } => write!(f, "Saving took {} ms; the disk may be busy.", took.as_millis()),
            Self::Low { free } => {
                write!(f, "Only {} MB are left where conversations are kept; free some space.", free >> 20)
            }
            Self::Exhausted => f.write_str(
                "There is no room left to save; messages wait and are saved once some space is free.",
            ),
        }
    }
}

/// What is wrong with the store now, and what of it nobody was told yet.
#[derive(Default)]
pub(crate) struct Strains {
    is_slow: bool,
    is_low: bool,
    is_full: bool,
    news: Vec<Strain>,
    room: Option<Box<Room>>,
}

type Room = dyn Fn() -> Option<u64> + Send;

impl Strains {
    pub(crate) fn watch_room(&mut self, room: impl Fn() -> Option<u64> + Send + 'static) {
        self.room = Some(Box::new(room));
    }

    pub(crate) fn take(&mut self) -> Vec<Strain> {
        std::mem::take(&mut self.news)
    }

    /// A write went well and took this long.
    pub(crate) fn wrote(&mut self, took: Duration) {
        self.is_full = false;
        tell(&mut self.is_slow, (took > SLOW).then_some(Strain::Slow { took }), &mut self.news);
        let free = self.room.as_ref().and_then(|room| room());
        let low = free.filter(|free| *free < LITTLE).map(|free| Strain::Low { free });
        tell(&mut self.is_low, low, &mut self.news);
    }

    /// A write failed.
    pub(crate) fn failed(&mut self, error: &Error) {
        if is_for_want_of_room(error) {
            tell(&mut self.is_full, Some(Strain::Exhausted), &mut self.news);
        }
    }
}

/// Tells what is news.
fn tell(is_known: &mut bool, strain: Option<Strain>, news: &mut Vec<Strain>) {
    let was_known = std::mem::replace(is_known, strain.is_some());
    news.extend(strain.filter(|_| !was_known));
}

/// True when the disk is full, or the share of it that may be used.
pub(crate) fn is_for_want_of_room(error: &Error) -> bool {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.filter_map(|cause| cause.downcast_ref::<io::Error>()).any(|cause| {
        matches!(
            cause.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
        )
    })
}
