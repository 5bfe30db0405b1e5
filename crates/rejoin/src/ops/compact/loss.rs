//! The loss report: what was there before a compaction and is not mentioned after it. Computed, not asked of a model.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::model::{Block, Role};
use crate::ops::view::View;

/// Something a reader may want back: a path, a name, a number, an address, an instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fact {
    /// What kind of thing it is.
    pub kind: FactKind,
    /// How it was written.
    pub text: String,
}

/// What kind of thing a fact is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FactKind {
    /// An address on the web.
    Url,
    /// A file or directory.
    Path,
    /// A name of a program's making, such as `parse_line` or `HttpClient`.
    Identifier,
    /// A number with at least two digits, or with a unit.
    Number,
    /// Words in quotation marks or backticks.
    Quote,
    /// A sentence of the user that tells what to do or not to do.
    Instruction,
}

impl FactKind {
    /// The kind's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Url => "url",
            Self::Path => "path",
            Self::Identifier => "identifier",
            Self::Number => "number",
            Self::Quote => "quote",
            Self::Instruction => "instruction",
        }
    }
}

/// The facts that the view had before and does not mention after, in order of their first appearance. Sentences of the
/// user are looked at for instructions too.
pub fn lost(before: &View<'_>, after: &View<'_>) -> Vec<Fact> {
    let words = |view: &View<'_>| {
        let blocks = view.messages.iter().flat_map(|viewed| &viewed.message.blocks);
        blocks.filter_map(Block::words).collect::<Vec<_>>().join("\n")
    };
    let spoken = before.messages.iter().filter(|viewed| viewed.message.role == Role::User);
    let said: Vec<String> = spoken.map(|viewed| viewed.message.text()).collect();
    missing(&words(before), &said.join("\n"), &words(after))
}

pub(super) fn missing(before: &str, said: &str, after: &str) -> Vec<Fact> {
    let mut seen = HashSet::new();
    let facts = facts(before).into_iter().chain(instructions(said));
    facts.filter(|fact| seen.insert(fact.clone()) && !mentions(after, &fact.text)).collect()
}

/// True when a text holds these very words, not as a part of a longer name or number.
fn mentions(text: &str, words: &str) -> bool {
    text.match_indices(words).any(|(place, _)| {
        let before = text[..place].chars().next_back();
        let after = text[place + words.len()..].chars().next();
        !continues(before, words.chars().next()) && !continues(words.chars().next_back(), after)
    })
}

/// True when two neighbouring characters belong to one name or number.
fn continues(left: Option<char>, right: Option<char>) -> bool {
    let is_part =
        |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    is_part(left) && is_part(right)
}

fn facts(text: &str) -> Vec<Fact> {
    let mut facts = quotes(text);
    for word in text.split(|letter: char| letter.is_whitespace() || "\"`<>|{}()[],;".contains(letter)) {
        let word = word.trim_matches(|letter: char| "'*!?:=".contains(letter)).trim_end_matches('.');
        if let Some(kind) = kind_of(word) {
            facts.push(Fact { kind, text: word.to_owned() });
        }
    }
    facts
}

fn kind_of(word: &str) -> Option<FactKind> {
    if word.len() < 2 || word.len() > 300 {
        return None;
    }
    if word.starts_with("http://") || word.starts_with("https://") {
        return Some(FactKind::Url);
    }
    if is_number(word) {
        return Some(FactKind::Number);
    }
    if is_path(word) {
        return Some(FactKind::Path);
    }
    is_identifier(word).then_some(FactKind::Identifier)
}

fn is_number(word: &str) -> bool {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let letters = word.chars().filter(|letter| letter.is_alphabetic()).count();
    let begins = word
        .trim_start_matches(['-', '+', '$', '€', '£', 'v'])
        .starts_with(|letter: char| letter.is_ascii_digit());
    begins && (digits >= 2 || letters > 0 || word.contains('%')) && letters <= 4
}

fn is_path(word: &str) -> bool {
    let has_name = word.chars().any(char::is_alphanumeric);
    let is_dotted = word.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty()
            && (1..=5).contains(&ending.len())
            && ending.chars().all(|letter| letter.is_ascii_alphanumeric())
            && ending.chars().any(|letter| letter.is_ascii_alphabetic())
            && stem.chars().all(|letter| letter.is_alphanumeric() || "._-/~".contains(letter))
    });
    has_name && (is_dotted || (word.contains('/') && word.len() > 2 && !word.contains("//")))
}

fn is_identifier(word: &str) -> bool {
    let plain = word.chars().all(|letter| letter.is_alphanumeric() || "_:-.".contains(letter));
    let has_letter = word.chars().any(char::is_alphabetic);
    let has_inner_mark = word.trim_matches('_').contains('_') || word.contains("::");
    let lower_then_upper = word
        .chars()
        .zip(word.chars().skip(1))
        .any(|(left, right)| left.is_lowercase() && right.is_uppercase());
    let mixes_digits = word.chars().any(|letter| letter.is_ascii_digit()) && word.len() >= 4;
    plain && has_letter && (has_inner_mark || lower_then_upper || mixes_digits)
}

/// Words between backticks or double quotation marks, on one line.
fn quotes(text: &str) -> Vec<Fact> {
    let mut quotes = Vec::new();
    for mark in ['`', '"'] {
        for line in text.lines() {
            let pieces: Vec<&str> = line.split(mark).collect();
            // Marks come in pairs; what stands after an odd one at the end of a line is open.
            for piece in pieces.iter().skip(1).step_by(2).take(pieces.len().saturating_sub(1) / 2) {
                let words = piece.trim();
                if (2..=200).contains(&words.chars().count()) {
                    quotes.push(Fact { kind: FactKind::Quote, text: words.to_owned() });
                }
            }
        }
    }
    quotes
}

/// Words that make a sentence of a user an instruction.
const ORDERS: [&str; 12] = [
    "always",
    "never",
    "must",
    "don't",
    "do not",
    "only",
    "make sure",
    "remember",
    "prefer",
    "avoid",
    "decided",
    "instead of",
];

fn instructions(said: &str) -> Vec<Fact> {
    let sentences = said.split_inclusive(['.', '!', '?', '\n']).map(str::trim);
    let orders = sentences.filter(|sentence| {
        let lower = sentence.to_lowercase();
        (8..=300).contains(&sentence.chars().count()) && ORDERS.iter().any(|order| mentions(&lower, order))
    });
    orders.map(|sentence| Fact { kind: FactKind::Instruction, text: sentence.to_owned() }).collect()
}
