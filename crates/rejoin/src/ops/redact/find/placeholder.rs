//! What stands in the place of a secret without being one: examples, references, words that people are shown.

use crate::ops::marker::MARKER;
use crate::ops::redact::find::table::words::{
    EXAMPLES, FOREIGN, LABELS, REFERENCES, TELLING, TELLS, WEAK, WORDS,
};
use crate::ops::redact::find::value::{has_digit, has_letter, is_words, variety};

/// So many letters and digits in a row are random when both cases are among them.
const RANDOM: usize = 12;

/// True when a value stands for a secret without being one.
pub(super) fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let first = lower.bytes().next().unwrap_or(b'$');
    // What is long and full of different signs is no reference to something else.
    let is_short = value.len() < 20 || variety(value) < 14;
    is_short && matches!(first, b'$' | b'%' | b'{' | b'<' | b'*' | b'&')
        || lower.starts_with('[') && lower.ends_with(']')
        || value.contains(MARKER)
        || EXAMPLES.iter().any(|example| says(value, &lower, example))
        || lower.starts_with("my-")
        || WORDS.contains(&lower.as_str())
        || is_weak(&lower)
        || ["${", "{{", "$(", "<%"].iter().any(|sign| lower.contains(sign) && lower.contains(['}', ')', '>']))
        || variety(value) <= 1
}

/// True for a word that everybody takes for an example, with a number or a sign
/// behind it: `test123`, `Password1!`.
fn is_weak(lower: &str) -> bool {
    let word = lower.trim_end_matches(['!', '?', '.', '#', '@', '$']);
    let digits = word.trim_end_matches(|letter: char| letter.is_ascii_digit() || matches!(letter, '_' | '-'));
    WEAK.contains(&digits) && word.len() - digits.len() <= 5
}

/// True when a value says that it is an example. A random one may hold such a word by
/// chance, in which case the rest is random.
fn says(value: &str, lower: &str, example: &str) -> bool {
    let Some(start) = lower.find(example) else { return false };
    let end = start + example.len();
    let is_random = |rest: &str| {
        rest.split(|letter: char| !letter.is_ascii_alphanumeric()).any(|run| {
            run.len() >= RANDOM
                && has_digit(run)
                && run.contains(|letter: char| letter.is_ascii_lowercase())
                && run.contains(|letter: char| letter.is_ascii_uppercase())
        })
    };
    // In capitals it stands at the end of the examples of vendors, which look random otherwise.
    &value[start..end] == "EXAMPLE" || !is_random(&value[..start]) && !is_random(&value[end..])
}

/// True when a value that a name announces is none: an example in words, a
/// reference, or the name of a secret.
pub(super) fn is_named_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let mut words = lower.split(|letter: char| !letter.is_alphabetic());
    is_placeholder(value)
        || REFERENCES.iter().any(|reference| lower.starts_with(reference))
        || is_words(value) && words.any(|word| TELLING.contains(&word))
        || is_path(value)
        || lower.contains("/secrets/")
}

/// True for small words with slashes between them.
fn is_path(value: &str) -> bool {
    value.contains('/')
        && value.len() < 80
        && value.bytes().all(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'/' | b'-' | b'_' | b'.')
        })
}

/// True for the word for a password in any language, and for other letters than Latin
/// ones, in which no password is typed.
fn is_label(value: &str, lower: &str) -> bool {
    let is_foreign = !value.is_ascii() && !has_letter(value);
    let is_named = || {
        let mut words = FOREIGN.iter().chain(&LABELS);
        words.any(|word| lower.contains(&word.trim_end_matches([':', ' ']).to_lowercase()))
    };
    is_foreign && (!has_digit(value) || value.contains(['(', '\u{ff08}']))
        || !has_digit(value) && is_words(value) && is_named()
}

/// True for words that people are shown: a label, a question, a sentence.
pub(super) fn is_shown(value: &str) -> bool {
    let lower = value.to_lowercase();
    let has_sign = value.ends_with(['?', ':', '.', '\u{2026}']);
    let is_sentence = value.starts_with(|letter: char| letter.is_uppercase()) && !has_digit(value);
    let is_spoken = value.contains(' ');
    is_label(value, &lower)
        || is_spoken && (has_sign || is_sentence || TELLS.iter().any(|word| lower.contains(word)))
        || !has_digit(value) && lower.ends_with(':')
        || !has_digit(value) && is_words(value) && lower.contains("pass")
        || lower.contains('|') && lower.contains("required")
}
