//! Which of the user's messages stay, and how a long one is cut.

use crate::model::MessageId;
use crate::ops::compact::Count;
use crate::ops::view::Kept;

/// Chooses from the newest back, whole, until the budget is used up. The first that does not fit is cut in the middle,
/// and it is the last that is looked at. They come back oldest first.
pub fn select(messages: &[(MessageId, String)], budget: u64, count: &Count<'_>) -> Vec<Kept> {
    let mut kept = Vec::new();
    let mut left = budget;
    for (message, text) in messages.iter().rev() {
        let tokens = count(text);
        if tokens <= left {
            left -= tokens;
            kept.push(Kept { message: *message, text: None });
            continue;
        }
        if let Some(text) = truncate_middle(text, left, count) {
            kept.push(Kept { message: *message, text: Some(text) });
        }
        break;
    }
    kept.reverse();
    kept
}

/// Cuts the middle out of a text so that it takes at most `most` tokens: the same share of its beginning and its end
/// stays, with a marker between that says how many characters are missing. None when not even the marker fits.
pub fn truncate_middle(text: &str, most: u64, count: &Count<'_>) -> Option<String> {
    if count(text) <= most {
        return Some(text.to_owned());
    }
    let letters = text.chars().count();
    // The longest cut that fits: more characters never take fewer tokens by much, so halving finds it.
    let (mut fits, mut too_long) = (None, letters);
    let mut least = 0;
    while least < too_long {
        let middle = least + (too_long - least) / 2;
        let cut = cut(text, letters, middle);
        if count(&cut) <= most {
            fits = Some(cut);
            least = middle + 1;
        } else {
            too_long = middle;
        }
    }
    fits
}

/// Keeps `kept` characters, half at each end.
fn cut(text: &str, letters: usize, kept: usize) -> String {
    let head = kept / 2;
    let tail = kept - head;
    let beginning: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(letters - tail).collect();
    format!("{beginning}\n\n[... {} characters truncated ...]\n\n{end}", letters - kept)
}
