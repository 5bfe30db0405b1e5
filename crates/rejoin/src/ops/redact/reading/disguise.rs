//! Letters that hide a secret from a search and not from a reader: invisible ones, look-alikes of other
//! scripts, wide ones, colours of a terminal, and letters that an address or a page writes by their number.

use crate::ops::redact::reading::{ReadingWriter, TextReading};

/// Letters of other scripts that look like Latin ones, each followed by what it looks like.
const LOOK_ALIKES: &str = "аaеeоoрpсcуyхxіiјjѕsԁdԛqԝwһhӏlкkтtмmнhвbАAВBЕEКKМMНHОOРPСCТTХXУYІIЈJЅSԌGαaοoρpεeιiκkνvτtυuχxΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧXɡgıiℓlſs";

/// What a page writes for signs that stand around values.
const ENTITIES: [(&str, &str); 8] = [
    ("&quot;", "\""),
    ("&#34;", "\""),
    ("&#x22;", "\""),
    ("&#39;", "'"),
    ("&#x27;", "'"),
    ("&apos;", "'"),
    ("&lt;", "<"),
    ("&gt;", ">"),
];

/// True for a letter that nobody sees.
fn is_invisible(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{e0000}'..='\u{e007f}')
}

/// The letter of ASCII that a wide or a mathematical letter is.
fn narrow(letter: char) -> Option<char> {
    let number = u32::from(letter);
    let ascii = match number {
        0xff01..=0xff5e => number - 0xff01 + 0x21,
        // Thirteen alphabets of 26 capitals and 26 small letters, and five rows of digits.
        0x1d400..=0x1d6a3 => match (number - 0x1d400) % 52 {
            capital @ 0..26 => 0x41 + capital,
            small => 0x61 + small - 26,
        },
        0x1d7ce..=0x1d7ff => 0x30 + (number - 0x1d7ce) % 10,
        _ => return None,
    };
    char::from_u32(ascii)
}

/// The Latin letter that a letter of another script looks like.
fn look_alike(letter: char) -> Option<char> {
    let mut letters = LOOK_ALIKES.chars();
    std::iter::from_fn(|| Some((letters.next()?, letters.next()?)))
        .find(|(one, _)| *one == letter)
        .map(|(_, latin)| latin)
}

/// True when a text may hold something that is read in another way without its
/// disguises. It may be written JSON.
pub(in crate::ops::redact) fn has_disguise(text: &str) -> bool {
    if text.is_ascii() {
        return false;
    }
    let bytes = text.as_bytes();
    let is_latin = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphabetic);
    let mut at = 0;
    while let Some(place) = next_foreign(bytes, at) {
        let letter = text[place..].chars().next().unwrap_or_default();
        at = place + letter.len_utf8();
        let is_mixed = is_latin(place.checked_sub(1).map(|before| &bytes[before])) || is_latin(bytes.get(at));
        if is_invisible(letter) || narrow(letter).is_some() || is_mixed && look_alike(letter).is_some() {
            return true;
        }
    }
    false
}

/// The next place with a letter that is not ASCII.
fn next_foreign(bytes: &[u8], from: usize) -> Option<usize> {
    // Whole pieces without one are passed over at once.
    let plain = bytes[from..].chunks(64).take_while(|chunk| chunk.is_ascii()).count() * 64;
    let begin = (from + plain).min(bytes.len());
    bytes[begin..].iter().position(|byte| !byte.is_ascii()).map(|place| begin + place)
}

/// A text without disguises; none when it has none.
pub(super) fn undisguised(text: &str) -> Option<TextReading<'static>> {
    let mut writer = ReadingWriter::default();
    let is_plain = text.is_ascii();
    if !is_plain && has_disguise(text) {
        letters(text, &mut writer);
    } else if memchr::memchr3(b'%', b'&', 0x1b, text.as_bytes()).is_some() {
        signs(text, &mut writer);
    }
    writer.finish(text)
}

/// Replaces letters that are not ASCII. A word that is all of another script is a word of that language.
fn letters(text: &str, writer: &mut ReadingWriter) {
    let is_of_word = |letter: char| letter.is_alphanumeric() || letter == '_' || is_invisible(letter);
    let mut at = 0;
    while at < text.len() {
        let length = text[at..].find(|letter| !is_of_word(letter)).unwrap_or(text.len() - at);
        let word = &text[at..at + length];
        let is_mixed = !word.is_ascii() && word.bytes().any(|byte| byte.is_ascii_alphabetic());
        let end = at + length + text[at + length..].chars().next().map_or(0, char::len_utf8);
        for (place, letter) in text[at..end].char_indices().filter(|(_, letter)| !letter.is_ascii()) {
            let range = at + place..at + place + letter.len_utf8();
            let latin = narrow(letter).or_else(|| look_alike(letter).filter(|_| is_mixed));
            match latin {
                Some(latin) => writer.replace(text, range, latin.encode_utf8(&mut [0; 4])),
                None if is_invisible(letter) => writer.replace(text, range, ""),
                None => {}
            }
        }
        at = end;
    }
}

/// Replaces what is written by number or name, and leaves out colours.
fn signs(text: &str, writer: &mut ReadingWriter) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(sign) = memchr::memchr3(b'%', b'&', 0x1b, &bytes[at..]).map(|next| at + next) {
        at = sign + 1;
        let (length, with) = match bytes[sign] {
            b'%' => match bytes.get(sign + 1..sign + 3).and_then(hexadecimal) {
                Some(byte) if is_telling(byte) => (3, char::from(byte).to_string()),
                _ => continue,
            },
            b'&' => match ENTITIES.iter().find(|(entity, _)| text[sign..].starts_with(entity)) {
                Some((entity, letter)) => (entity.len(), (*letter).to_owned()),
                None => continue,
            },
            _ => match colour(&bytes[sign..]) {
                Some(length) => (length, String::new()),
                None => continue,
            },
        };
        writer.replace(text, sign..sign + length, &with);
        at = sign + length;
    }
}

/// True for a letter that no address has to write by its number, or that joins a name and a value.
fn is_telling(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'~' | b'=' | b':' | b'"')
}

fn hexadecimal(digits: &[u8]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(digits[0])? << 4 | digit(digits[1])?)
}

/// How long the sequence is that colours a terminal: `ESC [ 3 1 m`.
fn colour(bytes: &[u8]) -> Option<usize> {
    let rest = bytes.strip_prefix(b"\x1b[")?;
    let digits = rest.iter().take(16).take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    matches!(rest.get(digits), Some(b'm' | b'K')).then_some(digits + 3)
}

/// A name without disguises.
pub(in crate::ops::redact) fn undisguised_word(name: &str) -> Option<String> {
    undisguised(name).map(|reading| reading.text.into_owned())
}
