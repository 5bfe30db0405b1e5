//! What an image costs, which goes by its size in pixels.

use rejoin::Media;

/// How a provider counts an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Price {
    /// OpenAI: 85 tokens, and 170 for each square of 512 pixels, after the image was made to fit
    /// 2048 pixels and its shorter side 768.
    Tiles,
    /// Anthropic: a token for 750 pixels, after the image was made to fit 1568 pixels and 1.2 million in all.
    Area,
}

/// The size that is assumed when a file does not tell it where it is looked for.
const UNKNOWN: (u64, u64) = (1024, 1024);

impl Price {
    /// The tokens of an image.
    pub(super) fn of(self, image: &Media) -> u64 {
        let (width, height) = image.data.as_deref().and_then(size).unwrap_or(UNKNOWN);
        match self {
            Self::Tiles => {
                let (width, height) = fit(width, height, 2048, width.max(height));
                let (width, height) = fit(width, height, 768, width.min(height));
                85 + 170 * width.div_ceil(512) * height.div_ceil(512)
            }
            Self::Area => {
                let (width, height) = fit(width, height, 1568, width.max(height));
                (width * height).div_ceil(750).min(1600)
            }
        }
    }
}

/// Shrinks both sides so that `side`, one of them, is at most `most`.
fn fit(width: u64, height: u64, most: u64, side: u64) -> (u64, u64) {
    if side <= most {
        return (width, height);
    }
    ((width * most / side).max(1), (height * most / side).max(1))
}

/// Bytes of a file in which its size is looked for. A JPEG may carry a preview before it.
const LOOKED_AT: usize = 96 * 1024;

/// The width and height that the beginning of a PNG, GIF or JPEG file tells.
fn size(base64: &str) -> Option<(u64, u64)> {
    let bytes = decode(base64, LOOKED_AT);
    let pair = |place: usize| Some([*bytes.get(place)?, *bytes.get(place + 1)?]);
    let number = |place: usize| pair(place).map(u16::from_be_bytes).map(u64::from);
    let size = if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        // Four bytes each; no provider takes images of 65,536 pixels.
        (number(18)?, number(22)?)
    } else if bytes.starts_with(b"GIF8") {
        (u16::from_le_bytes(pair(6)?).into(), u16::from_le_bytes(pair(8)?).into())
    } else if bytes.starts_with(b"\xff\xd8") {
        let frame = frame(&bytes)?;
        (number(frame + 7)?, number(frame + 5)?)
    } else {
        return None;
    };
    (size.0 > 0 && size.1 > 0).then_some(size)
}

/// Where the frame header of a JPEG file begins.
fn frame(bytes: &[u8]) -> Option<usize> {
    let mut place = 2;
    loop {
        let (mark, kind) = (*bytes.get(place)?, *bytes.get(place + 1)?);
        if mark != 0xff {
            return None;
        }
        if matches!(kind, 0xc0..=0xcf) && !matches!(kind, 0xc4 | 0xc8 | 0xcc) {
            return Some(place);
        }
        let length = u16::from_be_bytes([*bytes.get(place + 2)?, *bytes.get(place + 3)?]);
        place += 2 + usize::from(length);
    }
}

/// The first bytes of a base64 text.
fn decode(base64: &str, most: usize) -> Vec<u8> {
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0_u32, 0);
    for letter in base64.bytes() {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'\r' | b'\n' => continue,
            _ => break,
        };
        bits = (bits << 6) | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held & 0xff) as u8);
        }
        if bytes.len() == most {
            break;
        }
    }
    bytes
}
