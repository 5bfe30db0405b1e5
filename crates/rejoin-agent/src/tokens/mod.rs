//! How many tokens a text or a request takes, without asking anyone.
//!
//! Texts are counted with the vocabulary of OpenAI's models, which is part of the program. [`Estimate`] knows
//! what a provider adds to the words, and how far other models are from that vocabulary.

mod estimate;
mod images;
mod shown;

pub use estimate::Estimate;

/// The tokens of a text by the vocabulary of OpenAI's models. The first call
/// takes a fifth of a second to read it.
#[cfg(feature = "tiktoken")]
pub(crate) fn count(text: &str) -> u64 {
    // The vocabulary never changes, so one copy for the whole process is no shared state.
    let vocabulary = tiktoken_rs::o200k_base_singleton();
    pieces(text).map(|piece| vocabulary.count_ordinary(piece) as u64).sum()
}

/// The tokens of a text when no vocabulary is built in: four bytes are about one.
#[cfg(not(feature = "tiktoken"))]
pub(crate) fn count(text: &str) -> u64 {
    text.len().div_ceil(4) as u64
}

/// A number that [`count`] never exceeds, without reading the vocabulary: a token is at least one byte.
pub(crate) const fn at_most(text: &str) -> u64 {
    text.len() as u64
}

/// The longest run without a change between words and white space that is encoded as one.
///
/// The encoder panics at a few hundred thousand spaces in a row, and takes more than linear time for a long
/// word. Nothing that people or compilers write has such runs, and a cut costs at most one token.
#[cfg(feature = "tiktoken")]
const LONGEST_RUN: usize = 1024;

/// Cuts a text so that no run of words or of white space is longer than [`LONGEST_RUN`].
#[cfg(feature = "tiktoken")]
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, left) = rest.split_at(run_end(rest));
        rest = left;
        Some(piece)
    })
}

/// Where the first run that is too long has to be cut, or the end.
#[cfg(feature = "tiktoken")]
fn run_end(text: &str) -> usize {
    let (mut start, mut is_space) = (0, false);
    for (place, letter) in text.char_indices() {
        if letter.is_whitespace() != is_space {
            (start, is_space) = (place, !is_space);
        } else if place - start >= LONGEST_RUN {
            return place;
        }
    }
    text.len()
}

#[cfg(all(test, feature = "tiktoken"))]
mod recorded;
#[cfg(test)]
mod tests;
