//! The key of a program that encrypts what it writes.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::error::{Error, Result};
use crate::formats::encoding;

/// A key of 256 bits. Its `Debug` output is redacted.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl Key {
    /// Creates a key from its bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Parses 32 bytes in base64, the form in which programs store keys.
    pub fn from_base64(text: &str) -> Result<Self> {
        let bytes: Option<[u8; 32]> =
            STANDARD.decode(text.trim()).ok().and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or_else(|| Error::invalid("the key is not 32 bytes in base64"))
    }

    /// Parses the contents of a key file: 32 raw bytes, hexadecimal or base64, with or without a final
    /// newline.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let raw = [bytes, line].into_iter().find_map(|bytes| <[u8; 32]>::try_from(bytes).ok());
        if let Some(raw) = raw {
            return Ok(Self(raw));
        }
        let text = str::from_utf8(line).unwrap_or_default().trim();
        encoding::from_hex(text).map(Self).or_else(|| Self::from_base64(text).ok()).ok_or_else(|| {
            Error::invalid("the key is not 32 bytes, nor those in hexadecimal digits or base64")
        })
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_key_is_the_same_in_every_form(bytes: [u8; 32]) {
            let (hex, base64) = (encoding::hex(&bytes), STANDARD.encode(bytes));
            let with_end = |text: &[u8]| [text, b"\n"].concat();
            let forms = [
                bytes.to_vec(),
                with_end(&bytes),
                hex.clone().into_bytes(),
                with_end(hex.to_uppercase().as_bytes()),
                base64.clone().into_bytes(),
                with_end(format!("{base64}\r").as_bytes()),
            ];

            for form in forms {
                prop_assert_eq!(Key::parse(&form).unwrap(), Key::new(bytes));
            }
        }
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let texts: [&[u8]; 6] = [b"", b"\n", &[7; 31], &[7; 34], &[b'g'; 64], b"c2hvcnQ="];

        assert_eq!(texts.map(|text| Key::parse(text).is_err()), [true; 6]);
    }
}
