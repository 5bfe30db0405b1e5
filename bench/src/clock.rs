//! How long something took, by the clock on the wall and by that of the processor.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// What tells how long something took.
#[derive(Clone, Copy, Debug)]
pub enum Clock {
    /// The time that passed.
    Wall,
    /// The time that processors spent on this process, all threads together.
    Processor,
}

impl Clock {
    /// What it shows.
    #[must_use]
    pub fn now(self) -> Duration {
        let clock = match self {
            Self::Wall => ClockId::Monotonic,
            Self::Processor => ClockId::ProcessCPUTime,
        };
        clock_gettime(clock).try_into().expect("both count from zero upwards")
    }
}

/// How long something took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Took {
    /// The time that passed.
    pub whole: Duration,
    /// The time of the processor.
    pub processor: Duration,
}

impl Took {
    /// Longer than anything takes.
    pub const LONGEST: Self = Self { whole: Duration::MAX, processor: Duration::MAX };

    /// Does some work and tells how long it took.
    pub fn of<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<(Self, T), E> {
        let (begun, before) = (Clock::Wall.now(), Clock::Processor.now());
        let answer = work()?;
        let (whole, processor) = (Clock::Wall.now() - begun, Clock::Processor.now() - before);
        Ok((Self { whole, processor }, answer))
    }

    /// What one of the clocks says.
    #[must_use]
    pub const fn by(self, clock: Clock) -> Duration {
        match clock {
            Clock::Wall => self.whole,
            Clock::Processor => self.processor,
        }
    }

    /// The shorter of two, by each clock.
    #[must_use]
    pub fn least(self, other: Self) -> Self {
        Self { whole: self.whole.min(other.whole), processor: self.processor.min(other.processor) }
    }

    /// The middle of several, by each clock.
    ///
    /// # Panics
    ///
    /// If there are none.
    #[must_use]
    pub fn median(all: &[Self]) -> Self {
        let middle = |clock| {
            let mut times: Vec<Duration> = all.iter().map(|took| took.by(clock)).collect();
            times.sort();
            times[times.len() / 2]
        };
        Self { whole: middle(Clock::Wall), processor: middle(Clock::Processor) }
    }
}
