//! Splits text into what a reader sees as single characters, so that a cut never falls inside one.
//!
//! An approximation of Unicode's grapheme clusters that needs no tables beyond character widths: marks stay
//! with their base, joined emoji, skin tones and flags stay whole.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Returns the visible characters of the text in order, each with the columns it takes.
pub(crate) fn clusters(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let length = first_length(rest)?;
        let (cluster, after) = rest.split_at(length);
        rest = after;
        Some((cluster, cluster.width()))
    })
}

/// Returns the length in bytes of the first visible character, or `None` at the end.
fn first_length(text: &str) -> Option<usize> {
    let mut characters = text.char_indices();
    let (_, mut last) = characters.next()?;
    let mut is_half_flag = is_flag_letter(last);
    for (position, character) in characters {
        let completes_flag = is_half_flag && is_flag_letter(character);
        if !completes_flag && !extends(last, character) {
            return Some(position);
        }
        is_half_flag = false;
        last = character;
    }
    Some(text.len())
}

/// Tells whether the character is drawn as part of what comes before it.
fn extends(last: char, character: char) -> bool {
    let is_skin_tone = matches!(character, '\u{1f3fb}'..='\u{1f3ff}');
    is_skin_tone || (last == '\u{200d}' && !character.is_ascii()) || character.width() == Some(0)
}

/// Tells whether the character is half of a flag.
fn is_flag_letter(character: char) -> bool {
    matches!(character, '\u{1f1e6}'..='\u{1f1ff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visible_character_stays_whole() {
        let text = "ae\u{301}日👩‍👩‍👧👍🏽❤️🇵🇹🇯🇵한";

        let expected = vec![
            ("a", 1),
            ("e\u{301}", 1),
            ("日", 2),
            ("👩‍👩‍👧", 2),
            ("👍🏽", 2),
            ("❤️", 2),
            ("🇵🇹", 2),
            ("🇯🇵", 2),
            ("한", 2),
        ];
        assert_eq!(clusters(text).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn no_text_has_no_characters() {
        assert_eq!(clusters("").collect::<Vec<_>>(), vec![]);
    }
}
