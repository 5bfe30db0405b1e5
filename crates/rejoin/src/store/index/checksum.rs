//! A fast checksum against accidents: damaged files, and files that were changed by hand.

/// Odd, with as many ones as zeros: each step can be undone, so that one changed byte always changes the result.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// The checksum of some bytes. Four lanes are independent of each other, so that the processor works on them at once.
pub(in crate::store) fn checksum(bytes: &[u8]) -> u64 {
    let mut lanes = [1_u64, 2, 3, 4];
    let mut pieces = bytes.chunks_exact(32);
    for piece in &mut pieces {
        for (lane, word) in lanes.iter_mut().zip(piece.chunks_exact(8)) {
            *lane = step(*lane, word);
        }
    }
    let mut sum = bytes.len() as u64;
    for rest in pieces.remainder().chunks(8) {
        sum = step(sum, rest);
    }
    lanes.into_iter().fold(sum, chained)
}

/// The checksum of what has the first one and of what follows it, which has the second.
pub(in crate::store) const fn chained(before: u64, after: u64) -> u64 {
    let mixed = (before.rotate_left(23) ^ after).wrapping_mul(MULTIPLIER);
    mixed ^ (mixed >> 29)
}

/// Takes in up to eight bytes.
fn step(lane: u64, bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    let mixed = (lane ^ u64::from_le_bytes(word)).wrapping_mul(MULTIPLIER);
    (mixed ^ (mixed >> 32)).rotate_left(29)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_changed_bit_and_every_cut_changes_the_checksum() {
        let bytes: Vec<u8> = (0..100).collect();
        let changed = (0..bytes.len() * 8).map(|bit| {
            let mut bytes = bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            checksum(&bytes)
        });
        let cut = (0..=bytes.len()).map(|length| checksum(&bytes[..length]));

        let all: HashSet<u64> = changed.chain(cut).collect();

        assert_eq!(all.len(), bytes.len() * 8 + bytes.len() + 1);
    }
}
