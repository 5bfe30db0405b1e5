//! Secrets in sentences: `my password is …`, `das Passwort lautet …`.

use std::ops::Range;

use crate::ops::redact::find::judge::{ValueForm, is_strong, judge};
use crate::ops::redact::find::names::Secrecy;
use crate::ops::redact::find::table::words::{IS, LEADS};
use crate::ops::redact::find::value::{has_digit, is_code, is_password, is_title};
use crate::ops::redact::find::{FoundSecret, SecretRule, Weight, within};

/// A sentence is looked at so far after a name.
const SENTENCE_BYTES: usize = 160;

/// So many words may stand between a name and the word that leads to its value.
const WORDS: usize = 9;

/// So many words after a word of another language are looked at, and so many of them are near.
const FOREIGN_WORDS: usize = 9;
const NEAR: usize = 3;

/// The value that a sentence gives to the name that ends at `end`.
pub(super) fn after(
    text: &str,
    end: usize,
    name: &str,
    secrecy: Secrecy,
) -> Option<(Range<usize>, SecretRule)> {
    let rest = within(text, end, SENTENCE_BYTES);
    let rest = &rest[..rest.find('\n').unwrap_or(rest.len())];
    let is_telling = |byte: u8| {
        byte.is_ascii_digit()
            || matches!(byte, b'"' | b'\'' | b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'+')
    };
    if !rest.bytes().any(is_telling) {
        return None;
    }
    let mut lead = WordLead::Name;
    let mut at = rest.len() - rest.trim_start_matches(['"', '\'', '`', '*']).len();
    if !rest[at..].starts_with(' ') || rest[at..].trim_start().starts_with(['=', ':']) {
        return None;
    }
    for _ in 0..=WORDS {
        at += rest[at..].len() - rest[at..].trim_start_matches([' ', ':', '\t', '*']).len();
        let word = rest[at..].split([' ', '\t']).next().filter(|word| !word.is_empty())?;
        let value = unquoted(&rest[at..], word);
        let written = &rest[at + value.start..at + value.end];
        if let Some(rule) = lead
            .takes(written, value.start > 0, secrecy)
            .then(|| judge(name, secrecy, written, ValueForm::Said))
            .flatten()
        {
            return Some((end + at + value.start..end + at + value.end, rule));
        }
        if lead.takes_chosen(written, secrecy)
            && let Some(rule) = judge(name, Secrecy::Password, written, ValueForm::Said)
        {
            return Some((end + at + value.start..end + at + value.end, rule));
        }
        if lead.takes_words(written, value.start > 0, secrecy) {
            let rule = judge(name, secrecy, written, ValueForm::Quoted)?;
            return Some((end + at + value.start..end + at + value.end, rule));
        }
        let plain = word.to_lowercase();
        lead = match plain.as_str() {
            word if IS.contains(&word) || word.ends_with(':') && secrecy != Secrecy::Maybe => WordLead::Is,
            word if LEADS.contains(&word) => WordLead::To,
            word if word.ends_with(['.', ';', ',', '!', '?', ')']) => return None,
            _ => WordLead::Other,
        };
        at += word.len();
    }
    None
}

/// Where the last word of a sentence begins, when the word before it leads from
/// the name that ends at `end` to a value.
pub(super) fn unfinished(text: &str, end: usize) -> Option<usize> {
    let rest = text.get(end..).filter(|rest| rest.len() <= SENTENCE_BYTES && !rest.contains('\n'))?;
    let (before, word) = rest.rsplit_once(' ')?;
    let lead = before.rsplit(' ').next()?.to_lowercase();
    let is_lead = IS.contains(&lead.as_str()) || LEADS.contains(&lead.as_str()) || lead.ends_with(':');
    is_lead.then(|| text.len() - word.len())
}

/// What stands before a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WordLead {
    Name,
    Is,
    To,
    Other,
}

impl WordLead {
    /// True when a word after it may be the value.
    fn takes(self, word: &str, is_quoted: bool, secrecy: Secrecy) -> bool {
        let is_strong = is_quoted
            || word.contains(['!', '@', '#', '$', '%', '^', '&', '*', '+'])
            || word.bytes().any(|byte| byte.is_ascii_uppercase())
                && word.bytes().any(|byte| byte.is_ascii_lowercase())
                && word.len() >= 8;
        match (self, secrecy) {
            (Self::Is, _) | (Self::To, Secrecy::Key | Secrecy::Maybe) => true,
            (Self::Name | Self::To, Secrecy::Password) => is_strong && is_password(word),
            (Self::Name, Secrecy::Key) => word.len() >= 20 && has_digit(word) && !word.starts_with('-'),
            (Self::Name, Secrecy::Maybe) => {
                let has = |is_one: fn(&u8) -> bool| word.bytes().any(|byte| is_one(&byte));
                word.len() >= 20
                    && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                    && word.bytes().filter(u8::is_ascii_digit).count() >= 3
                    && has(u8::is_ascii_uppercase)
                    && has(u8::is_ascii_lowercase)
            }
            (Self::Other, _) => false,
        }
    }

    /// True when a word after it may be a key that a person has chosen.
    fn takes_chosen(self, word: &str, secrecy: Secrecy) -> bool {
        let has = |is_one: fn(&u8) -> bool| word.bytes().any(|byte| is_one(&byte));
        matches!(self, Self::Is | Self::To)
            && secrecy == Secrecy::Key
            && word.len() >= 10
            && word.bytes().filter(u8::is_ascii_digit).count() >= 2
            && has(u8::is_ascii_lowercase)
            && has(|byte| byte.is_ascii_uppercase() || byte.is_ascii_punctuation())
            && !is_code(word)
            && !is_title(word)
    }

    /// True when words in quotes after it may be the value.
    fn takes_words(self, words: &str, is_quoted: bool, secrecy: Secrecy) -> bool {
        self == Self::Is
            && secrecy == Secrecy::Password
            && is_quoted
            && !words.starts_with(char::is_uppercase)
    }
}

/// Where the value is in a text that begins with a word: between quotes, or
/// without the sign that ends a sentence.
fn unquoted(text: &str, word: &str) -> Range<usize> {
    let pairs = [
        ('"', '"'),
        ('\'', '\''),
        ('`', '`'),
        ('\u{201c}', '\u{201d}'),
        ('\u{201e}', '\u{201c}'),
        ('\u{ab}', '\u{bb}'),
    ];
    for (open, close) in pairs {
        if let Some(inner) = text.strip_prefix(open)
            && let Some(length) = inner.find(close).filter(|length| *length > 0)
        {
            return open.len_utf8()..open.len_utf8() + length;
        }
    }
    let word = &word[..word.find('"').filter(|quote| *quote > 0).unwrap_or(word.len())];
    0..word.trim_end_matches(['.', ',', ';', ':', ')', '?', '"', '\'', '`', '*']).len()
}

/// The password after a word for it in another language.
pub(super) fn foreign(text: &str, end: usize) -> Option<FoundSecret> {
    let rest = within(text, end, SENTENCE_BYTES / 2);
    let rest = &rest[..rest.find('\n').unwrap_or(rest.len())];
    let is_apart = |letter: char| {
        letter.is_whitespace() || !letter.is_ascii() || matches!(letter, '"' | '\'' | '`' | ':' | '=' | ',')
    };
    let words = rest.split(is_apart).filter(|word| !word.is_empty()).take(FOREIGN_WORDS).enumerate();
    let mut words = words.map(|(place, word)| (place, word.trim_end_matches(['.', ';', ')', '?'])));
    // Further away a number alone tells nothing.
    let (_, word) =
        words.find(|(place, word)| if *place < NEAR { is_password(word) } else { is_strong(word) })?;
    let begin = end + rest.find(word)?;
    let rule = judge("password", Secrecy::Password, word, ValueForm::Said)?;
    Some(FoundSecret { range: begin..begin + word.len(), rule, weight: Weight::Assignment })
}
