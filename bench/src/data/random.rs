//! A small generator of random numbers whose sequence never changes.
//!
//! A library's generator may change its sequence in a new version, and then two runs of the benchmark would
//! measure different data. This is SplitMix64, which is fixed by its constants.

pub(crate) struct Random {
    state: u64,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to `limit`, `limit` excluded.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).expect("the remainder is below a usize")
    }

    /// Returns a number from 0 to 1, 1 excluded.
    pub(crate) fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn happens(&mut self, probability: f64) -> bool {
        self.fraction() < probability
    }

    /// Returns a size between half and one and a half times `mean`.
    pub(crate) fn around(&mut self, mean: usize) -> usize {
        mean / 2 + self.below(mean)
    }
}
