//! What the name of a value says about it: that it is a password, a key, or perhaps one.

use crate::ops::redact::find::table::names::{KEY, SHORT, SHOWN, STEMS, STORED, TOKENS};

/// How secret a name says that its value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Secrecy {
    /// Something a person may have made up.
    Password,
    /// Something a program has made.
    Key,
    /// The name is used for other things, too, so the value has to look random.
    Maybe,
}

/// How a name is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameStyle {
    /// As one word.
    Written,
    /// As several words with spaces between them, as people speak.
    Spoken,
}

/// How secret a name says that its value is; none when it does not.
pub(super) fn secrecy(name: &str, kind: NameStyle) -> Option<Secrecy> {
    if !may_tell(name.as_bytes()) {
        return None;
    }
    let plain = plain(name);
    let plain = plain.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let last = plain.bytes().last()?;
    let mut near = STEMS.iter().filter(|stem| stem.word.as_bytes()[stem.word.len() - 1] == last);
    let (stem, before) = near.find_map(|stem| plain.strip_suffix(stem.word).map(|before| (stem, before)))?;
    let ends = |words: &[&str]| words.iter().any(|word| before.ends_with(word));
    let is_part = SHORT.contains(&stem.word) && !is_whole(name, stem.word);
    match (stem.alone, kind) {
        _ if is_part || ends(stem.harmless) || is_shown(name) => None,
        _ if ends(stem.strong) => KEY,
        // Any word before a token tells whose it is.
        (Some(Secrecy::Maybe), NameStyle::Written) if stem.word == "token" && !before.is_empty() => KEY,
        (Some(Secrecy::Maybe), NameStyle::Spoken) => KEY.filter(|_| stem.word == "token" && ends(TOKENS)),
        (alone, _) => alone,
    }
}

/// True for the plain name of a key under which something may be stored.
pub(super) fn is_stored_key(plain: &str) -> bool {
    plain.strip_suffix("key").is_some_and(|before| STORED.iter().any(|word| before.ends_with(word)))
}

/// True when the last two letters of a name are those of a word that tells a secret, which is soon seen.
pub(super) fn may_tell(name: &[u8]) -> bool {
    let end = name.iter().rposition(u8::is_ascii_alphabetic).map_or(0, |last| last + 1);
    let Some(last) = name[..end].last_chunk::<2>().filter(|last| last[0].is_ascii_alphabetic()) else {
        return false;
    };
    let [one, two] = last.map(|byte| byte.to_ascii_lowercase() - b'a');
    LAST_LETTERS[usize::from(one)] & 1 << two != 0
}

/// For each letter, which ones follow it at the end of a word that tells a secret.
const LAST_LETTERS: [u32; 26] = last_letters();

const fn last_letters() -> [u32; 26] {
    let mut pairs = [0; 26];
    let mut at = 0;
    while at < STEMS.len() {
        let word = STEMS[at].word.as_bytes();
        pairs[(word[word.len() - 2] - b'a') as usize] |= 1 << (word[word.len() - 1] - b'a');
        at += 1;
    }
    pairs
}

/// A name without the signs between its words, in small letters.
pub(super) fn plain(name: &str) -> String {
    let letters = name.bytes().filter(u8::is_ascii_alphanumeric);
    letters.map(|letter| char::from(letter.to_ascii_lowercase())).collect()
}

/// True when the first word of a name says that its value is shown to people.
fn is_shown(name: &str) -> bool {
    let is_sign = |letter: char| matches!(letter, '_' | '-' | '.');
    let name = name.trim_start_matches(is_sign);
    let upper = name.bytes().skip(1).position(|byte| byte.is_ascii_uppercase());
    let is_loud = name.bytes().take(2).all(|byte| byte.is_ascii_uppercase());
    let end = name.find(is_sign).into_iter().chain(upper.filter(|_| !is_loud).map(|at| at + 1)).min();
    end.is_some_and(|end| SHOWN.iter().any(|word| name[..end].eq_ignore_ascii_case(word)))
}

/// True when a word that a name ends with is one of its own.
fn is_whole(name: &str, word: &str) -> bool {
    let name = name.trim_end_matches(|letter: char| !letter.is_ascii_alphabetic());
    let Some(start) = name.len().checked_sub(word.len()) else { return false };
    let is_capital = name.as_bytes()[start].is_ascii_uppercase();
    match name.as_bytes()[..start].last() {
        None => true,
        Some(before) => !before.is_ascii_alphabetic() || is_capital && before.is_ascii_lowercase(),
    }
}
