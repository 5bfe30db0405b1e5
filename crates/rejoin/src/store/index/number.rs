//! Numbers of seven bits a byte, and reading them from bytes that may be anything.

use crate::error::Result;
use crate::store::index::malformed;

/// Appends a number, least significant bits first.
pub(crate) fn push(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes what was written from the beginning of some bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taker<'a>(pub(crate) &'a [u8]);

impl<'a> Taker<'a> {
    /// True when nothing is left.
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A number; only its shortest form is taken.
    pub(crate) fn number(&mut self) -> Result<u64> {
        // Most numbers are small.
        if let [byte @ 0..0x80, rest @ ..] = self.0 {
            self.0 = rest;
            return Ok(u64::from(*byte));
        }
        let mut number = 0;
        for (place, byte) in self.0.iter().take(10).enumerate() {
            let bits = u64::from(byte & 0x7f);
            number |= bits << (7 * place);
            if *byte < 0x80 {
                let is_padded = *byte == 0 && place > 0;
                if is_padded || (place == 9 && bits > 1) {
                    break;
                }
                self.0 = &self.0[place + 1..];
                return Ok(number);
            }
        }
        Err(malformed("has a malformed number"))
    }

    /// Eight bytes as a number.
    pub(crate) fn fixed(&mut self) -> Result<u64> {
        let mut fixed = [0; 8];
        fixed.copy_from_slice(self.bytes(8)?);
        Ok(u64::from_be_bytes(fixed))
    }

    /// So many bytes.
    pub(crate) fn bytes(&mut self, length: u64) -> Result<&'a [u8]> {
        let split = usize::try_from(length).ok().and_then(|length| self.0.split_at_checked(length));
        let (taken, rest) = split.ok_or_else(|| malformed("is cut off"))?;
        self.0 = rest;
        Ok(taken)
    }

    /// The sequence after `before`, which must not be greater than `last`.
    pub(crate) fn sequence(&mut self, before: u32, last: u32) -> Result<u32> {
        let step = u32::try_from(self.number()?).ok().filter(|step| *step > 0);
        let next = step.and_then(|step| before.checked_add(step)).filter(|next| *next <= last);
        next.ok_or_else(|| malformed("names a message that it does not cover"))
    }
}

/// Puts the sign last, so that small differences are short either way.
pub(crate) const fn fold(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

/// Undoes [`fold`].
pub(crate) const fn unfold(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}
