//! The public face of what is known about text.

use crate::model::{each_sentence, each_word, is_common_word, is_invisible, preview, slug, word_root, words};

/// Lines and characters of a tool's answer.
const LINES: usize = 8;
const LINE: usize = 300;

/// How the library reads text: the words of a search, the sentences and roots of words of computed titles,
/// and what lists show.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PlainText;

impl PlainText {
    /// Characters of a tool's arguments that a transcript shows: enough to recognise them.
    pub const SHORT_ARGUMENTS: usize = 120;

    /// The words of a text, in order: lower case, without accents, letters and digits only.
    ///
    /// Scripts written without spaces give one word per character.
    pub fn words(text: &str) -> Vec<String> {
        words(text)
    }

    /// Calls `visit` with each of the [words](Self::words) of a text, its root, and whether it is a common
    /// word.
    ///
    /// Forms of a word share a root, which need not be a word itself: `bicycles` and `bicycle`, `painted` and
    /// `painting`, `colour` and `color`. A common word says nothing by itself, such as `the`.
    pub fn each_word(text: &str, mut visit: impl FnMut(&str, &str, bool)) {
        each_word(text, |word| visit(word, &word_root(word), is_common_word(word)));
    }

    /// Calls `visit` with each sentence of a text, without the white space around it.
    ///
    /// A sentence ends at a line's end, and at a full stop, question mark or exclamation mark that a space
    /// follows. Scripts that write these marks without a space after them are understood.
    pub fn each_sentence<'a>(text: &'a str, visit: impl FnMut(&'a str)) {
        each_sentence(text, visit);
    }

    /// The first 100 characters of a text on one line, with `...` when there is more.
    pub fn preview(text: &str) -> String {
        preview(text)
    }

    /// Turns a title into words joined by hyphens, so that it can be typed as a name: `Lisbon, on a budget` →
    /// `lisbon-on-a-budget`.
    pub fn slug(title: &str) -> String {
        slug(title)
    }

    /// True for a character without a shape, which could only hide, reorder or smuggle text. Control
    /// characters are not among them, and variation selectors are not.
    pub fn is_invisible(character: char) -> bool {
        is_invisible(character)
    }

    /// The beginning of what a tool answered, as a transcript shows it: its first lines, the longest of them
    /// cut; and how many more lines there are.
    pub fn beginning(text: &str) -> (Vec<String>, u64) {
        beginning(text)
    }
}

pub(crate) fn beginning(text: &str) -> (Vec<String>, u64) {
    let line = |line: &str| match line.char_indices().nth(LINE) {
        None => line.to_owned(),
        Some((end, _)) => format!("{}...", &line[..end]),
    };
    let mut lines = text.lines();
    (lines.by_ref().take(LINES).map(line).collect(), lines.count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_told_with_its_root() {
        let mut found = Vec::new();
        PlainText::each_word("The Bicycles", |word, root, is_common| {
            found.push(format!("{word} {root} {is_common}"));
        });

        assert_eq!(found, ["the the true", "bicycles bicycl false"]);
    }

    #[test]
    fn the_beginning_of_an_answer_is_eight_lines() {
        let text = format!("{}\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", "é".repeat(301));

        let (lines, more) = beginning(&text);

        assert_eq!((lines.len(), more, lines[0].chars().count()), (8, 2, 303));
    }
}
