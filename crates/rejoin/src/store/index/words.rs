//! Looking words up in a segment, without decoding those beside the way.

use std::ops::ControlFlow;

use crate::error::Result;
use crate::model::WordQuery;
use crate::store::index::number::Taker;
use crate::store::index::{BLOCK, Span, malformed};

/// The words of a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words<'a> {
    /// What the segment covers.
    pub(crate) span: Span,
    count: usize,
    /// Where each block begins, four bytes each.
    table: &'a [u8],
    blocks: &'a [u8],
}

impl<'a> Words<'a> {
    /// Reads a segment: its head and table. What is malformed behind them is found when it is looked at.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self> {
        let (span, rest) = Span::read(bytes)?;
        let mut rest = Taker(rest);
        let mut count = [0; 4];
        count.copy_from_slice(rest.bytes(4)?);
        let count = u32::from_be_bytes(count) as usize;
        let table = rest.bytes(count.div_ceil(BLOCK) as u64 * 4)?;
        Ok(Self { span, count, table, blocks: rest.0 })
    }

    /// The sequences of messages that have every word of a query, ascending.
    pub(crate) fn matches(&self, query: &WordQuery) -> Result<Vec<u32>> {
        let Some((last, whole)) = query.words().split_last() else { return Ok(Vec::new()) };
        let mut found: Option<Vec<u32>> = None;
        for word in whole {
            narrow(&mut found, self.of_word(word)?);
            if found.as_ref().is_some_and(Vec::is_empty) {
                return Ok(Vec::new());
            }
        }
        let ending = if query.last_is_prefix() { self.of_beginning(last)? } else { self.of_word(last)? };
        narrow(&mut found, ending);
        Ok(found.unwrap_or_default())
    }

    /// The sequences of messages that have a word.
    pub(super) fn of_word(&self, word: &str) -> Result<Vec<u32>> {
        let mut found = Vec::new();
        self.each_from(word.as_bytes(), |own, sequences| {
            if own == word.as_bytes() {
                found = sequences.to_vec();
            }
            ControlFlow::Break(())
        })?;
        Ok(found)
    }

    /// The sequences of messages that have a word with this beginning.
    pub(super) fn of_beginning(&self, beginning: &str) -> Result<Vec<u32>> {
        let mut found = Vec::new();
        self.each_from(beginning.as_bytes(), |own, sequences| {
            if !own.starts_with(beginning.as_bytes()) {
                return ControlFlow::Break(());
            }
            found.extend_from_slice(sequences);
            ControlFlow::Continue(())
        })?;
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// Visits words with their sequences in order, from the first that is not below `start`.
    fn each_from(&self, start: &[u8], mut visit: impl FnMut(&[u8], &[u32]) -> ControlFlow<()>) -> Result<()> {
        let mut cursor = WordCursor::at(*self, self.block_of(start)?);
        while cursor.advance()? {
            if cursor.word() >= start && visit(cursor.word(), cursor.sequences()).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The block that a word would stand in.
    fn block_of(&self, word: &[u8]) -> Result<usize> {
        let (mut low, mut high) = (0, self.table.len() / 4);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.first_of(middle)? <= word {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low.saturating_sub(1))
    }

    /// The first word of a block.
    fn first_of(&self, block: usize) -> Result<&'a [u8]> {
        let mut rest = Taker(self.block(block)?);
        if rest.number()? != 0 {
            return Err(malformed("has a block that does not begin with a whole word"));
        }
        let length = rest.number()?;
        rest.bytes(length)
    }

    /// Everything from the beginning of a block.
    fn block(&self, block: usize) -> Result<&'a [u8]> {
        let place = self.table.get(block * 4..).and_then(|rest| rest.first_chunk::<4>());
        let start = place.map(|place| u32::from_be_bytes(*place) as usize);
        let block = start.and_then(|start| self.blocks.get(start..)).filter(|block| !block.is_empty());
        block.ok_or_else(|| malformed("has a block that is not there"))
    }

    /// All words in order.
    pub(super) fn cursor(&self) -> WordCursor<'a> {
        WordCursor::at(*self, 0)
    }
}

/// Keeps what both have.
pub(super) fn narrow(found: &mut Option<Vec<u32>>, other: Vec<u32>) {
    match found {
        None => *found = Some(other),
        Some(found) => found.retain(|sequence| other.binary_search(sequence).is_ok()),
    }
}

/// Goes through the words of a segment.
#[derive(Debug)]
pub(super) struct WordCursor<'a> {
    words: Words<'a>,
    next: usize,
    rest: Taker<'a>,
    word: Vec<u8>,
    sequences: Vec<u32>,
}

impl<'a> WordCursor<'a> {
    fn at(words: Words<'a>, block: usize) -> Self {
        Self { words, next: block * BLOCK, rest: Taker(&[]), word: Vec::new(), sequences: Vec::new() }
    }

    /// The word it stands at.
    pub(super) fn word(&self) -> &[u8] {
        &self.word
    }

    /// The sequences of messages that have it.
    pub(super) fn sequences(&self) -> &[u32] {
        &self.sequences
    }

    /// Goes to the next word; false when there is none.
    pub(super) fn advance(&mut self) -> Result<bool> {
        if self.next >= self.words.count {
            return Ok(false);
        }
        let begins = self.next.is_multiple_of(BLOCK);
        if begins {
            self.rest = Taker(self.words.block(self.next / BLOCK)?);
        }
        let shared = self.rest.number()?;
        if shared > if begins { 0 } else { self.word.len() as u64 } {
            return Err(malformed("has a word that shares more than there is"));
        }
        let length = self.rest.number()?;
        let ending = self.rest.bytes(length)?;
        self.word.truncate(shared as usize);
        self.word.extend_from_slice(ending);
        let count = self.rest.number()?;
        // A sequence takes at least a byte.
        if count == 0 || count > self.rest.0.len() as u64 {
            return Err(malformed("has a word with an impossible number of messages"));
        }
        let mut sequence = self.words.span.first - 1;
        self.sequences.clear();
        for _ in 0..count {
            sequence = self.rest.sequence(sequence, self.words.span.last)?;
            self.sequences.push(sequence);
        }
        self.next += 1;
        Ok(true)
    }
}
