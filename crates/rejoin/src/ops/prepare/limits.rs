//! How large things may become. Each limit has the name of its configuration key.

use crate::error::{Error, Result};
use crate::model::TITLE_BYTES;

/// How large things may become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The bytes of one appended turn, and of a header that is longer than 64 KiB: `limits.turn_bytes`.
    pub turn_bytes: u64,
    /// The bytes of one conversation's messages, and of these and its
    /// attachments: `limits.conversation_bytes`.
    pub conversation_bytes: u64,
    /// The bytes of the pieces an attachment is stored in: `limits.attachment_chunk_bytes`.
    pub attachment_chunk_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { turn_bytes: 10_000_000, conversation_bytes: 1 << 30, attachment_chunk_bytes: 1 << 20 }
    }
}

/// A header may always have so many bytes: a small limit of turns must not keep
/// a conversation from being ended.
const HEADER_BYTES: u64 = 64 << 10;

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

    /// Checks what is known about a conversation beside its messages.
    pub(crate) fn check_header(&self, bytes: usize) -> Result<()> {
        if bytes as u64 > self.turn_bytes.max(HEADER_BYTES) {
            return Err(Error::invalid(format!(
                "the header has {bytes} bytes, more than `limits.turn_bytes` = {}",
                self.turn_bytes
            )));
        }
        Ok(())
    }

    pub(crate) fn check_conversation(&self, bytes: u64) -> Result<()> {
        if bytes > self.conversation_bytes {
            return Err(Error::invalid(format!(
                "the conversation would have {bytes} bytes, more than `limits.conversation_bytes` = {}",
                self.conversation_bytes
            )));
        }
        Ok(())
    }

    /// Checks the bytes of a conversation's messages and attachments together.
    pub(crate) fn check_attachments(&self, bytes: u64) -> Result<()> {
        if bytes > self.conversation_bytes {
            return Err(Error::invalid(format!(
                "the conversation would have {bytes} bytes with its attachments, more than \
                 `limits.conversation_bytes` = {}",
                self.conversation_bytes
            )));
        }
        Ok(())
    }

    /// How many bytes may be attached to a conversation that has so many.
    pub(crate) const fn room_for_attachments(&self, bytes: u64) -> u64 {
        self.conversation_bytes.saturating_sub(bytes)
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
