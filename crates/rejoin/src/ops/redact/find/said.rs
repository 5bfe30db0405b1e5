//! Secrets in sentences: `my password is …`, `das Passwort lautet …`.

use std::ops::Range;

use crate::ops::redact::find::judge::{Form, judge};
use crate::ops::redact::find::names::Secrecy;
use crate::ops::redact::find::table::words::{IS, LEADS};
use crate::ops::redact::find::value::{has_digit, is_password};
use crate::ops::redact::find::{Found, Rule, Weight, within};

/// A sentence is looked at so far after a name.
const SENTENCE_BYTES: usize = 160;

/// So many words may stand between a name and the word that leads to its value.
const WORDS: usize = 6;

/// The value that a sentence gives to the name that ends at `end`.
pub(super) fn after(text: &str, end: usize, name: &str, secrecy: Secrecy) -> Option<(Range<usize>, Rule)> {
    let rest = within(text, end, SENTENCE_BYTES);
    let rest = &rest[..rest.find('\n').unwrap_or(rest.len())];
    let is_telling = |byte: u8| {
        byte.is_ascii_digit()
            || matches!(byte, b'"' | b'\'' | b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'+')
    };
    if !rest.bytes().any(is_telling) {
        return None;
    }
    let mut lead = Lead::Name;
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
            .then(|| judge(name, secrecy, written, Form::Said))
            .flatten()
        {
            return Some((end + at + value.start..end + at + value.end, rule));
        }
        if lead.takes_words(written, value.start > 0, secrecy) {
            let rule = judge(name, secrecy, written, Form::Quoted)?;
            return Some((end + at + value.start..end + at + value.end, rule));
        }
        let plain = word.to_lowercase();
        lead = match plain.as_str() {
            word if IS.contains(&word) || word.ends_with(':') && secrecy != Secrecy::Maybe => Lead::Is,
            word if LEADS.contains(&word) => Lead::To,
            word if word.ends_with(['.', ';', ',', '!', '?', ')']) => return None,
            _ => Lead::Other,
        };
        at += word.len();
    }
    None
}

/// Where the last word of a sentence begins, when the word before it leads from the name that ends at `end` to a value.
pub(super) fn unfinished(text: &str, end: usize) -> Option<usize> {
    let rest = text.get(end..).filter(|rest| rest.len() <= SENTENCE_BYTES && !rest.contains('\n'))?;
    let (before, word) = rest.rsplit_once(' ')?;
    let lead = before.rsplit(' ').next()?.to_lowercase();
    let is_lead = IS.contains(&lead.as_str()) || LEADS.contains(&lead.as_str()) || lead.ends_with(':');
    is_lead.then(|| text.len() - word.len())
}

/// What stands before a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lead {
    Name,
    Is,
    To,
    Other,
}

impl Lead {
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
            (Self::Name, Secrecy::Maybe) | (Self::Other, _) => false,
        }
    }

    /// True when words in quotes after it may be the value.
    fn takes_words(self, words: &str, is_quoted: bool, secrecy: Secrecy) -> bool {
        self == Self::Is
            && secrecy == Secrecy::Password
            && is_quoted
            && !words.starts_with(char::is_uppercase)
    }
}

/// Where the value is in a text that begins with a word: between quotes, or without the sign that ends a sentence.
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
pub(super) fn foreign(text: &str, end: usize) -> Option<Found> {
    let rest = within(text, end, SENTENCE_BYTES / 2);
    let rest = &rest[..rest.find('\n').unwrap_or(rest.len())];
    let is_apart = |letter: char| {
        letter.is_whitespace() || !letter.is_ascii() || matches!(letter, '"' | '\'' | '`' | ':' | '=' | ',')
    };
    let words = rest.split(is_apart).filter(|word| !word.is_empty()).take(3);
    let word =
        words.map(|word| word.trim_end_matches(['.', ';', ')', '?'])).find(|word| is_password(word))?;
    let begin = end + rest.find(word)?;
    let rule = judge("password", Secrecy::Password, word, Form::Said)?;
    Some(Found { range: begin..begin + word.len(), rule, weight: Weight::Assignment })
}
