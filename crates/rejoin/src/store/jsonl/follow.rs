//! Following the log of changes: what happens in all processes, and waiting for it.

use std::time::{Duration, Instant};

use crate::error::Result;
use crate::store::jsonl::{Jsonl, change_log, lock};
use crate::store::{Changed, Stamp};

/// How often another process's changes are looked for.
const LOOK: Duration = Duration::from_millis(50);

impl Jsonl {
    pub(super) fn wait_for_changes(&self, after: Stamp, wait: Duration) -> Result<Vec<Changed>> {
        let until = Instant::now().checked_add(wait);
        loop {
            let rung = *lock(&self.bell.0);
            let changes = change_log::since(&self.layout.changes(), after, self.options.wait)?;
            let left = until.map_or(LOOK, |until| until.saturating_duration_since(Instant::now()));
            if !changes.is_empty() || left.is_zero() {
                return Ok(changes);
            }
            let (bell, ring) = &self.bell;
            // A poisoned bell still rings.
            let _ = ring.wait_timeout_while(lock(bell), left.min(LOOK), |now| *now == rung);
        }
    }
}
