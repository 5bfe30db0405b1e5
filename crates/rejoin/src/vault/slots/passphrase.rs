//! From a passphrase to a key: Argon2id, with figures that stand beside the slot.

use argon2::{Algorithm, Argon2, Params, Version};
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;
use zeroize::Zeroizing;

use crate::error::{Error, ErrorKind, Result};
use crate::store::sealed::keys::key::SealingKey;
use crate::vault::slots::Secret;
use crate::vault::slots::encoding::Base64;

/// Fewer characters can be tried out, whatever a try costs.
const SHORTEST: usize = 8;

/// What a stored slot may ask of this machine: a record from elsewhere must not
/// take all of its memory or its day.
const MOST_MEMORY_KIB: u32 = 1 << 20;
const MOST_PASSES: u32 = 64;
const MOST_LANES: u32 = 16;
const MOST_WORK_KIB: u64 = 8 << 20;
const SALT: std::ops::RangeInclusive<usize> = 16..=64;

/// What one try of a passphrase costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Kibibytes of memory.
    pub memory_kib: u32,
    /// How often the memory is gone through.
    pub passes: u32,
}

impl Default for Cost {
    /// About half a second on a small machine, and 64 MiB, which a phone has
    /// and a cracking card has not for long.
    fn default() -> Self {
        Self { memory_kib: 65_536, passes: 3 }
    }
}

/// The figures of a slot, as they are written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PassphraseCost {
    memory_kib: u32,
    passes: u32,
    lanes: u32,
    salt: Base64,
}

impl PassphraseCost {
    /// Figures with a salt of their own.
    pub(crate) fn new(cost: Cost) -> Result<Self> {
        let mut salt = vec![0; *SALT.start()];
        getrandom::fill(&mut salt).expect("the operating system gives random bytes");
        let figures = Self { memory_kib: cost.memory_kib, passes: cost.passes, lanes: 1, salt: Base64(salt) };
        figures.check()?;
        Ok(figures)
    }

    /// Refuses figures that would take this machine's memory or time.
    pub(crate) fn check(&self) -> Result<()> {
        let work = u64::from(self.memory_kib) * u64::from(self.passes);
        let is_bearable = (1..=MOST_MEMORY_KIB).contains(&self.memory_kib)
            && (1..=MOST_PASSES).contains(&self.passes)
            && (1..=MOST_LANES).contains(&self.lanes)
            && work <= MOST_WORK_KIB
            && SALT.contains(&self.salt.0.len());
        if is_bearable {
            return self.params().map(drop);
        }
        let Self { memory_kib, passes, lanes, .. } = self;
        Err(Error::corrupt(format!(
            "a passphrase slot asks for `{memory_kib}` KiB of memory, `{passes}` passes and `{lanes}` lanes, which no slot of Rejoin does"
        )))
    }

    /// The slot key of a passphrase.
    pub(crate) fn key(&self, passphrase: &Secret) -> Result<SealingKey> {
        let text = passphrase.as_text().ok_or_else(|| denied("the passphrase is not text"))?;
        let text: Zeroizing<String> = Zeroizing::new(text.nfkc().collect());
        let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, self.params()?);
        let mut key = Zeroizing::new([0; 32]);
        argon.hash_password_into(text.as_bytes(), &self.salt.0, key.as_mut()).map_err(|cause| {
            Error::new(ErrorKind::Unavailable, "make a key of the passphrase").because(cause.to_string())
        })?;
        Ok(SealingKey::from_slice(key.as_slice()).expect("it has the length of a key"))
    }

    fn params(&self) -> Result<Params> {
        Params::new(self.memory_kib, self.passes, self.lanes, Some(32))
            .map_err(|cause| Error::corrupt("the figures of a passphrase slot").because(cause.to_string()))
    }
}

/// Refuses a passphrase that is no protection.
pub(crate) fn check_new(passphrase: &Secret) -> Result<()> {
    let length = passphrase.as_text().map(|text| text.chars().count());
    match length {
        None => Err(Error::invalid("a passphrase is text in UTF-8")),
        Some(length) if length < SHORTEST => {
            Err(Error::invalid(format!("a passphrase needs at least {SHORTEST} characters")))
        }
        Some(_) => Ok(()),
    }
}

fn denied(message: &str) -> Error {
    Error::new(ErrorKind::Denied, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(memory_kib: u32, passes: u32, lanes: u32) -> PassphraseCost {
        PassphraseCost { memory_kib, passes, lanes, salt: Base64(b"somesalt-of-16-b".to_vec()) }
    }

    fn key(figures: &PassphraseCost, passphrase: &str) -> Vec<u8> {
        figures.key(&Secret::from(passphrase.to_owned())).unwrap().expose().to_vec()
    }

    #[test]
    fn figures_that_take_the_machine_are_refused() {
        let hostile =
            [figures(1 << 30, 3, 1), figures(65_536, u32::MAX, 1), figures(1 << 20, 64, 1), figures(0, 1, 1)];

        let refused = hostile.map(|figures| figures.check().map_err(|error| error.kind()));

        assert_eq!(refused, [Err(ErrorKind::Corrupt); 4]);
    }

    #[test]
    fn the_figures_that_are_written_are_accepted() {
        assert_eq!(
            PassphraseCost::new(Cost::default()).unwrap().check().map_err(|error| error.kind()),
            Ok(())
        );
    }

    #[test]
    fn a_passphrase_is_the_same_in_every_form_of_unicode() {
        let figures = figures(64, 1, 1);

        assert_eq!(key(&figures, "caf\u{e9} \u{ff11}"), key(&figures, "cafe\u{301} 1"));
    }

    #[test]
    fn the_key_is_what_argon2id_says() {
        let text: String =
            key(&figures(64, 1, 1), "correct horse").iter().map(|byte| format!("{byte:02x}")).collect();

        // Computed with the reference implementation: argon2 somesalt-of-16-b -id -t 1 -k 64 -p 1 -l 32 -r
        assert_eq!(text, "2e9d4e1473881c307e018e0334607b5c078c55dadb7c1f7e0b24c9b8e2e3b7de");
    }

    #[test]
    fn bytes_that_are_no_text_are_no_passphrase() {
        let bytes = Secret::new(vec![0xff; 12]);

        let told = [check_new(&bytes), figures(64, 1, 1).key(&bytes).map(drop)];

        let expected = [
            (ErrorKind::Invalid, "a passphrase is text in UTF-8".to_owned()),
            (ErrorKind::Denied, "the passphrase is not text".to_owned()),
        ];
        assert_eq!(
            told.map(|told| told.map_err(|error| (error.kind(), error.to_string()))),
            expected.map(Err)
        );
    }

    #[test]
    fn a_salt_that_argon2_refuses_is_an_error() {
        let figures = PassphraseCost { salt: Base64(b"short".to_vec()), ..figures(64, 1, 1) };

        let refused = figures.key(&Secret::from("correct horse".to_owned())).unwrap_err();

        assert_eq!(
            (refused.kind(), refused.to_string(), figures.check().map_err(|error| error.kind())),
            (ErrorKind::Unavailable, "make a key of the passphrase".to_owned(), Err(ErrorKind::Corrupt))
        );
    }

    #[test]
    fn a_short_passphrase_is_refused() {
        let refused = check_new(&Secret::from("1234567".to_owned())).unwrap_err();

        assert_eq!(refused.to_string(), "a passphrase needs at least 8 characters");
    }
}
