//! Words to find a conversation by.

use std::collections::HashMap;

use crate::model::{Role, each_sentence, each_word, is_common_word, word_root};
use crate::ops::synopsis::SynopsisMessage;

/// How many words.
const MOST: usize = 8;

/// A bound on memory: words that come first are enough to judge by.
const MOST_DIFFERENT: usize = 20_000;

/// What is counted about a word.
struct KeywordCount {
    /// The form it was first seen in.
    form: String,
    weight: u32,
    first_seen: usize,
}

/// The words that were said most often, those of the person counted twice; common words are left out.
pub(super) fn keywords(said: &[SynopsisMessage]) -> Vec<String> {
    let mut counts: HashMap<String, KeywordCount> = HashMap::new();
    for said in said {
        let weight = if said.role == Role::User { 2 } else { 1 };
        each_sentence(&said.text, |sentence| {
            each_term(sentence, |term| {
                let next = counts.len();
                let root = word_root(term);
                if next >= MOST_DIFFERENT && !counts.contains_key(&root) {
                    return;
                }
                let new = || KeywordCount { form: term.to_owned(), weight: 0, first_seen: next };
                let count = counts.entry(root).or_insert_with(new);
                count.weight = count.weight.saturating_add(weight);
                // The shorter form is the one to show: `bicycle` rather than `bicycles`.
                if term.len() < count.form.len() {
                    term.clone_into(&mut count.form);
                }
            });
        });
    }
    let mut all: Vec<KeywordCount> = counts.into_values().collect();
    all.sort_by_key(|count| (std::cmp::Reverse(count.weight), count.first_seen));
    all.into_iter().take(MOST).map(|count| count.form).collect()
}

/// Words of letters that mean something. Where words are written without
/// spaces, pairs of characters stand for them.
fn each_term(sentence: &str, mut visit: impl FnMut(&str)) {
    let mut before: Option<String> = None;
    each_word(sentence, |word| {
        let is_single = word.chars().nth(1).is_none();
        if is_common_word(word) || word.bytes().all(|letter| letter.is_ascii_digit()) {
            before = None;
        } else if is_single && !word.is_ascii() {
            if let Some(before) = &before {
                visit(&format!("{before}{word}"));
            }
            before = Some(word.to_owned());
        } else {
            before = None;
            if !is_single && word.len() <= 40 {
                visit(word);
            }
        }
    });
}
