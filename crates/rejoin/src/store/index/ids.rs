//! Which messages a segment covers: sequence, time and id of each.

use crate::error::Result;
use crate::model::{MessageId, Time};
use crate::store::index::number::{Taker, fold, push, unfold};
use crate::store::index::{Span, malformed};

/// One message of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexedMessage {
    /// Its sequence.
    pub(crate) seq: u32,
    /// Its time.
    pub(crate) time: Time,
    /// Its id.
    pub(crate) id: MessageId,
}

/// The messages of a segment, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ids {
    /// What the segment covers.
    pub(crate) span: Span,
    /// Each message.
    pub(crate) held: Vec<IndexedMessage>,
}

impl Ids {
    /// Reads a segment.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        let (span, rest) = Span::read(bytes)?;
        let mut rest = Taker(rest);
        // A message takes at least four bytes, so what the head claims is believed only so far.
        let mut held = Vec::with_capacity((span.messages as usize).min(rest.0.len() / 4));
        let (mut seq, mut time) = (span.first - 1, 0_i64);
        while !rest.is_empty() {
            seq = rest.sequence(seq, span.last)?;
            time = time.wrapping_add(unfold(rest.number()?));
            let length = rest.bytes(1)?[0];
            let id = rest.bytes(u64::from(length))?;
            let id = str::from_utf8(id).ok().and_then(|id| id.parse().ok());
            let id = id.ok_or_else(|| malformed("has a malformed message id"))?;
            held.push(IndexedMessage { seq, time: Time::from_micros(time), id });
        }
        if held.len() != span.messages as usize || seq != span.last {
            return Err(malformed("has not the messages that it names"));
        }
        Ok(Self { span, held })
    }

    /// The bytes of a segment.
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(Span::SIZE + self.held.len() * 14);
        self.span.write(&mut out);
        let (mut seq, mut time) = (self.span.first - 1, 0_i64);
        for held in &self.held {
            push(&mut out, u64::from(held.seq - seq));
            push(&mut out, fold(held.time.as_micros().wrapping_sub(time)));
            let id = held.id.as_str().as_bytes();
            out.push(id.len() as u8);
            out.extend_from_slice(id);
            (seq, time) = (held.seq, held.time.as_micros());
        }
        out
    }

    /// This segment and the one that follows it as one.
    pub(crate) fn join(mut self, next: &Self) -> Result<Self> {
        self.span = self.span.joined(&next.span)?;
        self.held.extend_from_slice(&next.held);
        Ok(self)
    }

    /// The message of a sequence, if it is there.
    pub(crate) fn of(&self, seq: u32) -> Option<&IndexedMessage> {
        let place = self.held.binary_search_by_key(&seq, |held| held.seq).ok()?;
        Some(&self.held[place])
    }
}
