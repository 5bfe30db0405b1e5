//! What is shown of long things: the same on a screen and in a transcript.

use crate::model::PlainText;

/// Characters of a tool's arguments: enough to recognise them.
pub(super) const SHORT_ARGUMENTS: usize = PlainText::SHORT_ARGUMENTS;

/// A text on one line, cut after so many characters.
pub(super) fn brief(text: &str, characters: usize) -> String {
    // White space is folded, so the margin only bounds the work.
    let enough = text.char_indices().nth(characters.saturating_mul(8)).map_or(text.len(), |(end, _)| end);
    let mut line = text[..enough].split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = line.char_indices().nth(characters) {
        line.truncate(end);
        line.push_str("...");
    } else if enough < text.len() {
        line.push_str("...");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_brief_text_is_one_line() {
        assert_eq!([brief(" a\n b ", 9), brief("abcdef", 3)], ["a b", "abc..."]);
    }
}
