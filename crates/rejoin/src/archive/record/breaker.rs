//! When to try a failing store again: after pauses that grow, so that each
//! message does not wait for the same failure.

use std::time::Duration;

use crate::model::Time;

/// The first pause after a failure.
const FIRST: Duration = Duration::from_millis(500);

/// A store that comes back is noticed within this time.
const LONGEST: Duration = Duration::from_secs(30);

/// Remembers failures in a row.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    failures: u32,
    /// When the store last failed, and until when it is left alone.
    left_alone: Option<(Time, Time)>,
}

impl Breaker {
    /// True when the store may be tried.
    pub(crate) fn allows(&self, now: Time) -> bool {
        self.pause(now).is_zero()
    }

    /// How long the store is left alone.
    pub(crate) fn pause(&self, now: Time) -> Duration {
        match self.left_alone {
            // A clock that was set back must not make the pause longer.
            Some((failed, until)) if failed <= now => micros_between(now, until),
            Some(_) | None => Duration::ZERO,
        }
    }

    pub(crate) fn succeeded(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn failed(&mut self, now: Time) {
        let pause = FIRST.saturating_mul(1 << self.failures.min(16)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        let until = now.plus_micros(i64::try_from(pause.as_micros()).unwrap_or(i64::MAX));
        self.left_alone = Some((now, until));
    }
}

fn micros_between(from: Time, to: Time) -> Duration {
    Duration::from_micros(u64::try_from(to.as_micros() - from.as_micros()).unwrap_or(0))
}
