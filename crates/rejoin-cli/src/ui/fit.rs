//! Fits text into columns: cut with three dots, padded, or wrapped, never inside a visible character.
//!
//! Widths are those of a terminal, where a Chinese character or an emoji takes two columns. Text is expected
//! to have been through `clean`, except where a function says that it cleans.

use super::{clean, cluster::clusters};

/// What stands for the text that was cut, as the documents show it.
const ELLIPSIS: &str = "...";

/// Characters of a preview: what the list of conversations promises to show.
const PREVIEW_CHARACTERS: usize = 100;

/// Returns the columns the text takes on a terminal.
pub(crate) fn width(text: &str) -> usize {
    clusters(text).map(|(_, columns)| columns).sum()
}

/// Returns the text if it fits, else its beginning and three dots, at most `columns` wide.
pub(crate) fn truncate(text: &str, columns: usize) -> String {
    if fits(text, columns) {
        return text.to_owned();
    }
    let Some(room) = columns.checked_sub(ELLIPSIS.len()) else {
        return ELLIPSIS[..columns].to_owned();
    };
    let (beginning, _) = split_at_column(text, room);
    format!("{}{ELLIPSIS}", beginning.trim_end())
}

/// Cleans stored text into one line of at most `columns`, however long the text is.
pub(crate) fn snippet(text: &str, columns: usize) -> String {
    // Cleaning a megabyte to show one line would make long lists slow. The margin is wide enough for what
    // cleaning removes in ordinary text; at worst the line is shorter than it could be.
    let enough = columns.saturating_mul(8).saturating_add(1000);
    let Some((end, _)) = text.char_indices().nth(enough) else {
        return truncate(&clean::line(text), columns);
    };
    let mut beginning = clean::line(&text[..end]);
    if fits(&beginning, columns) {
        beginning.push_str(ELLIPSIS);
    }
    truncate(&beginning, columns)
}

/// Cleans stored text into one line: its first hundred characters, and three dots if there are more.
pub(crate) fn preview(text: &str) -> String {
    let line = clean::line(text);
    let Some((end, _)) = line.char_indices().nth(PREVIEW_CHARACTERS) else {
        return line;
    };
    let mut beginning = 0;
    for (cluster, _) in clusters(&line) {
        if beginning + cluster.len() > end {
            break;
        }
        beginning += cluster.len();
    }
    format!("{}{ELLIPSIS}", &line[..beginning])
}

/// Returns the text followed by the spaces that fill the columns.
pub(crate) fn pad_right(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Returns the text preceded by the spaces that fill the columns.
pub(crate) fn pad_left(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Breaks each line of the text at spaces so that it fits, and returns all lines.
///
/// A continued line keeps the indentation of its first, so lists and code stay readable. A word longer than
/// the line is broken inside. Nothing but the spaces at a break is lost.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    text.lines().flat_map(|line| wrap_line(line, columns.max(1))).collect()
}

fn wrap_line(line: &str, columns: usize) -> Vec<String> {
    let content = line.trim_start_matches(' ');
    // Deep indentation would leave a column of single letters.
    let indentation = (line.len() - content.len()).min(columns / 2);
    let room = columns - indentation;

    let mut lines = Vec::new();
    let mut rest = content.trim_end();
    loop {
        let (mut piece, mut after) = split_at_column(rest, room);
        let is_inside_a_word = !after.is_empty() && !after.starts_with(' ');
        if is_inside_a_word && let Some(space) = piece.rfind(' ') {
            (piece, after) = rest.split_at(space);
        }
        let piece = piece.trim_end();
        lines.push(if piece.is_empty() { String::new() } else { " ".repeat(indentation) + piece });
        rest = after.trim_start_matches(' ');
        if rest.is_empty() {
            return lines;
        }
    }
}

/// Tells whether the text fits, without reading more of it than that needs.
fn fits(text: &str, columns: usize) -> bool {
    let mut taken = 0;
    clusters(text).all(|(_, width)| {
        taken += width;
        taken <= columns
    })
}

/// Splits the text after the last visible character that ends within the columns, or after the first one if
/// it is wider than all the room there is, so that a caller always gets further.
fn split_at_column(text: &str, columns: usize) -> (&str, &str) {
    let mut taken = 0;
    let mut end = 0;
    for (cluster, width) in clusters(text) {
        if taken + width > columns && end > 0 {
            break;
        }
        taken += width;
        end += cluster.len();
    }
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_leaves_whole_characters_within_the_columns() {
        let cases = [
            ("short", 5, "short"),
            ("shorter", 6, "sho..."),
            ("one two", 7, "one two"),
            ("one two three", 7, "one..."),
            ("日本語日本語", 8, "日本..."),
            ("日本語日本語", 9, "日本語..."),
            ("👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧", 5, "👩‍👩‍👧..."),
            ("e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}", 4, "e\u{301}..."),
            ("anything", 2, ".."),
            ("anything", 0, ""),
            ("", 0, ""),
        ];

        let cut = cases.map(|(text, columns, _)| truncate(text, columns));

        assert_eq!(cut, cases.map(|(_, _, expected)| expected.to_owned()));
    }

    #[test]
    fn a_preview_is_a_hundred_characters_and_three_dots() {
        let exact = "x".repeat(100);

        assert_eq!(preview(&exact), exact);
        assert_eq!(preview(&format!("{exact}y")), format!("{exact}..."));
        assert_eq!(preview("two\nlines\u{1b}[31m"), "two lines");
    }

    #[test]
    fn a_preview_does_not_split_a_visible_character() {
        let text = format!("{}👍🏽 and more", "x".repeat(99));

        assert_eq!(preview(&text), format!("{}...", "x".repeat(99)));
    }

    #[test]
    fn a_snippet_reads_only_the_beginning_of_a_long_text() {
        let blank_beginning = format!("a{}b", " ".repeat(100_000));

        assert_eq!(snippet("  two\nlines of it ", 9), "two li...");
        assert_eq!(snippet(&"word ".repeat(100_000), 12), "word word...");
        assert_eq!(snippet(&blank_beginning, 12), "a...");
    }

    #[test]
    fn padding_counts_columns() {
        assert_eq!(pad_right("日本", 6), "日本  ");
        assert_eq!(pad_left("42", 5), "   42");
        assert_eq!(pad_right("longer", 3), "longer");
    }

    #[test]
    fn lines_break_at_spaces_and_keep_their_indentation() {
        let text = "The quick brown fox.\n\n  - jumps over the dog\nend";

        let expected = ["The quick", "brown fox.", "", "  - jumps", "  over the", "  dog", "end"];
        assert_eq!(wrap(text, 10), expected);
    }

    #[test]
    fn a_word_longer_than_the_line_is_broken_inside() {
        assert_eq!(wrap("see https://example.org/x", 10), ["see", "https://ex", "ample.org/", "x"]);
        assert_eq!(wrap("日本語", 1), ["日", "本", "語"]);
        assert_eq!(wrap("日本語日本", 5), ["日本", "語日", "本"]);
    }

    #[test]
    fn blank_lines_stay_and_no_text_has_no_lines() {
        assert_eq!(wrap("a\n   \nb", 10), ["a", "", "b"]);
        assert_eq!(wrap("", 10), Vec::<String>::new());
    }
}
