//! What a string of written JSON says, also one that is no text because it holds halves of surrogate pairs.
//!
//! Programs that cut a text in the middle of a letter write such strings. Each half is read
//! as a letter that stands in for it, so that escapes beside it are read like any others,
//! and is written as the half that it was.

/// The first of the letters that stand in for halves; they are for private use, and no rule looks for them.
const FIRST: u32 = 0xF_0000;

/// Every half of a pair.
const HALVES: std::ops::RangeInclusive<u32> = 0xD800..=0xDFFF;

/// What a string says.
#[derive(Debug)]
pub(super) struct StringText {
    pub(super) text: String,
    halves: Halves,
}

/// What became of halves of pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Halves {
    /// There are none, or they are lost: the text has letters of its own that would stand in for them.
    Lost,
    /// Each letter that stands in for one is one.
    StandIns,
}

impl StringText {
    /// Reads a string, which is given with its quotes. What cannot be read says what is written.
    pub(super) fn read(literal: &str) -> Self {
        if let Ok(text) = serde_json::from_str(literal) {
            return Self { text, halves: Halves::Lost };
        }
        let (whole, count) = without_halves(literal, stand_in);
        match serde_json::from_str::<String>(&whole) {
            Ok(text) if text.chars().filter(|letter| half(*letter).is_some()).count() == count => {
                return Self { text, halves: Halves::StandIns };
            }
            Ok(_) | Err(_) => {}
        }
        let (whole, _) = without_halves(literal, |_| char::REPLACEMENT_CHARACTER);
        let text = serde_json::from_str(&whole).unwrap_or_else(|_| literal.to_owned());
        Self { text, halves: Halves::Lost }
    }

    /// Writes what takes the place of its text, with quotes.
    pub(super) fn write(&self, text: &str) -> String {
        let written = serde_json::to_string(text).expect("a text can be written as JSON");
        match self.halves {
            Halves::Lost => written,
            Halves::StandIns => written.chars().fold(String::new(), |mut out, letter| {
                match half(letter) {
                    Some(half) => out.push_str(&format!("\\u{half:04x}")),
                    None => out.push(letter),
                }
                out
            }),
        }
    }
}

/// The same with a letter for each half that lacks its other, and how many there are.
fn without_halves(literal: &str, letter: impl Fn(u32) -> char) -> (String, usize) {
    let (mut out, mut rest, mut count) = (String::with_capacity(literal.len()), literal, 0);
    while let Some(slash) = rest.find('\\') {
        out.push_str(&rest[..slash]);
        rest = &rest[slash..];
        let length = match (number(rest), rest.get(6..).and_then(number)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(half), _) if HALVES.contains(&half) => {
                out.push(letter(half));
                count += 1;
                rest = &rest[6..];
                continue;
            }
            _ => rest.char_indices().nth(2).map_or(rest.len(), |(end, _)| end),
        };
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    out.push_str(rest);
    (out, count)
}

/// The number of the escape that a text begins with.
fn number(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

fn stand_in(half: u32) -> char {
    char::from_u32(half - HALVES.start() + FIRST).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn half(letter: char) -> Option<u32> {
    let half = u32::from(letter).checked_sub(FIRST)? + HALVES.start();
    HALVES.contains(&half).then_some(half)
}
