//! The checksum of a file up to some place.

use std::fs::File;
use std::io;

use crate::store::index::{chained, checksum};
use crate::store::jsonl::lines::read_at;

/// The checksum of nothing.
pub(super) const NOTHING: u64 = 0;

/// How much is read at a time. The checksum depends on it, and whoever goes on from
/// a place reads up to this much again.
const PIECE: u64 = 1 << 16;

/// Computes checksums up to places that come one after the other; everything is read once,
/// but for the piece that a place is in.
pub(super) struct PrefixChecksums<'f> {
    file: &'f File,
    /// All pieces before this place are in the checksum.
    offset: u64,
    sum: u64,
    buffer: Vec<u8>,
}

impl<'f> PrefixChecksums<'f> {
    pub(super) const fn of(file: &'f File) -> Self {
        Self { file, offset: 0, sum: NOTHING, buffer: Vec::new() }
    }

    /// Goes on from a place, up to which the whole pieces have this checksum.
    pub(super) const fn after(file: &'f File, place: u64, pieces: u64) -> Self {
        Self { file, offset: place - place % PIECE, sum: pieces, buffer: Vec::new() }
    }

    /// The checksum of the whole pieces before the place of the last call, to go on from there.
    pub(super) const fn pieces(&self) -> u64 {
        self.sum
    }

    /// The checksum up to a place, which must not lie before that of the call
    /// before; none when the file ends sooner.
    pub(super) fn until(&mut self, end: u64) -> io::Result<Option<u64>> {
        while self.offset + PIECE <= end {
            let Some(sum) = self.piece(PIECE)? else { return Ok(None) };
            (self.sum, self.offset) = (sum, self.offset + PIECE);
        }
        if self.offset == end { Ok(Some(self.sum)) } else { self.piece(end - self.offset) }
    }

    /// The checksum with so many bytes more.
    fn piece(&mut self, length: u64) -> io::Result<Option<u64>> {
        self.buffer.resize(PIECE as usize, 0);
        let piece = &mut self.buffer[..length as usize];
        let read = read_at(self.file, piece, self.offset)?;
        Ok((read == piece.len()).then(|| chained(self.sum, checksum(piece))))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn the_checksum_up_to_a_place_does_not_depend_on_the_places_before_it() {
        let file = tempfile::tempfile().unwrap();
        let bytes: Vec<u8> = (0..3 * PIECE as usize).map(|number| (number % 251) as u8).collect();
        file.write_all_at(&bytes, 0).unwrap();
        let places = [0, 1, 700, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 5, 3 * PIECE, 3 * PIECE + 1];
        let alone = places.map(|place| PrefixChecksums::of(&file).until(place).unwrap());

        let mut contents = PrefixChecksums::of(&file);
        let in_order = places.map(|place| contents.until(place).unwrap());
        let mut from = (0, NOTHING);
        let gone_on = places.map(|place| {
            let mut contents = PrefixChecksums::after(&file, from.0, from.1);
            let sum = contents.until(place).unwrap();
            from = (place, contents.pieces());
            sum
        });

        assert_eq!((in_order, gone_on), (alone, alone));
        assert_eq!(
            in_order.map(|sum| sum.is_some()),
            [true, true, true, true, true, true, true, true, false]
        );
    }
}
