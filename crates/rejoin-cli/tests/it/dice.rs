//! Random numbers that a seed repeats.

use std::time::{Duration, SystemTime};

/// Names a seed, to repeat a run.
const SEED: &str = "REJOIN_SEED";

/// A stream of random numbers (SplitMix64).
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    /// Dice with the seed of the environment, or another one each time; it is printed.
    pub(crate) fn thrown() -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as u64;
        let seed = std::env::var(SEED).map_or(now, |seed| seed.parse().unwrap());
        eprintln!("{SEED}={seed}");
        Self(seed)
    }

    /// Dice that fall the same each time.
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// A time shorter than `limit`.
    pub(crate) fn shorter_than(&mut self, limit: Duration) -> Duration {
        Duration::from_nanos(self.below(limit.as_nanos() as u64))
    }
}
