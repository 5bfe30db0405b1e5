//! Where a store's log of changes ends.

use std::time::Duration;

use crate::error::Result;
use crate::store::{Read, Stamp};

/// How many changes are read one after the other without looking further ahead.
const FEW: usize = 1_000;
const STEP: Stamp = 1 << 14;

/// The newest change of a store; that of `known` is known to be there.
pub(crate) fn newest_stamp(inner: &dyn Read, known: Stamp) -> Result<Stamp> {
    // Far behind, steps that double are shorter than reading every change.
    let (mut newest, mut step) = (known, 0);
    loop {
        let changes = inner.changes(newest.saturating_add(step), Duration::ZERO)?;
        match changes.last() {
            Some(last) => {
                newest = last.stamp;
                step = if step == 0 && changes.len() < FEW { 0 } else { (step * 2).max(STEP) };
            }
            None if step == 0 => return Ok(newest),
            None => step = if step > STEP { step / 2 } else { 0 },
        }
    }
}
