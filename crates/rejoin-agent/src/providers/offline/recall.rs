//! Finds the earlier statements that answer a question.
//!
//! Words count by how rare they are in the conversation. More than half of that weight must
//! be in a statement; one shared word is not an answer. Among equals the newest comes
//! first, because people change their minds.

use rejoin::view::Viewed;
use rejoin::{MessageId, PlainText, Role};

use crate::providers::offline::is_own;
use crate::providers::offline::question::{Question, is_negated, is_question};

/// How many statements are quoted.
const MOST: usize = 3;

/// How much text is looked through, newest first: a bound on time, far above a long conversation.
const MOST_BYTES: usize = 32 << 20;

/// Longer runs without an end are data, not sentences.
const LONGEST_STATEMENT: usize = 2_000;

/// A conversation of a few sentences cannot tell rare words from common ones, so
/// it counts as one with these many more.
const BACKGROUND: f64 = 50.0;

/// What holding the kind of thing that is asked for is worth, as a part of all words.
const KIND_BONUS: f64 = 0.6;

/// A statement that is worth less than this part of the best one is left out.
const CLOSE_ENOUGH: f64 = 0.75;

/// A statement that was made before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RecalledStatement<'a> {
    pub(super) statement: &'a str,
    pub(super) role: Role,
    pub(super) id: Option<MessageId>,
}

/// The statements that answer, best first.
pub(super) fn recall<'a>(question: &Question, messages: &'a [Viewed<'a>]) -> Vec<RecalledStatement<'a>> {
    if question.terms.is_empty() {
        return Vec::new();
    }
    let (candidates, statements) = candidates(question, messages);
    let weights = weights(question, &candidates, statements);
    let mut worth: Vec<(f64, &RecallCandidate<'a>)> = candidates
        .iter()
        .filter_map(|candidate| Some((worth(question, candidate, &weights)?, candidate)))
        .collect();
    // Candidates were found newest first, and the sort keeps that order among equals.
    worth.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let least = worth.first().map_or(0.0, |(best, _)| best * CLOSE_ENOUGH);
    let mut chosen: Vec<RecalledStatement<'a>> = Vec::new();
    for (_, candidate) in worth.iter().filter(|(worth, _)| *worth >= least) {
        let is_repeated = chosen.iter().any(|memory| same_words(memory.statement, candidate.statement));
        if !is_repeated && chosen.len() < MOST {
            chosen.push(RecalledStatement {
                statement: candidate.statement,
                role: messages[candidate.message].message.role,
                id: messages[candidate.message].id,
            });
        }
    }
    chosen
}

/// A statement that shares a word with the question.
struct RecallCandidate<'a> {
    statement: &'a str,
    /// The message's place in the conversation.
    message: usize,
    /// Which terms it holds, one bit each.
    terms: u64,
    has_attribute: bool,
    has_kind: bool,
    is_negated: bool,
}

/// The statements that share a word with the question, newest first, and how many statements there are.
fn candidates<'a>(question: &Question, messages: &'a [Viewed<'a>]) -> (Vec<RecallCandidate<'a>>, usize) {
    let mut found = Vec::new();
    let mut seen = 0;
    let mut bytes = 0;
    let messages = messages.iter().map(|viewed| viewed.message.as_ref());
    for (place, message) in messages.enumerate().rev() {
        if bytes > MOST_BYTES || !matches!(message.role, Role::User | Role::Assistant) || is_own(message) {
            continue;
        }
        let first = found.len();
        for text in message.blocks.iter().filter_map(text_of) {
            bytes += text.len();
            for statement in statements(text) {
                seen += 1;
                found.extend(candidate(question, statement, place));
            }
        }
        // Inside a message what was said last is the newest.
        found[first..].reverse();
    }
    (found, seen)
}

fn text_of(block: &rejoin::Block) -> Option<&str> {
    match block {
        rejoin::Block::Text(block) => Some(&block.text),
        _ => None,
    }
}

/// The sentences that state something. One that begins with a pronoun belongs to the one before it.
fn statements(text: &str) -> Vec<&str> {
    const PRONOUNS: &[&str] = &["it ", "it's ", "they ", "he ", "she ", "its ", "his ", "her ", "their "];
    let mut all: Vec<&str> = Vec::new();
    PlainText::each_sentence(text, |sentence| {
        if is_question(sentence) {
            return;
        }
        let begins_with = |pronoun: &&str| {
            sentence.get(..pronoun.len()).is_some_and(|start| start.eq_ignore_ascii_case(pronoun))
        };
        match all.last_mut() {
            Some(before) if PRONOUNS.iter().any(begins_with) => {
                let (start, end) = (place_in(text, before), place_in(text, sentence) + sentence.len());
                if end - start <= LONGEST_STATEMENT {
                    *before = &text[start..end];
                    return;
                }
                all.push(sentence);
            }
            _ => all.push(sentence),
        }
    });
    all
}

/// Where a part of a text begins.
fn place_in(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

fn candidate<'a>(question: &Question, statement: &'a str, message: usize) -> Option<RecallCandidate<'a>> {
    let mut candidate = RecallCandidate {
        statement,
        message,
        terms: 0,
        has_attribute: false,
        has_kind: false,
        is_negated: false,
    };
    let mut looked_at = statement.len().min(LONGEST_STATEMENT);
    while !statement.is_char_boundary(looked_at) {
        looked_at -= 1;
    }
    PlainText::each_word(&statement[..looked_at], |word, root, _| {
        for (place, term) in question.terms.iter().enumerate() {
            if term.root == root {
                candidate.terms |= 1 << place;
            }
        }
        candidate.has_attribute |= question.attribute.as_deref() == Some(root);
        candidate.has_kind |= question.kind.is_some_and(|kind| kind.is_in(word) || kind.is_in(root));
    });
    if candidate.terms == 0 {
        return None;
    }
    candidate.is_negated = is_negated(&PlainText::words(&statement[..looked_at]), 0);
    Some(candidate)
}

/// What each term is worth: more, the fewer statements hold it.
fn weights(question: &Question, candidates: &[RecallCandidate<'_>], statements: usize) -> Vec<f64> {
    let all = statements as f64 + BACKGROUND;
    let holding =
        |place: usize| candidates.iter().filter(|candidate| candidate.terms & (1 << place) != 0).count();
    (0..question.terms.len())
        .map(|place| {
            let holding = holding(place) as f64;
            (1.0 + (all - holding + 0.5) / (holding + 0.5)).ln()
        })
        .collect()
}

/// How well a statement answers; none when it does not.
fn worth(question: &Question, candidate: &RecallCandidate<'_>, weights: &[f64]) -> Option<f64> {
    let holds = |place: &usize| candidate.terms & (1 << place) != 0;
    let lacks_needed =
        question.terms.iter().enumerate().any(|(place, term)| term.is_needed && !holds(&place));
    if lacks_needed || (question.is_negated && !candidate.is_negated) {
        return None;
    }
    let total: f64 = weights.iter().sum();
    let held: f64 = (0..weights.len()).filter(holds).map(|place| weights[place]).sum();
    let covered = held / total;
    let bonus = if candidate.has_kind || candidate.has_attribute { KIND_BONUS } else { 0.0 };
    (covered > 0.5).then_some(covered + bonus)
}

fn same_words(one: &str, other: &str) -> bool {
    PlainText::words(one) == PlainText::words(other)
}
