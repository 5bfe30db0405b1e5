//! A fast checksum against accidents: damaged files, and files that were changed by hand.

/// Odd, with as many ones as zeros: each step can be undone, so that one
/// changed byte always changes the result.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// The checksum of some bytes. Four lanes are independent of each other, so that
/// the processor works on them at once.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    let mut lanes = [1_u64, 2, 3, 4];
    let (words, end) = bytes.as_chunks::<8>();
    let (groups, rest) = words.as_chunks::<4>();
    for group in groups {
        for (lane, word) in lanes.iter_mut().zip(group) {
            *lane = step(*lane, *word);
        }
    }
    let mut sum = bytes.len() as u64;
    for word in rest {
        sum = step(sum, *word);
    }
    if !end.is_empty() {
        let mut word = [0; 8];
        word[..end.len()].copy_from_slice(end);
        sum = step(sum, word);
    }
    lanes.into_iter().fold(sum, chained)
}

/// The checksum of what has the first one and of what follows it, which has the second.
pub(crate) const fn chained(before: u64, after: u64) -> u64 {
    let mixed = (before.rotate_left(23) ^ after).wrapping_mul(MULTIPLIER);
    mixed ^ (mixed >> 29)
}

const fn step(lane: u64, word: [u8; 8]) -> u64 {
    let mixed = (lane ^ u64::from_le_bytes(word)).wrapping_mul(MULTIPLIER);
    (mixed ^ (mixed >> 32)).rotate_left(29)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn checksums_have_known_values() {
        let bytes: Vec<u8> = (0..100).collect();

        let sums = [0, 5, 32, 75, 100].map(|length| checksum(&bytes[..length]));

        assert_eq!(
            sums,
            [
                0x51da_2e30_36f9_05d6,
                0x272d_2e3d_1c2a_8849,
                0xa9e6_1689_fda2_03ca,
                0x49fd_48c8_37e0_f6d7,
                0x6159_4859_5c48_6e63,
            ]
        );
    }

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
