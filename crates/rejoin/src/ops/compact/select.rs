//! Which of the user's messages stay, and how a long one is cut.

use crate::ops::compact::CountTokens;

/// A text that stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selected {
    /// Which, among those that were to choose from.
    pub place: usize,
    /// What is left of it when it had to be cut.
    pub cut: Option<String>,
}

/// Chooses from the newest back, whole, until the budget is used up. The first that does not fit is cut in
/// the middle, and it is the last that is looked at. They come back oldest first, as they were given.
pub(crate) fn select<T: AsRef<str>>(texts: &[T], budget: u64, count: &CountTokens<'_>) -> Vec<Selected> {
    let mut selected = Vec::new();
    let mut left = budget;
    for (place, text) in texts.iter().enumerate().rev() {
        let tokens = count(text.as_ref());
        if tokens <= left {
            left -= tokens;
            selected.push(Selected { place, cut: None });
            continue;
        }
        if let Some(cut) = truncate_middle(text.as_ref(), left, count) {
            selected.push(Selected { place, cut: Some(cut) });
        }
        break;
    }
    selected.reverse();
    selected
}

/// Cuts the middle out of a text so that it takes at most `most` tokens. Of the characters that would fit,
/// four tenths stay at the beginning and four at the end, and the rest is room for a marker that says how
/// many characters are missing. None when not even the marker fits.
pub(crate) fn truncate_middle(text: &str, most: u64, count: &CountTokens<'_>) -> Option<String> {
    let tokens = count(text);
    if tokens <= most {
        return Some(text.to_owned());
    }
    let letters: Vec<usize> = text.char_indices().map(|(place, _)| place).collect();
    let mut fitting = proportion(letters.len(), most, tokens);
    loop {
        let cut = cut(text, &letters, fitting * 4 / 10);
        if count(&cut) <= most {
            return Some(cut);
        }
        if fitting == 0 {
            return None;
        }
        // The ends may hold more tokens to a character than the whole.
        fitting = fitting * 9 / 10;
    }
}

/// `length · part / whole`, without overflow.
fn proportion(length: usize, part: u64, whole: u64) -> usize {
    let share = length as u128 * u128::from(part) / u128::from(whole);
    usize::try_from(share).expect("a part of a length is no longer than it")
}

/// Keeps so many characters at each end.
fn cut(text: &str, letters: &[usize], end: usize) -> String {
    let at = |letter: usize| letters.get(letter).copied().unwrap_or(text.len());
    let (beginning, rest) = (&text[..at(end)], &text[at(letters.len() - end)..]);
    format!("{beginning}\n\n[... {} characters truncated ...]\n\n{rest}", letters.len() - 2 * end)
}
