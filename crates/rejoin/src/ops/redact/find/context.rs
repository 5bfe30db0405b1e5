//! Secrets that are known by what stands around them: addresses, headers, commands, calls, objects.

use std::ops::Range;

use crate::ops::redact::find::examples::Examples;
use crate::ops::redact::find::judge::is_credentials;
use crate::ops::redact::find::letters::Letters;
use crate::ops::redact::find::pattern::Pattern;
use crate::ops::redact::find::placeholder::{is_named_placeholder, is_placeholder, is_shown};
use crate::ops::redact::find::value::{
    entropy, has_digit, has_letter, is_code, is_password, is_random, is_uuid, is_words, variety,
};
use crate::ops::redact::find::{FoundSecret, Weight, begins_word, line_before, named, run_of, within};

/// A line of the table: where to look, what has to stand there, and what a value has to be.
#[derive(Debug)]
pub(super) struct ContextPattern {
    pub(super) rule: &'static str,
    /// Letters that the text cannot do without; case does not matter.
    pub(super) anchors: &'static [&'static str],
    /// What the pattern is compared with begins here.
    start: PatternStart,
    /// How much is looked at after the anchor.
    bytes: usize,
    /// What its groups hold are the values; without groups, all of it is.
    pub(super) pattern: &'static str,
    pub(super) value: ValueKind,
    /// The least entropy of a value in bits a letter.
    entropy: f64,
    /// One of these stands before the anchor in its line, if there are any.
    after: &'static [&'static str],
    /// What does not stand in what fits.
    unless: &'static [&'static str],
    weight: Weight,
    /// The letters that the pattern begins with. Where it does not fit, it does not
    /// in the rest of a run of them either.
    run: Option<Letters>,
    pub(super) hold: HoldFrom,
    pub(super) examples: Examples,
}

/// Where the pattern is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PatternStart {
    /// At the anchor, which begins a word.
    Word,
    /// At the anchor.
    Anchor,
    /// One letter before it.
    Letter,
    /// Anywhere from so many bytes before it on.
    Before(usize),
    /// Behind the nearest of these signs before it.
    Behind(&'static [char]),
    /// At the nearest such bracket before it.
    Bracket(char),
}

/// What a value has to be, beside not being an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    /// Anything of three letters or more.
    Given,
    /// An argument that is no option, path or ordinary word.
    Argument,
    /// What a person would choose, as far as it can be told from a word.
    Password,
    /// A password of eight letters or more with capitals and small letters, or with a sign.
    Strong,
    /// What a program makes.
    Random,
    /// With a digit.
    Numbered,
    /// With a digit or a sign of base64.
    Made,
    /// With one of those or a capital.
    Token,
    /// A password in an address.
    Address,
    /// Letters and digits in the place of a user.
    User,
    /// Base64 of more than an example.
    Packed,
    /// Key material, whatever it is.
    Key,
    /// Base32, in one word or in groups of four.
    Seed,
    /// Base64 of a user and a password.
    Login,
    /// Letters of both cases and digits, or many digits, in no order that words have.
    Opaque,
}

/// From where on a text is held back that is still arriving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HoldFrom {
    /// What it finds is a word, and the last word is held back unless it is an ordinary one.
    Nothing,
    /// From the last word on, when the anchor is in it.
    Word,
    /// From the anchor on, when only signs stand between it and the last word.
    Next,
    /// From the anchor on until its line ends.
    Line,
}

/// Brackets and signs that words stand between.
pub(super) const SPACES: &[char] = &[' ', '\t', '\n', '\r', '"', '\'', '`', '=', '\u{a0}', '\u{3000}'];
pub(super) const LINE: &[char] = &['\n'];

/// So much is looked at to each side unless a line of the table says otherwise.
const BYTES: usize = 1_000;

/// No word that is a secret with what stands around it begins further before its anchor.
const WORD_BYTES: usize = 300;

/// What was looked at ends in the middle of something that is no longer.
const OVERLAP: usize = 200;

pub(super) const fn context(
    rule: &'static str,
    anchors: &'static [&'static str],
    pattern: &'static str,
    value: ValueKind,
) -> ContextPattern {
    ContextPattern {
        rule,
        anchors,
        start: PatternStart::Anchor,
        bytes: BYTES,
        pattern,
        value,
        entropy: 0.0,
        after: &[],
        unless: &[],
        weight: Weight::Header,
        run: None,
        hold: HoldFrom::Nothing,
        examples: Examples::NONE,
    }
}

impl ContextPattern {
    pub(super) const fn from(self, start: PatternStart) -> Self {
        Self { start, ..self }
    }

    pub(super) const fn within(self, bytes: usize) -> Self {
        Self { bytes, ..self }
    }

    pub(super) const fn entropy(self, entropy: f64) -> Self {
        Self { entropy, ..self }
    }

    pub(super) const fn after(self, after: &'static [&'static str]) -> Self {
        Self { after, ..self }
    }

    pub(super) const fn unless(self, unless: &'static [&'static str]) -> Self {
        Self { unless, ..self }
    }

    pub(super) const fn shape(self) -> Self {
        Self { weight: Weight::Shape, ..self }
    }

    pub(super) const fn run(self, letters: Letters) -> Self {
        Self { run: Some(letters), ..self }
    }

    pub(super) const fn hold(self, hold: HoldFrom) -> Self {
        Self { hold, ..self }
    }

    pub(super) const fn finds(self, finds: &'static [&'static str]) -> Self {
        Self { examples: self.examples.finds(finds), ..self }
    }

    pub(super) const fn leaves(self, leaves: &'static [&'static str]) -> Self {
        Self { examples: self.examples.leaves(leaves), ..self }
    }

    /// True when written JSON may hold a secret around the anchor, as far as a few letters tell.
    pub(super) fn may_begin(&self, bytes: &[u8], at: usize, end: usize) -> bool {
        let is_apart = |byte: u8| !byte.is_ascii_alphanumeric() && !matches!(byte, b'_' | b'/' | b'.' | b':');
        match self.value {
            ValueKind::Address | ValueKind::User if self.start == PatternStart::Letter => {
                let near = &bytes[end..bytes.len().min(end + 300)];
                let stop = near.iter().position(|byte| matches!(byte, b' ' | b'"' | b'<' | b'>' | b'\\'));
                near[..stop.unwrap_or(near.len())].contains(&b'@')
            }
            ValueKind::Argument | ValueKind::Password if self.start == PatternStart::Word => {
                is_apart(bytes[end - 1]) || bytes.get(end).is_none_or(|byte| is_apart(*byte))
            }
            _ => self.start != PatternStart::Word || begins_word(bytes, at),
        }
    }

    /// Adds the secrets around the anchor at `at`. What is in `seen` was looked at for an anchor before it,
    /// so many of them in one place take no more time than one.
    pub(super) fn at(
        &self,
        pattern: &Pattern,
        text: &str,
        at: usize,
        seen: &mut Range<usize>,
        found: &mut Vec<FoundSecret>,
    ) {
        let is_loose = matches!(self.start, PatternStart::Before(_));
        if seen.contains(&at) && !is_loose || self.start.is_same(text, seen, at) {
            return;
        }
        let Some(mut start) = self.start.place(text, at) else { return };
        if is_loose {
            start = start.max(text.floor_char_boundary(seen.end.saturating_sub(OVERLAP)));
        }
        let is_led = || {
            let line = line_before(text, at, BYTES).to_ascii_lowercase();
            self.after.iter().any(|word| line.contains(word))
        };
        if !self.after.is_empty() && !is_led() {
            return;
        }
        let near = within(text, start, (at + self.bytes).saturating_sub(start));
        let before = found.len();
        pattern.each(near, |fitting| {
            let whole = fitting.get(0).map_or("", |whole| whole.as_str());
            if self.unless.iter().any(|word| whole.contains(word)) {
                return;
            }
            let mut parts: Vec<Range<usize>> =
                fitting.iter().skip(1).flatten().map(|part| part.range()).collect();
            if fitting.len() == 1 {
                parts.extend(fitting.get(0).map(|whole| whole.range()));
            }
            for part in parts {
                let value = near[part.clone()].trim_end();
                let value = if self.value == ValueKind::Key { value } else { value.trim_end_matches("\\n") };
                if self.value.takes(value) && (self.entropy == 0.0 || entropy(value) >= self.entropy) {
                    let begin = start + part.start;
                    found.push(named(begin..begin + value.len(), self.rule, self.weight));
                }
            }
        });
        match (found[before..].last(), self.run) {
            _ if is_loose => *seen = start..start + near.len(),
            (Some(last), _) => *seen = last.range.clone(),
            (None, _) if self.start.is_word() => *seen = start..at + 1,
            (None, Some(letters)) => *seen = at..at + run_of(text, at, |byte| letters.include(byte)).len(),
            (None, None) => {}
        }
    }
}

impl PatternStart {
    /// True when it is where a word begins.
    const fn is_word(self) -> bool {
        matches!(self, Self::Behind(signs) if signs.len() == SPACES.len())
    }

    /// True when it is where a word begins that was looked at for an anchor before.
    fn is_same(self, text: &str, seen: &Range<usize>, at: usize) -> bool {
        let is_near = seen.end <= at && at < seen.start + WORD_BYTES && !seen.is_empty();
        self.is_word() && is_near && text.as_bytes()[seen.end..at].iter().all(is_of_word)
    }

    fn place(self, text: &str, at: usize) -> Option<usize> {
        // What words stand between is nearer than what lines do.
        let bytes = if self.is_word() { WORD_BYTES } else { BYTES };
        let floor = text.floor_char_boundary(at.saturating_sub(bytes));
        match self {
            Self::Word => begins_word(text.as_bytes(), at).then_some(at),
            Self::Anchor => Some(at),
            Self::Before(bytes) => Some(text.floor_char_boundary(at.saturating_sub(bytes))),
            Self::Letter => Some(text.floor_char_boundary(at.saturating_sub(1))),
            Self::Behind(signs) => {
                let before = &text[floor..at];
                let word = before.as_bytes().iter().rev().take_while(|byte| is_of_word(byte)).count();
                let is_ascii = before.as_bytes().iter().rev().nth(word).is_none_or(u8::is_ascii);
                let far = || before.rsplit(signs).next().unwrap_or_default().len();
                Some(at - if self.is_word() && is_ascii { word } else { far() })
            }
            Self::Bracket(bracket) => text[floor..at].rfind(bracket).map(|place| floor + place),
        }
    }
}

/// True for what is none of the signs that words stand between.
const fn is_of_word(byte: &u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'`' | b'=')
}

impl ValueKind {
    /// True when a value is of this kind and no example.
    fn takes(self, value: &str) -> bool {
        let has = |is_one: fn(&u8) -> bool| value.bytes().any(|byte| is_one(&byte));
        match self {
            Self::Given => value.len() >= 3 && !value.starts_with("//") && !is_placeholder(value),
            Self::Argument => is_argument(value),
            Self::Password => value.len() >= 4 && is_password(value) && !is_named_placeholder(value),
            Self::Strong => {
                let is_strong = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase)
                    || value.contains(['!', '@', '#', '$', '%', '&', '*']);
                value.len() >= 8 && is_strong && is_password(value) && !is_placeholder(value)
            }
            Self::Random => is_random(value) && !is_placeholder(value),
            Self::Numbered => has(u8::is_ascii_digit) && !is_placeholder(value) && !is_dotted_code(value),
            Self::Made | Self::Token => {
                let is_made = has(u8::is_ascii_digit) || value.contains('=');
                let is_token = is_made || self == Self::Token && has(u8::is_ascii_uppercase);
                is_token && value.len() >= 8 && !is_named_placeholder(value) && !is_dotted_code(value)
            }
            Self::Address => {
                let port = value.split(['/', '?', '#']).next().unwrap_or_default();
                let is_port = port.len() < value.len() && port.bytes().all(|byte| byte.is_ascii_digit());
                value.len() >= 3 && !is_port && !value.contains("//") && !is_placeholder(value)
            }
            Self::User => {
                has_digit(value) && has_letter(value) && variety(value) >= 9 && !is_placeholder(value)
            }
            Self::Packed => is_packed(value),
            Self::Key => value.len() >= 20 && variety(value) >= 9,
            Self::Seed => is_seed(value),
            Self::Login => is_credentials(value),
            Self::Opaque => {
                let is_mixed = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
                let is_plain = !value.contains(['-', '_']) || is_uuid(value);
                has_digit(value)
                    && has_letter(value)
                    && variety(value) >= 9
                    && entropy(value) >= 3.0
                    && (is_mixed && entropy(value) >= 4.0 || is_plain)
                    && !is_placeholder(value)
            }
        }
    }
}

/// True for the seed of one-time passwords: groups of words have digits in hardly any of them.
fn is_seed(value: &str) -> bool {
    let groups: Vec<&str> = value.split([' ', '-']).collect();
    let mixed = groups.iter().filter(|group| has_digit(group) && has_letter(group)).count();
    let letters = groups.concat();
    let digits = letters.bytes().filter(u8::is_ascii_digit).count();
    let is_loud = !letters.bytes().any(|byte| byte.is_ascii_lowercase());
    (groups.len() == 1 && mixed == 1 && (is_loud || digits >= 2) || mixed >= 2)
        && variety(&letters) >= 9
        && !is_placeholder(&letters)
}

fn is_dotted_code(value: &str) -> bool {
    value.contains('.') && is_code(value)
}

/// True for what a command is given that is no option, path or ordinary word.
pub(super) fn is_argument(word: &str) -> bool {
    word.len() >= 4
        && !is_named_placeholder(word)
        && !is_shown(word)
        && !word.contains("://")
        && !word.starts_with(['-', '/', '.', '~', '<', '@', '`', '('])
        && (has_digit(word) || !is_words(word) || word.len() >= 6 && !word.contains(['.', ' ']))
}

/// True for base64 that says more than an example does.
pub(super) fn is_packed(value: &str) -> bool {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    let letters: String = value.split_whitespace().collect();
    let Ok(bytes) = STANDARD.decode(&letters) else { return false };
    let said = str::from_utf8(&bytes).unwrap_or("").trim();
    let is_example = is_named_placeholder(said) && !said.contains(['{', '"', ':', '\n']);
    // Names of objects have no capitals, and those of kinds no digits.
    let is_made = letters.bytes().any(|byte| byte.is_ascii_uppercase())
        && letters.contains(|letter: char| letter.is_ascii_digit() || letter == '=');
    is_made && letters.len() >= 8 && !is_named_placeholder(&letters) && (said.is_empty() || !is_example)
}
