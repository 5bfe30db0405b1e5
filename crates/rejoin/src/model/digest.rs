//! The digest chain: each message vouches for all that came before it.
//!
//! A digest is SHA-256 over a version tag, the parent's digest (zeros for a root) and the exact stored bytes
//! of the message. Label, pin, id and sequence stay outside, so that they can change.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest as _, Sha256};

use crate::error::{Error, Result};

/// Names what is hashed, so that a later form can never be mistaken for this one.
const TAG: &[u8] = b"rejoin/message/1\n";

const PREFIX: &str = "sha256:";

/// What a message vouches for: 32 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of a message with these stored bytes under this parent.
    pub fn chain(parent: Option<Digest>, body: &[u8]) -> Self {
        let mut hash = Sha256::new();
        hash.update(TAG);
        hash.update(parent.map_or([0; 32], |digest| digest.0));
        hash.update(body);
        Self(hash.finalize().into())
    }

    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The digest with these bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let refuse = || Error::invalid(format!("`{text}` is not a digest"));
        let hex = text.strip_prefix(PREFIX).filter(|hex| hex.len() == 64).ok_or_else(refuse)?;
        let mut bytes = [0; 32];
        // Files of lines have one in each: a reader of numbers in any base takes several times as long.
        for (place, [high, low]) in bytes.iter_mut().zip(hex.as_bytes().as_chunks::<2>().0) {
            let (high, low) = digit(*high).zip(digit(*low)).ok_or_else(refuse)?;
            *place = high << 4 | low;
        }
        Ok(Self(bytes))
    }
}

/// The value of a hexadecimal digit.
const fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_has_a_known_value() {
        let root = Digest::chain(None, br#"{"role":"user"}"#);
        let child = Digest::chain(Some(root), br#"{"role":"assistant"}"#);

        // Computed with `printf 'rejoin/message/1\n…' | sha256sum`; a change
        // here makes every stored chain invalid.
        assert_eq!(
            [root.to_string(), child.to_string()],
            [
                "sha256:8379420bfb339e6720e8d9c4de830731a20dabbf2cfa223ee5bacb3fd4de8a87",
                "sha256:8666a13f93e8e4ca9ca9e7e3f422abb22d4b2797295fd103ad524e53ecbb59ed"
            ]
        );
    }

    #[test]
    fn a_digest_reads_back_as_it_was_written() {
        let digest = Digest::chain(None, b"x");

        assert_eq!(digest.to_string().parse::<Digest>().unwrap(), digest);
    }
}
