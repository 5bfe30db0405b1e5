//! Keys and tokens that say by their first letters who gave them out.
//!
//! The least lengths are below the vendors' own, so that a token that lost its end is found too.

mod table;

pub(super) use table::VENDORS;

use crate::ops::redact::find::value::{is_placeholder, is_uuid, variety};
use crate::ops::redact::find::{Found, RUN_BYTES, Rule, Weight, begins_word, run_of};

/// Which letters follow the first ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Letters {
    /// `0-9`
    Digit,
    /// `0-9a-f`
    Hex,
    /// The same, with `/` and `:`.
    Ratio,
    /// `0-9A-Z`
    Upper,
    /// The same, with `-`.
    Block,
    /// Letters and digits.
    Plain,
    /// The same, with at least one of both.
    Mixed,
    /// And `_`, `-`.
    Word,
    /// And `.`.
    Dotted,
    /// And `~`.
    Loose,
    /// Letters, digits, `_`, `-`, `+`, `/` and `=`.
    Base64,
    /// The same, with `.` and `,`.
    Packed,
    /// The same as base64, with what an address writes by its number.
    Query,
    /// Letters, digits, `_`, `-` and `/`: the end of an address.
    Path,
    /// And `@`.
    Address,
    /// What `crypt` and its heirs write.
    Crypt,
    /// Letters, digits, `!`, `.` and `_`.
    Session,
    /// Letters, digits, `:` and `$`.
    Hash,
}

impl Letters {
    pub(super) const fn include(self, byte: u8) -> bool {
        match self {
            Self::Digit => byte.is_ascii_digit(),
            Self::Hex => byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'),
            Self::Ratio => Self::Hex.include(byte) || matches!(byte, b'/' | b':'),
            Self::Upper => byte.is_ascii_digit() || byte.is_ascii_uppercase(),
            Self::Block => byte == b'-' || Self::Upper.include(byte),
            Self::Plain | Self::Mixed => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
            Self::Loose => byte == b'~' || Self::Dotted.include(byte),
            Self::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'/' | b'='),
            Self::Packed => matches!(byte, b'.' | b',') || Self::Base64.include(byte),
            Self::Query => byte == b'%' || Self::Base64.include(byte),
            Self::Path => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'/'),
            Self::Address => byte == b'@' || Self::Path.include(byte),
            Self::Crypt => matches!(byte, b'$' | b'.' | b',') || Self::Base64.include(byte),
            Self::Session => byte.is_ascii_alphanumeric() || matches!(byte, b'!' | b'.' | b'_'),
            Self::Hash => byte.is_ascii_alphanumeric() || matches!(byte, b':' | b'$'),
        }
    }
}

/// What stands before the first letters and belongs to the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    Nothing,
    /// So many such letters and no more, at least and at most.
    Between(Letters, usize, usize),
    /// The last of such letters.
    Last(Letters, usize),
}

/// What the letters have to be, beside being such letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Any,
    Exactly(usize),
    /// Two parts with a dot between them, each at least so long.
    Parts(usize, usize),
    /// At most two digits.
    Number,
    /// A number of six digits or more, and something else.
    Numbered,
    /// Numbers, and thirty-two hexadecimal digits after a colon.
    Hashed,
    Uuid,
    /// Five groups or more.
    Groups,
    /// Small letters, capitals and digits: where the first letters alone mean other things, too.
    Strong,
    /// With this sign.
    Marked(u8),
    /// Not much longer than it has to be, and hardly ever the letter for zeros: else it is data.
    Filled,
}

/// So many letters after the first ones are looked at before all the rest.
const GLANCE: usize = 16;

/// A kind of token.
#[derive(Debug)]
pub(super) struct Vendor {
    pub(super) rule: &'static str,
    pub(super) first: &'static str,
    letters: Letters,
    least: usize,
    before: Before,
    shape: Shape,
}

const fn vendor(rule: &'static str, first: &'static str, letters: Letters, least: usize) -> Vendor {
    Vendor { rule, first, letters, least, before: Before::Nothing, shape: Shape::Any }
}

impl Vendor {
    const fn behind(self, before: Before) -> Self {
        Self { before, ..self }
    }

    const fn of(self, shape: Shape) -> Self {
        Self { shape, ..self }
    }

    /// The token whose first letters stand at `at`.
    pub(super) fn at(&self, text: &str, at: usize) -> Option<Found> {
        let bytes = text.as_bytes();
        if !bytes[at..].starts_with(self.first.as_bytes()) {
            return None;
        }
        let begin = self.beginning(bytes, at)?;
        let body = at + self.first.len();
        let mut end = body + run_of(text, body, |byte| self.letters.include(byte)).len();
        while end > body && matches!(bytes[end - 1], b'.' | b',') {
            end -= 1;
        }
        let letters = &text[body..end];
        let is_long = letters.len() >= self.least;
        let is_mixed = self.letters != Letters::Mixed
            || letters.bytes().any(|byte| byte.is_ascii_digit())
                && letters.bytes().any(|byte| byte.is_ascii_alphabetic());
        let is_complete = match self.letters {
            // A longer run of such letters is a hash or a name.
            Letters::Upper | Letters::Hex => bytes.get(end).is_none_or(|byte| !byte.is_ascii_alphanumeric()),
            _ => true,
        };
        let is_random = self.least < 8 || variety(letters) >= 7 && !is_placeholder(letters);
        let is_token = is_long && is_mixed && is_complete && is_random && self.is_in_shape(letters);
        is_token.then_some(Found {
            range: begin..end,
            rule: Rule::Named(self.rule),
            weight: Weight::Vendor(self.first.len()),
        })
    }

    /// Where the token begins: at its first letters, unless something stands before those.
    fn beginning(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let before = |letters: Letters| {
            bytes[..at].iter().rev().take(100).take_while(|byte| letters.include(**byte)).count()
        };
        match self.before {
            Before::Nothing => (self.is_unmistakable() || begins_word(bytes, at)).then_some(at),
            Before::Between(letters, least, most) => {
                let count = before(letters);
                (least..=most).contains(&count).then(|| at - count)
            }
            Before::Last(letters, count) => (before(letters) >= count).then(|| at - count),
        }
    }

    /// True when a token can stand here, as far as its first letters and a few more tell, some of which may be escaped.
    pub(super) fn may_begin(&self, bytes: &[u8], at: usize) -> bool {
        let body = at + self.first.len();
        let letters = bytes.get(body..body + self.least.min(GLANCE)).unwrap_or_default();
        bytes[at..].starts_with(self.first.as_bytes())
            && letters.len() == self.least.min(GLANCE)
            && (self.before != Before::Nothing || self.is_unmistakable() || begins_word(bytes, at))
            && letters.iter().all(|byte| self.letters.include(*byte) || *byte == b'\\')
    }

    /// True when its first letters mean nothing else, so that they may stand right behind others.
    fn is_unmistakable(&self) -> bool {
        self.first.len() >= 4
            && self.first.ends_with(['_', '-'])
            && self.letters != Letters::Hex
            && self.shape == Shape::Any
    }

    /// True when its first letters and a few more tell a token whose rest was cut off.
    pub(super) fn is_told_by_beginning(&self) -> bool {
        let is_long = self.first.len() >= 4 || self.first == "sk-" || self.first == "SG.";
        is_long
            && self.before == Before::Nothing
            && matches!(self.shape, Shape::Any | Shape::Exactly(_) | Shape::Parts(_, _))
    }

    /// What else the letters have to be.
    fn is_in_shape(&self, letters: &str) -> bool {
        let has = |is_one: fn(&u8) -> bool| letters.bytes().any(|byte| is_one(&byte));
        match self.shape {
            Shape::Any => true,
            Shape::Exactly(length) => letters.len() == length,
            Shape::Parts(first, second) => {
                letters.split_once('.').is_some_and(|(one, two)| one.len() >= first && two.len() >= second)
            }
            Shape::Number => letters.len() <= 2 && letters.bytes().all(|byte| byte.is_ascii_digit()),
            Shape::Numbered => {
                let digits = letters.bytes().take_while(u8::is_ascii_digit).count();
                digits >= 6 && letters[digits..].starts_with(['_', '-'])
            }
            Shape::Hashed => letters.split_once(':').is_some_and(|(number, hash)| {
                hash.len() == 32
                    && !hash.contains(['/', ':'])
                    && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'/')
            }),
            Shape::Uuid => is_uuid(letters),
            Shape::Groups => {
                letters.split('-').count() >= 5
                    && letters.split('-').all(|group| group.len() >= 5)
                    && has(u8::is_ascii_digit)
            }
            Shape::Strong => {
                has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase)
            }
            Shape::Marked(sign) => letters.bytes().any(|byte| byte == sign),
            Shape::Filled => {
                letters.len() <= 3 * self.least
                    && letters.bytes().filter(|byte| *byte == b'A').count() * 4 < letters.len()
                    && variety(letters) >= 20
            }
        }
    }

    /// True when its letters go on to the end of a text, so that more of them may come.
    pub(super) fn reaches_end(&self, text: &str, at: usize) -> bool {
        let rest = text[at..].strip_prefix(self.first);
        rest.is_some_and(|rest| {
            rest.len() <= RUN_BYTES && rest.bytes().all(|byte| self.letters.include(byte))
        })
    }
}
