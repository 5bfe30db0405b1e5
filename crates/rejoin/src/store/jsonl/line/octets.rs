//! Bytes within JSON: text where they are text, hexadecimal digits where they
//! are few, base64 where they are many.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

/// Up to so many bytes, digits that a person can compare matter more than length.
const FEW: usize = 64;

/// Any bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(in crate::store::jsonl) enum Octets {
    Text(String),
    Hex { hex: String },
    Base64 { base64: String },
}

impl Octets {
    pub(in crate::store::jsonl) fn of(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) if bytes.len() <= FEW => {
                Self::Hex { hex: bytes.iter().map(|byte| format!("{byte:02x}")).collect() }
            }
            Err(_) => Self::Base64 { base64: STANDARD.encode(bytes) },
        }
    }

    /// The bytes; digits that are none are left out.
    pub(in crate::store::jsonl) fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.into_bytes(),
            Self::Hex { hex } => {
                let pair = |pair: &[u8]| {
                    std::str::from_utf8(pair).ok().and_then(|digits| u8::from_str_radix(digits, 16).ok())
                };
                hex.as_bytes().chunks(2).filter_map(pair).collect()
            }
            Self::Base64 { base64 } => STANDARD.decode(base64).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_come_back() {
        for bytes in
            [&b""[..], b"abc", b"\xff\x00", "ü".as_bytes(), b"{\"hex\":1}", &[0xfe; FEW], &[0xfe; FEW + 1]]
        {
            let json = serde_json::to_string(&Octets::of(bytes)).unwrap();

            assert_eq!(serde_json::from_str::<Octets>(&json).unwrap().into_bytes(), bytes, "{json}");
        }
    }
}
