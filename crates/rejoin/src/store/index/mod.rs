//! Encoding of word-index segments, shared by `jsonl` and `sealed`. No I/O, no encryption.
//!
//! In a vault a segment covers messages of one conversation: [`Ids`] says which and when, [`Words`] which
//! words they have. In plain files it covers messages of many conversations, and its words are split into
//! [`Pages`], so that a lookup reads little of it. docs/vault-format.md and docs/format.md define every byte.
//! Malformed bytes are an error: they cause neither a panic nor a use of memory out of proportion to their
//! length.

mod checksum;
mod ids;
mod merge;
mod number;
mod pages;
mod words;
mod write;

pub(crate) use checksum::{chained, checksum};
pub(crate) use ids::{Ids, IndexedMessage};
pub(crate) use merge::merge;
pub(crate) use number::{Taker, fold, push, unfold};
pub(crate) use pages::{MergedSegment, PageWriter, Pages, combine};
pub(crate) use words::Words;
pub(crate) use write::DraftSegment;

use crate::error::{Error, Result};
use crate::model::WORDS_VERSION;

/// The form of a segment.
const FORM: u8 = 1;

/// How many words share a block: looking up a word reads half of one on average, and each costs four bytes.
const BLOCK: usize = 16;

/// The run of messages that a segment covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// The first sequence; the one after the last of the segment before.
    pub(crate) first: u32,
    /// The last sequence, which is that of a message.
    pub(crate) last: u32,
    /// How many messages there are; sequences may have gaps.
    pub(crate) messages: u32,
    /// How many bytes the inner store counts for them.
    pub(crate) bytes: u64,
}

impl Span {
    /// How many bytes its encoding takes.
    const SIZE: usize = 25;

    /// Encodes it as the head of a blob.
    fn write(&self, out: &mut Vec<u8>) {
        out.push(FORM);
        for number in [WORDS_VERSION, self.first, self.last, self.messages] {
            out.extend_from_slice(&number.to_be_bytes());
        }
        out.extend_from_slice(&self.bytes.to_be_bytes());
    }

    /// Reads the head of a blob, and returns what follows it.
    fn read(bytes: &[u8]) -> Result<(Self, &[u8])> {
        let Some((head, rest)) = bytes.split_first_chunk::<{ Self::SIZE }>() else {
            return Err(malformed("is cut off"));
        };
        let number = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        if head[0] != FORM || number(1) != WORDS_VERSION {
            return Err(malformed("has an unknown form"));
        }
        let mut counted = [0; 8];
        counted.copy_from_slice(&head[17..]);
        let (first, last, messages) = (number(5), number(9), number(13));
        let span = Self { first, last, messages, bytes: u64::from_be_bytes(counted) };
        // There are never more messages than sequences.
        if first == 0 || messages == 0 || last < first || messages - 1 > last - first {
            return Err(malformed("covers an impossible run of messages"));
        }
        Ok((span, rest))
    }

    /// The run of this segment and the one that follows it.
    fn joined(&self, next: &Self) -> Result<Self> {
        if self.last.checked_add(1) != Some(next.first) {
            return Err(malformed("does not follow the one before it"));
        }
        Ok(Self {
            first: self.first,
            last: next.last,
            messages: self.messages + next.messages,
            bytes: self.bytes.saturating_add(next.bytes),
        })
    }
}

/// The answer to bytes that are not what was written.
pub(crate) fn malformed(how: &str) -> Error {
    Error::corrupt(format!("a segment of the search index {how}"))
}

#[cfg(test)]
mod tests;
