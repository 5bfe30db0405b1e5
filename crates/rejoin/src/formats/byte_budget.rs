//! Limits on what a reader buffers: a hostile file may continue one message forever.

use crate::error::{Error, Result};
use crate::formats::ReadLimits;

/// Fails when a message that is read in pieces is larger than one line may be.
pub(super) fn check_message(bytes: u64, most: u64) -> Result<()> {
    if bytes > most {
        return Err(Error::invalid(format!("a message has more than {most} bytes")));
    }
    Ok(())
}

/// Counts the bytes that are buffered for one thing.
#[derive(Debug)]
pub(super) struct ByteBudget {
    what: &'static str,
    bytes: u64,
}

impl ByteBudget {
    /// Starts at zero. `what` names the thing in errors, as in "a message".
    pub(super) const fn of(what: &'static str) -> Self {
        Self { what, bytes: 0 }
    }

    /// Counts another line.
    pub(super) fn add(&mut self, line: &str) {
        self.bytes = self.bytes.saturating_add(line.len() as u64);
    }

    /// True when the count exceeds the limit of one line.
    pub(super) const fn is_over(&self, limits: ReadLimits) -> bool {
        self.bytes > limits.line_bytes
    }

    /// Fails when the count exceeds the limit of one line.
    pub(super) fn check(&self, limits: ReadLimits) -> Result<()> {
        if self.is_over(limits) {
            return Err(Error::invalid(format!("{} has more than {} bytes", self.what, limits.line_bytes)));
        }
        Ok(())
    }
}
