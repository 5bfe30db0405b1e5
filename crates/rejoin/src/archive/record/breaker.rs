//! When to try a failing store again: after pauses that grow, so that each message does not wait for the same failure.

use std::time::Duration;

use crate::model::Time;

/// The first pause after a failure.
const FIRST: Duration = Duration::from_millis(500);

/// A store that comes back is noticed within this time.
const LONGEST: Duration = Duration::from_secs(30);

/// Remembers failures in a row.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    failures: u32,
    closed_until: Option<Time>,
}

impl Breaker {
    /// True when the store may be tried.
    pub(super) fn allows(&self, now: Time) -> bool {
        self.pause(now).is_zero()
    }

    /// How long the store is left alone.
    pub(super) fn pause(&self, now: Time) -> Duration {
        let left = self.closed_until.map_or(0, |until| until.as_micros() - now.as_micros());
        Duration::from_micros(u64::try_from(left).unwrap_or(0))
    }

    pub(super) fn succeeded(&mut self) {
        *self = Self::default();
    }

    pub(super) fn failed(&mut self, now: Time) {
        let pause = FIRST.saturating_mul(1 << self.failures.min(16)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        self.closed_until = Some(now.plus_micros(i64::try_from(pause.as_micros()).unwrap_or(i64::MAX)));
    }
}
