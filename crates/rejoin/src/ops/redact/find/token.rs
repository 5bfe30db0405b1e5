//! Keys and tokens that say by their first letters who gave them out.
//!
//! The least lengths are below the vendors' own, so that a token that lost its end is found too.

use crate::ops::redact::find::letters::Letters;
use crate::ops::redact::find::pattern::Pattern;
use crate::ops::redact::find::value::{entropy, is_placeholder, is_uuid, variety};
use crate::ops::redact::find::{FoundSecret, RUN_BYTES, Weight, begins_word, named, run_of};

/// A kind of token: a line of the table.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) rule: &'static str,
    pub(super) first: &'static str,
    pub(super) letters: Letters,
    pub(super) least: usize,
    pub(super) before: Before,
    pub(super) shape: TokenShape,
}

/// What stands before the first letters and belongs to the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    Nothing,
    /// So many such letters and no more, at least and at most.
    Between(Letters, usize, usize),
    /// The last of such letters.
    Last(Letters, usize),
}

/// What the letters have to be, beside being such letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenShape {
    Any,
    Exactly(usize),
    /// Small letters, capitals and digits: where the first letters alone mean other things, too.
    Strong,
    Uuid,
    /// Not much longer than it has to be, and hardly ever the letter for zeros: else it is data.
    Filled,
    /// A regular expression fits them, as it does the example.
    Like(&'static str, &'static str),
}

/// So many letters after the first ones are looked at before all the rest.
const GLANCE: usize = 16;

/// So many letters tell whether a token is random, so that those of a long one are
/// not counted for every beginning in it.
const JUDGED: usize = 300;

/// The least entropy in bits a letter; an example repeats itself.
const ENTROPY: f64 = 2.0;

pub(super) const fn token(rule: &'static str, first: &'static str, letters: Letters, least: usize) -> Token {
    Token { rule, first, letters, least, before: Before::Nothing, shape: TokenShape::Any }
}

impl Token {
    pub(super) const fn behind(self, letters: Letters, least: usize, most: usize) -> Self {
        Self { before: Before::Between(letters, least, most), ..self }
    }

    pub(super) const fn behind_last(self, letters: Letters, count: usize) -> Self {
        Self { before: Before::Last(letters, count), ..self }
    }

    pub(super) const fn strong(self) -> Self {
        Self { shape: TokenShape::Strong, ..self }
    }

    pub(super) const fn uuid(self) -> Self {
        Self { shape: TokenShape::Uuid, ..self }
    }

    pub(super) const fn filled(self) -> Self {
        Self { shape: TokenShape::Filled, ..self }
    }

    pub(super) const fn exactly(self, length: usize) -> Self {
        Self { shape: TokenShape::Exactly(length), ..self }
    }

    pub(super) const fn like(self, pattern: &'static str, example: &'static str) -> Self {
        Self { shape: TokenShape::Like(pattern, example), ..self }
    }

    /// The token whose first letters stand at `at`; `pattern` is that of its shape. `run` is where the
    /// letters end of the last one that was looked for, because many may begin in one run.
    pub(super) fn at(
        &self,
        pattern: &Pattern,
        text: &str,
        at: usize,
        run: &mut usize,
    ) -> Option<FoundSecret> {
        let bytes = text.as_bytes();
        if !bytes[at..].starts_with(self.first.as_bytes()) {
            return None;
        }
        let begin = self.beginning(bytes, at)?;
        let body = at + self.first.len();
        if body >= *run {
            *run = body + run_of(text, body, |byte| self.letters.include(byte)).len();
        }
        let letters = text[body..*run].trim_end_matches(['.', ',']);
        let end = body + letters.len();
        let first = &letters[..letters.len().min(JUDGED)];
        let has = |is_one: fn(&u8) -> bool| first.bytes().any(|byte| is_one(&byte));
        let is_cut = self.letters.is_whole && bytes.get(end).is_some_and(u8::is_ascii_alphanumeric);
        let is_mixed = || has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
        let is_random =
            || self.least < 8 || variety(first) >= 7 && entropy(first) >= ENTROPY && !is_placeholder(first);
        let is_in_shape = || match self.shape {
            TokenShape::Any => true,
            TokenShape::Exactly(length) => letters.len() == length,
            TokenShape::Strong => {
                has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase)
            }
            TokenShape::Uuid => is_uuid(letters),
            TokenShape::Filled => {
                letters.len() <= 3 * self.least
                    && letters.bytes().filter(|byte| *byte == b'A').count() * 4 < letters.len()
                    && variety(letters) >= 20
            }
            TokenShape::Like(..) => pattern.fits(letters),
        };
        let is_token = letters.len() >= self.least
            && !is_cut
            && (!self.letters.is_mixed || is_mixed())
            && is_random()
            && is_in_shape();
        is_token.then(|| named(begin..end, self.rule, Weight::Token(self.first.len())))
    }

    /// Where a token begins whose first letters stand at `at`.
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

    /// True when a token can stand here, as far as its first letters and a few more tell. What follows an
    /// escape or a letter that is not ASCII may be anything.
    pub(super) fn may_begin(&self, bytes: &[u8], at: usize) -> bool {
        let body = &bytes[at + self.first.len()..];
        let letters = &body[..body.len().min(self.least).min(GLANCE)];
        let plain = letters.iter().position(|byte| *byte == b'\\' || !byte.is_ascii());
        bytes[at..].starts_with(self.first.as_bytes())
            && (letters.len() == self.least.min(GLANCE) || plain.is_some())
            && (self.before != Before::Nothing || self.is_unmistakable() || begins_word(bytes, at))
            && letters[..plain.unwrap_or(letters.len())].iter().all(|byte| self.letters.include(*byte))
    }

    /// True when its first letters mean nothing else, so that they may stand right behind others.
    fn is_unmistakable(&self) -> bool {
        self.first.len() >= 4
            && self.first.ends_with(['_', '-'])
            && !(self.letters.is_whole && self.letters.include(b'a'))
            && self.shape == TokenShape::Any
    }

    /// True when its first letters and a few more tell a token whose rest was cut off.
    pub(super) fn is_told_by_beginning(&self) -> bool {
        let is_long = self.first.len() >= 4 || self.first == "sk-" || self.first == "SG.";
        let is_plain = matches!(self.shape, TokenShape::Any | TokenShape::Exactly(_)) || self.first == "SG.";
        is_long && self.before == Before::Nothing && is_plain
    }

    /// True when its letters go on to the end of a text, so that more of them may come, in the next line too.
    pub(super) fn reaches_end(&self, text: &str, at: usize, may_wrap: MayWrap) -> bool {
        let is_of_it = |byte: u8| {
            self.letters.include(byte)
                || may_wrap == MayWrap::Yes && matches!(byte, b'\n' | b'\r' | b'\\' | b' ' | b'\t')
        };
        let Some(rest) = text[at..].strip_prefix(self.first).filter(|rest| rest.len() <= RUN_BYTES) else {
            return false;
        };
        rest.bytes().all(is_of_it) && rest.lines().all(|line| !line.trim().contains([' ', '\t']))
    }
}

/// Whether a token may go on in the next line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MayWrap {
    Yes,
    No,
}
