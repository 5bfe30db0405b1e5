//! Images inside of the page: only pictures that a browser draws and nothing
//! else, by their bytes, not by their name.

use std::fmt::Write;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The address of an image with these bytes in base64; none if they are not a picture of a known kind.
pub(super) fn address(base64: &str) -> Option<String> {
    let is_base64 =
        base64.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='));
    let kind = kind(&beginning(base64)).filter(|_| is_base64)?;
    Some(format!("data:{kind};base64,{base64}"))
}

fn kind(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// The first twelve bytes.
fn beginning(base64: &str) -> Vec<u8> {
    let digit = |byte: u8| ALPHABET.iter().position(|own| *own == byte);
    let digits: Vec<usize> = base64.bytes().take(16).map_while(digit).collect();
    let bytes = digits.chunks_exact(4).flat_map(|four| {
        let bits = four.iter().fold(0usize, |bits, digit| bits << 6 | digit);
        [(bits >> 16) as u8, (bits >> 8) as u8, bits as u8]
    });
    bytes.collect()
}

/// Bytes in base64.
pub(super) fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = three
            .iter()
            .enumerate()
            .fold(0usize, |bits, (place, byte)| bits | usize::from(*byte) << (16 - 8 * place));
        for place in 0..4 {
            let digit = char::from(ALPHABET[bits >> (18 - 6 * place) & 63]);
            let _ = write!(text, "{}", if place <= three.len() { digit } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pictures_are_shown() {
        let png = base64(b"\x89PNG\r\n\x1a\n0000");
        let svg = base64(b"<svg onload=alert(1)>");

        let shown = [address(&png), address(&svg), address("\" onerror=x"), address("")];

        assert_eq!(shown, [Some(format!("data:image/png;base64,{png}")), None, None, None]);
    }

    #[test]
    fn base64_has_known_values() {
        assert_eq!(
            ["", "f", "fo", "foo", "foob"].map(|text| base64(text.as_bytes())),
            ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]
        );
    }
}
