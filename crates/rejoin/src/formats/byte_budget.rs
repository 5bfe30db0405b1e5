//! What a reader holds until it is complete, within a limit: a file may go on with one message for ever.

use crate::error::{Error, Result};
use crate::formats::ReadLimits;

/// An error when a message that is read in pieces has more bytes than one line may have.
pub(super) fn check_message(bytes: u64, most: u64) -> Result<()> {
    if bytes > most {
        return Err(Error::invalid(format!("a message has more than {most} bytes")));
    }
    Ok(())
}

/// The bytes that are held of something.
#[derive(Debug)]
pub(super) struct ByteBudget {
    what: &'static str,
    bytes: u64,
}

impl ByteBudget {
    /// Holds nothing yet of what is named, as in "a message".
    pub(super) const fn of(what: &'static str) -> Self {
        Self { what, bytes: 0 }
    }

    /// Counts another line.
    pub(super) fn add(&mut self, line: &str) {
        self.bytes = self.bytes.saturating_add(line.len() as u64);
    }

    /// True when it is more than one line may have.
    pub(super) const fn is_over(&self, limits: ReadLimits) -> bool {
        self.bytes > limits.line_bytes
    }

    /// An error when it is more than one line may have.
    pub(super) fn check(&self, limits: ReadLimits) -> Result<()> {
        if self.is_over(limits) {
            return Err(Error::invalid(format!("{} has more than {} bytes", self.what, limits.line_bytes)));
        }
        Ok(())
    }
}
