//! Where the archive's times and random bytes come from, so that a test can decide both.

use std::fmt;

use crate::model::Time;

/// Tells the time and gives random bytes.
pub trait Nature: fmt::Debug + Send + Sync {
    /// The time now.
    fn now(&self) -> Time;

    /// Fills `bytes` with unpredictable values.
    fn fill(&self, bytes: &mut [u8]);
}

/// The machine's clock and the operating system's randomness.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemNature;

impl Nature for SystemNature {
    fn now(&self) -> Time {
        Time::now()
    }

    fn fill(&self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("the operating system gives random bytes");
    }
}
