//! How much of a text that is still arriving can be stored: not the end, where half a secret may stand.

use crate::ops::redact::find::{Personal, last_word};
use crate::ops::redact::{RedactionRules, Redactor};

/// A longer word may be anything.
const ORDINARY: usize = 15;

/// No secret without a space is longer.
const LONGEST: usize = 8 << 10;

impl Redactor<'_> {
    /// How many bytes of a text cannot be the beginning of a secret that has not arrived.
    ///
    /// A last word that is none of a language cannot be told, nor a line whose name says that a secret
    /// follows, nor a private key without its last line.
    pub(crate) fn settled(&self, text: &str) -> usize {
        settled(self.rules, text)
    }
}

fn settled(rules: &RedactionRules, text: &str) -> usize {
    let word = last_word(text);
    // A cell of a table may be under the name of a secret.
    let is_cell = text[..word].rsplit('\n').next().is_some_and(|line| line.trim_start().starts_with('|'));
    let mut end = if is_ordinary(&text[word..]) && !is_cell { text.len() } else { word };
    end = end.min(rules.finder().unfinished(text).unwrap_or(end));
    if rules.personal.iter().any(|kind| matches!(kind, Personal::Phone | Personal::Card)) {
        let number =
            text.trim_end_matches(|letter: char| letter.is_ascii_digit() || " -.()+/".contains(letter));
        end = end.min(number.len());
    }
    if !rules.own.is_empty() {
        end = end.min(text.trim_end_matches('\n').rfind('\n').map_or(0, |line| line + 1));
    }
    let least = text.len().saturating_sub(LONGEST);
    if end == word && word < least {
        // A word this long is data.
        return (0..=least).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    }
    end
}

/// True for a word of a language: no token begins like that, and what a name
/// announces is held back by its name.
fn is_ordinary(word: &str) -> bool {
    let letters = word.trim_end_matches(['.', ',', '!', '?', ';', ':']);
    letters.len() <= ORDINARY
        && letters.bytes().skip(1).all(|byte| byte.is_ascii_lowercase())
        && letters.bytes().take(1).all(|byte| byte.is_ascii_alphabetic())
}
