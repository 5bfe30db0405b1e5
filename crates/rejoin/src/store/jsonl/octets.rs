//! Bytes within JSON: text where they are text, hexadecimal digits where they are not.

use serde::{Deserialize, Serialize};

/// Any bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Octets {
    Text(String),
    Hex { hex: String },
}

impl Octets {
    pub(super) fn of(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Hex { hex: bytes.iter().map(|byte| format!("{byte:02x}")).collect() },
        }
    }

    /// The bytes; digits that are none are left out.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.into_bytes(),
            Self::Hex { hex } => {
                let pair = |pair: &[u8]| {
                    std::str::from_utf8(pair).ok().and_then(|digits| u8::from_str_radix(digits, 16).ok())
                };
                hex.as_bytes().chunks(2).filter_map(pair).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_come_back() {
        for bytes in [&b""[..], b"abc", b"\xff\x00", "ü".as_bytes(), b"{\"hex\":1}"] {
            let json = serde_json::to_string(&Octets::of(bytes)).unwrap();

            assert_eq!(serde_json::from_str::<Octets>(&json).unwrap().into_bytes(), bytes, "{json}");
        }
    }
}
