//! What wakes those who wait for changes.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Counts how often it rang.
#[derive(Default)]
pub(super) struct Bell {
    count: Mutex<u64>,
    ring: Condvar,
}

impl Bell {
    fn locked(&self) -> MutexGuard<'_, u64> {
        // A poisoned bell still rings.
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn count(&self) -> u64 {
        *self.locked()
    }

    pub(super) fn ring(&self) {
        *self.locked() += 1;
        self.ring.notify_all();
    }

    /// Waits until it rings more often than so many times, or the time is over.
    pub(super) fn wait(&self, count: u64, time: Duration) {
        let _ = self.ring.wait_timeout_while(self.locked(), time, |now| *now == count);
    }
}
