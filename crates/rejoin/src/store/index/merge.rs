//! Two segments that follow each other become one.

use std::cmp::Ordering;

use crate::error::Result;
use crate::store::index::words::Words;
use crate::store::index::write::SegmentWriter;

/// The words of a segment and of the one that follows it, as one.
pub(crate) fn merge(older: &[u8], newer: &[u8]) -> Result<Vec<u8>> {
    let (older, newer) = (Words::read(older)?, Words::read(newer)?);
    let mut writer = SegmentWriter::of(older.span.joined(&newer.span)?);
    let (mut one, mut other) = (older.cursor(), newer.cursor());
    let (mut has_one, mut has_other) = (one.advance()?, other.advance()?);
    while has_one || has_other {
        let order = match (has_one, has_other) {
            (true, true) => one.word().cmp(other.word()),
            (true, false) => Ordering::Less,
            (false, _) => Ordering::Greater,
        };
        match order {
            Ordering::Less => writer.push(one.word(), &[one.sequences()]),
            Ordering::Greater => writer.push(other.word(), &[other.sequences()]),
            Ordering::Equal => writer.push(one.word(), &[one.sequences(), other.sequences()]),
        }
        if order.is_le() {
            has_one = one.advance()?;
        }
        if order.is_ge() {
            has_other = other.advance()?;
        }
    }
    Ok(writer.finish())
}
