//! Signs that the store is under strain, told once each until it is over.

use std::error::Error as StdError;
use std::time::Duration;
use std::{fmt, io};

use crate::archive::Archive;
use crate::archive::events::NoticeKind;
use crate::error::Error;
use crate::model::ConversationId;
use crate::store::{Safety, put_notice};

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
    /// What those who follow the store were not told yet.
    untold: Vec<Strain>,
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

    /// What those who follow the store are to be told, now that it takes writes.
    fn take_untold(&mut self) -> Vec<Strain> {
        std::mem::take(&mut self.untold)
    }

    /// A write went well and took this long.
    pub(crate) fn wrote(&mut self, took: Duration) {
        self.is_full = false;
        self.note(|own| &mut own.is_slow, (took > SLOW).then_some(Strain::Slow { took }));
        let free = self.room.as_ref().and_then(|room| room());
        let low = free.filter(|free| *free < LITTLE).map(|free| Strain::Low { free });
        self.note(|own| &mut own.is_low, low);
    }

    /// A write failed.
    pub(crate) fn failed(&mut self, error: &Error) {
        if is_for_want_of_room(error) {
            self.note(|own| &mut own.is_full, Some(Strain::Exhausted));
        }
    }

    /// Notes what is news.
    fn note(&mut self, is_known: impl Fn(&mut Self) -> &mut bool, strain: Option<Strain>) {
        let was_known = std::mem::replace(is_known(self), strain.is_some());
        if let Some(strain) = strain.filter(|_| !was_known) {
            self.untold.push(strain.clone());
            self.news.push(strain);
        }
    }
}

impl Archive {
    /// Tells those who follow the store, in this process and in others. One
    /// that takes no notice loses nothing else.
    pub(crate) fn tell_strains(&self, strains: &mut Strains, id: ConversationId) {
        for strain in strains.take_untold() {
            let (store, at) = (self.store(), self.now());
            let told = NoticeKind::from(&strain);
            // After a power cut it may be missing.
            if let Err(error) = put_notice(store, store, at, Some(id), &told, Safety::Unsynced) {
                tracing::warn!(kind = error.kind().as_str(), "{} was not told", strain.name());
            }
        }
    }
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
