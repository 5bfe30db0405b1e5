//! How large things may become. Each limit has the name of its configuration key.

use crate::error::{Error, Result};

/// How large things may become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The bytes of one appended turn: `limits.turn_bytes`.
    pub turn_bytes: u64,
    /// The bytes of one conversation's messages: `limits.conversation_bytes`.
    pub conversation_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { turn_bytes: 10_000_000, conversation_bytes: 1 << 30 }
    }
}

/// Titles and labels stand in lists; longer ones are text.
const TITLE_BYTES: usize = 1_000;

/// Deeper nesting than this is an attack, not a tool call.
const BLOCKS: usize = 10_000;

impl Limits {
    pub(crate) fn check_turn(&self, bytes: u64) -> Result<()> {
        if bytes > self.turn_bytes {
            return Err(Error::invalid(format!(
                "the turn has {bytes} bytes, more than `limits.turn_bytes` = {}",
                self.turn_bytes
            )));
        }
        Ok(())
    }

    pub(super) fn check_conversation(&self, bytes: u64) -> Result<()> {
        if bytes > self.conversation_bytes {
            return Err(Error::invalid(format!(
                "the conversation would have {bytes} bytes, more than `limits.conversation_bytes` = {}",
                self.conversation_bytes
            )));
        }
        Ok(())
    }
}

pub(crate) fn check_title(title: &str) -> Result<()> {
    if title.trim().is_empty() {
        return Err(Error::invalid("a title must not be empty"));
    }
    if title.len() > TITLE_BYTES {
        return Err(Error::invalid(format!(
            "a title may have {TITLE_BYTES} bytes, this one has {}",
            title.len()
        )));
    }
    Ok(())
}

pub(super) fn check_blocks(count: usize) -> Result<()> {
    if count > BLOCKS {
        return Err(Error::invalid(format!("a message may have {BLOCKS} blocks, this one has {count}")));
    }
    Ok(())
}
