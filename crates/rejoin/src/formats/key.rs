//! The key of a program that seals what it writes.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::error::{Error, Result};

/// A key of 256 bits. It is shown to nobody.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl Key {
    /// A key of these bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Reads a key as programs keep it: its 32 bytes in base64.
    pub fn from_base64(text: &str) -> Result<Self> {
        let bytes: Option<[u8; 32]> =
            STANDARD.decode(text.trim()).ok().and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or_else(|| Error::invalid("the key is not 32 bytes in base64"))
    }

    pub(super) const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}
