//! The one tokenizer: how text becomes words that can be searched for, in every store.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Raised when the words of the same text change, so that indexes are built again.
pub(crate) const WORDS_VERSION: u32 = 1;

/// Longer runs are encoded data, not words; cutting them bounds the index, and a query is cut alike.
const LONGEST: usize = 64;

/// Calls `visit` with each word of `text`: lower case, without accents, letters and digits only.
///
/// Scripts written without spaces give one word per character.
pub(crate) fn each_word(text: &str, mut visit: impl FnMut(&str)) {
    let mut word = String::new();
    let mut letters = 0;
    let mut flush = |word: &mut String, letters: &mut usize| {
        if !word.is_empty() {
            visit(word);
            word.clear();
        }
        *letters = 0;
    };
    // ASCII is most of what is stored, and needs no decomposition.
    let mut push = |letter: char, word: &mut String, letters: &mut usize| {
        if letter.is_alphanumeric() {
            if stands_alone(letter) {
                flush(word, letters);
                word.push(letter);
                flush(word, letters);
            } else {
                if *letters < LONGEST && letter.is_ascii() {
                    word.push(letter.to_ascii_lowercase());
                } else if *letters < LONGEST {
                    word.extend(letter.to_lowercase().filter(|letter| !is_combining_mark(*letter)));
                }
                *letters += 1;
            }
        } else if !is_combining_mark(letter) {
            flush(word, letters);
        }
    };
    for letter in text.chars() {
        if letter.is_ascii() {
            push(letter, &mut word, &mut letters);
        } else {
            for part in std::iter::once(letter).nfkd() {
                push(part, &mut word, &mut letters);
            }
        }
    }
    push(' ', &mut word, &mut letters);
}

/// The words of a text, in order.
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    each_word(text, |word| all.push(word.to_owned()));
    all
}

/// Han, Hiragana, Katakana, Thai, Lao, Khmer and Myanmar: no spaces between words.
const fn stands_alone(letter: char) -> bool {
    matches!(letter,
        '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' | '\u{3040}'..='\u{30FF}'
        | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

/// What to look for: every word, the last one also as the beginning of a longer word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordQuery {
    words: Vec<String>,
    last_is_prefix: bool,
}

impl WordQuery {
    /// Reads a query. While the last word is still being typed it matches longer words
    /// too; a trailing space or mark ends it.
    pub fn parse(text: &str) -> Self {
        let words = words(text);
        let last_is_prefix = text.chars().next_back().is_some_and(char::is_alphanumeric);
        Self { words, last_is_prefix }
    }

    /// The words, in order.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// True when the last word may be the beginning of a longer one.
    pub const fn last_is_prefix(&self) -> bool {
        self.last_is_prefix
    }

    /// True when `text` holds every word. A query without words matches nothing.
    pub fn matches(&self, text: &str) -> bool {
        let Some((last, whole)) = self.words.split_last() else { return false };
        let mut found = vec![false; whole.len()];
        let mut found_last = false;
        each_word(text, |word| {
            for (found, wanted) in found.iter_mut().zip(whole) {
                *found |= word == wanted;
            }
            found_last |= self.is_last(last, word);
        });
        found_last && found.into_iter().all(|found| found)
    }

    /// True when `word` is one of those looked for.
    pub fn wants(&self, word: &str) -> bool {
        let Some((last, whole)) = self.words.split_last() else { return false };
        whole.iter().any(|wanted| wanted == word) || self.is_last(last, word)
    }

    fn is_last(&self, last: &str, word: &str) -> bool {
        if self.last_is_prefix { word.starts_with(last) } else { word == last }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_are_folded() {
        let read = words("Café SRC/main_loop.rs:42 «Straße» naïve\u{301} 東京タワー \0 ok");

        let expected = [
            "cafe", "src", "main", "loop", "rs", "42", "straße", "naive", "東", "京", "タ", "ワ", "ー", "ok",
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn long_runs_are_cut_alike_in_text_and_query() {
        let run = "a".repeat(200);

        assert_eq!(words(&run), ["a".repeat(LONGEST)]);
        assert!(WordQuery::parse(&run).matches(&format!("x {run} y")));
    }

    #[test]
    fn every_word_must_be_there_and_the_last_may_be_a_beginning() {
        let cases = [
            ("green bicycle", "my bicycle is green", true),
            ("green bicy", "my bicycle is green", true),
            ("green bicy ", "my bicycle is green", false),
            ("gre bicycle", "my bicycle is green", false),
            ("", "anything", false),
            ("?!", "anything", false),
        ];

        let matched = cases.map(|(query, text, _)| WordQuery::parse(query).matches(text));

        assert_eq!(matched, cases.map(|(_, _, expected)| expected));
    }

    proptest! {
        #[test]
        fn words_are_stable(text in "\\PC{0,80}") {
            for word in words(&text) {
                prop_assert_eq!(words(&word), vec![word.clone()]);
                // The full-text index splits at ASCII marks only, so a word must hold none.
                prop_assert!(word.chars().all(|letter| !letter.is_ascii() || letter.is_ascii_alphanumeric()));
            }
        }
    }
}
