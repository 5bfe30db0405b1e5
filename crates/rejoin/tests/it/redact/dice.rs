//! Random letters that are the same in every run.

/// Throws the same numbers each time.
#[derive(Debug)]
pub(super) struct Dice(u64);

pub(super) const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
pub(super) const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
pub(super) const DIGITS: &str = "0123456789";
pub(super) const HEX: &str = "0123456789abcdef";
pub(super) const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
pub(super) const WORD: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
pub(super) const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
pub(super) const BASE32: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

impl Dice {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `end`.
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).unwrap()
    }

    /// So many letters out of these.
    pub(super) fn letters(&mut self, of: &str, count: usize) -> String {
        let of = of.as_bytes();
        (0..count).map(|_| char::from(of[self.below(of.len())])).collect()
    }

    pub(super) fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    pub(super) fn uuid(&mut self) -> String {
        let parts = [8, 4, 4, 4, 12].map(|length| self.letters(HEX, length));
        parts.join("-")
    }
}
