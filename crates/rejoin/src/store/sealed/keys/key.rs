//! Keys: 32 secret bytes that are overwritten when they are dropped, and the ids they are known by.

use std::fmt;
use std::str::FromStr;

use aws_lc_rs::{hkdf, hmac};
use zeroize::Zeroizing;

use crate::error::{Error, Result};

/// How long a key is.
pub(crate) const KEY_LENGTH: usize = 32;

/// A secret key.
#[derive(Clone)]
// Behind a pointer, so that moving it leaves no copy behind.
pub(crate) struct SealingKey(Box<Zeroizing<[u8; KEY_LENGTH]>>);

impl SealingKey {
    /// A key that nobody knows.
    pub(crate) fn random() -> Self {
        let mut key = Self(Box::new(Zeroizing::new([0; KEY_LENGTH])));
        fill(key.0.as_mut_slice());
        key
    }

    /// The key with these bytes.
    pub(crate) fn from_bytes(bytes: &[u8; KEY_LENGTH]) -> Self {
        let mut key = Self(Box::new(Zeroizing::new([0; KEY_LENGTH])));
        key.0.copy_from_slice(bytes);
        key
    }

    /// The key with these bytes; none unless there are 32.
    pub(crate) fn from_slice(bytes: &[u8]) -> Option<Self> {
        let mut key = Self(Box::new(Zeroizing::new([0; KEY_LENGTH])));
        (bytes.len() == KEY_LENGTH).then(|| {
            key.0.copy_from_slice(bytes);
            key
        })
    }

    /// The bytes. Whoever copies them has to overwrite the copy.
    pub(crate) fn expose(&self) -> &[u8; KEY_LENGTH] {
        &self.0
    }

    /// The key for one use of this one.
    pub(crate) fn derive(&self, info: &str) -> Self {
        self.derive_salted(&[], info)
    }

    /// The key for one use of this one, with a salt.
    pub(crate) fn derive_salted(&self, salt: &[u8], info: &str) -> Self {
        let mut key = Self(Box::new(Zeroizing::new([0; KEY_LENGTH])));
        hkdf::Salt::new(hkdf::HKDF_SHA256, salt)
            .extract(self.0.as_slice())
            .expand(&[info.as_bytes()], hkdf::HKDF_SHA256)
            .and_then(|bytes| bytes.fill(key.0.as_mut_slice()))
            .expect("32 bytes can be derived");
        key
    }

    /// What hashes with this key.
    pub(crate) fn hasher(&self) -> Hasher {
        Hasher(hmac::Key::new(hmac::HMAC_SHA256, self.0.as_slice()))
    }
}

/// Says nothing about the key.
impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// A keyed hash.
#[derive(Clone)]
pub(crate) struct Hasher(hmac::Key);

impl Hasher {
    /// The hash of the parts, one after the other.
    pub(crate) fn hash(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut context = hmac::Context::with_key(&self.0);
        parts.iter().for_each(|part| context.update(part));
        context.sign().as_ref().try_into().expect("the hash has 32 bytes")
    }
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// What a key is known by: 16 random bytes, written as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct KeyId([u8; Self::LENGTH]);

impl KeyId {
    /// How long an id is.
    pub(crate) const LENGTH: usize = 16;

    /// An id that no other key has.
    pub(crate) fn random() -> Self {
        let mut id = [0; Self::LENGTH];
        fill(&mut id);
        Self(id)
    }

    /// The id with these bytes.
    pub(crate) const fn from_bytes(bytes: [u8; Self::LENGTH]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    pub(crate) const fn as_bytes(&self) -> &[u8; Self::LENGTH] {
        &self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for KeyId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let refuse = || Error::invalid(format!("`{text}` is not the id of a key"));
        if text.len() != 2 * Self::LENGTH || !text.is_ascii() {
            return Err(refuse());
        }
        let mut id = [0; Self::LENGTH];
        for (place, pair) in id.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let pair = str::from_utf8(pair).map_err(|_| refuse())?;
            *place = u8::from_str_radix(pair, 16).map_err(|_| refuse())?;
        }
        Ok(Self(id))
    }
}

/// Fills with random bytes of the operating system.
pub(crate) fn fill(bytes: &mut [u8]) {
    getrandom::fill(bytes).expect("the operating system gives random bytes");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_shows_nothing_of_itself() {
        let key = SealingKey::from_slice(&[0xab; 32]).unwrap();

        assert_eq!(format!("{key:?} {:?}", key.hasher()), "[redacted] [redacted]");
    }

    #[test]
    fn the_id_of_a_key_reads_back_as_it_was_written() {
        let id = KeyId::random();

        assert_eq!(id.to_string().parse::<KeyId>().unwrap(), id);
        assert!("é23456789012345678901234567890".parse::<KeyId>().is_err());
    }
}
