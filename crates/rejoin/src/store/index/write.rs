//! Making segments: from messages, and word by word.

use std::collections::HashMap;

use crate::model::{MessageId, Time, each_word};
use crate::store::index::number::push;
use crate::store::index::{BLOCK, Ids, IndexedMessage, Span};

/// A segment that is being made of messages.
#[derive(Debug)]
pub(crate) struct DraftSegment {
    span: Span,
    held: Vec<IndexedMessage>,
    words: HashMap<Box<str>, Vec<u32>>,
}

impl DraftSegment {
    /// An empty segment that covers what comes after `covered`.
    pub(crate) fn after(covered: u32) -> Self {
        let span = Span { first: covered + 1, last: covered, messages: 0, bytes: 0 };
        Self { span, held: Vec::new(), words: HashMap::new() }
    }

    /// What it covers so far.
    pub(crate) const fn span(&self) -> Span {
        self.span
    }

    /// Adds a message, which must come after those before it, with its text and
    /// what the inner store counts for it.
    pub(crate) fn add(&mut self, seq: u32, id: MessageId, time: Time, text: &str, size: u64) {
        debug_assert!(seq > self.span.last, "messages come in order of arrival");
        self.span.last = seq;
        self.span.messages += 1;
        self.span.bytes += size;
        self.held.push(IndexedMessage { seq, time, id });
        each_word(text, |word| match self.words.get_mut(word) {
            Some(sequences) if sequences.last() == Some(&seq) => {}
            Some(sequences) => sequences.push(seq),
            None => {
                self.words.insert(word.into(), vec![seq]);
            }
        });
    }

    /// The segment, and the bytes of its words; none without messages.
    pub(crate) fn finish(self) -> Option<(Ids, Vec<u8>)> {
        if self.held.is_empty() {
            return None;
        }
        let ids = Ids { span: self.span, held: self.held };
        let mut writer = SegmentWriter::of(self.span);
        for (word, sequences) in in_order(self.words) {
            writer.push(word.as_bytes(), &[&sequences]);
        }
        Some((ids, writer.finish()))
    }

    /// Its words in order, each with the sequences that have it.
    pub(crate) fn into_words(self) -> Vec<(Box<str>, Vec<u32>)> {
        in_order(self.words)
    }
}

fn in_order(words: HashMap<Box<str>, Vec<u32>>) -> Vec<(Box<str>, Vec<u32>)> {
    let mut words: Vec<_> = words.into_iter().collect();
    words.sort_unstable();
    words
}

/// Writes the words of a segment in order.
#[derive(Debug)]
pub(super) struct SegmentWriter {
    span: Span,
    count: u32,
    table: Vec<u8>,
    blocks: Vec<u8>,
    before: Vec<u8>,
}

impl SegmentWriter {
    /// Begins the words of a segment.
    pub(super) const fn of(span: Span) -> Self {
        Self { span, count: 0, table: Vec::new(), blocks: Vec::new(), before: Vec::new() }
    }

    /// Adds a word, greater than those before it, with the sequences that have
    /// it, in runs that follow each other.
    pub(super) fn push(&mut self, word: &[u8], runs: &[&[u32]]) {
        let begins = (self.count as usize).is_multiple_of(BLOCK);
        if begins {
            self.table.extend_from_slice(&(self.blocks.len() as u32).to_be_bytes());
        }
        let shared = if begins { 0 } else { shared(&self.before, word) };
        push(&mut self.blocks, shared as u64);
        push(&mut self.blocks, (word.len() - shared) as u64);
        self.blocks.extend_from_slice(&word[shared..]);
        push(&mut self.blocks, runs.iter().map(|run| run.len() as u64).sum());
        let mut before = self.span.first - 1;
        for sequence in runs.iter().copied().flatten() {
            push(&mut self.blocks, u64::from(sequence - before));
            before = *sequence;
        }
        self.before.clear();
        self.before.extend_from_slice(word);
        self.count += 1;
    }

    /// True when it has no word.
    pub(super) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many bytes it has so far.
    pub(super) const fn size(&self) -> usize {
        Span::SIZE + 4 + self.table.len() + self.blocks.len()
    }

    /// The bytes.
    pub(super) fn finish(self) -> Vec<u8> {
        let mut out = Vec::with_capacity(Span::SIZE + 4 + self.table.len() + self.blocks.len());
        self.span.write(&mut out);
        out.extend_from_slice(&self.count.to_be_bytes());
        out.extend_from_slice(&self.table);
        out.extend_from_slice(&self.blocks);
        out
    }
}

/// How many bytes two words have in common at their beginnings.
fn shared(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}
