//! Shows stored text with the parts that were searched for standing out.

use super::{
    clean, fit,
    paint::{Meaning, Paint},
};

/// Cleans the text and breaks it into lines of at most `columns`, with the parts at `marks` painted.
///
/// Marks are positions in bytes of the text as it is stored, in order and apart. The text is one line.
pub(crate) fn lines(
    text: &str,
    marks: &[(usize, usize)],
    columns: Option<usize>,
    paint: Paint,
) -> Vec<String> {
    let (text, marks) = cleaned(text, marks);
    let lines = fit::wrap(&text, columns.unwrap_or(usize::MAX));
    let mut at = 0;
    let mut painted = Vec::with_capacity(lines.len());
    for line in lines {
        // Wrapping loses nothing but the spaces at a break.
        at += text[at..].len() - text[at..].trim_start_matches(' ').len();
        painted.push(paint_line(&line, at, &marks, paint));
        at += line.len();
    }
    painted
}

/// The text made safe piece by piece, and where the marked pieces came to stand.
fn cleaned(text: &str, marks: &[(usize, usize)]) -> (String, Vec<(usize, usize)>) {
    let mut safe = String::with_capacity(text.len());
    let mut moved = Vec::with_capacity(marks.len());
    let mut at = 0;
    for &(start, end) in marks {
        let (Some(before), Some(marked)) = (text.get(at..start), text.get(start..end)) else { continue };
        push(&mut safe, before);
        let from = safe.len();
        push(&mut safe, marked);
        moved.push((from, safe.len()));
        at = end;
    }
    push(&mut safe, text.get(at..).unwrap_or_default());
    safe.truncate(safe.trim_end().len());
    (safe, moved)
}

/// Spaces at the beginning would be taken for an indentation.
fn push(safe: &mut String, piece: &str) {
    let piece = clean::block(piece).replace('\n', " ");
    safe.push_str(if safe.is_empty() { piece.trim_start() } else { &piece });
}

fn paint_line(line: &str, start: usize, marks: &[(usize, usize)], paint: Paint) -> String {
    let end = start + line.len();
    let mut painted = String::new();
    let mut at = start;
    for (from, to) in marks.iter().map(|&(from, to)| (from.max(start), to.min(end))) {
        if from < at || from >= to {
            continue;
        }
        painted += &line[at - start..from - start];
        painted += &paint.apply(Meaning::Match, &line[from - start..to - start]);
        at = to;
    }
    painted + &line[at - start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows what is painted in brackets, so that a test can be read.
    fn bracketed(text: &str, marks: &[(usize, usize)], columns: usize) -> Vec<String> {
        let lines = lines(text, marks, Some(columns), Paint::Colored);
        lines.iter().map(|line| line.replace("\u{1b}[1m\u{1b}[31m", "[").replace("\u{1b}[0m", "]")).collect()
    }

    #[test]
    fn marks_stay_with_their_words_across_lines() {
        let shown = bracketed("try a tasca in Alfama, a real tasca", &[(6, 11), (30, 35)], 12);

        assert_eq!(shown, ["try a [tasca]", "in Alfama, a", "real [tasca]"]);
    }

    #[test]
    fn a_word_that_is_broken_is_marked_on_both_lines() {
        let shown = bracketed("abcdefghij", &[(0, 10)], 6);

        assert_eq!(shown, ["[abcdef]", "[ghij]"]);
    }

    #[test]
    fn marks_stay_with_their_words_when_cleaning_removes_something() {
        let shown = bracketed("\u{200b} a \u{1b}[31mtasca\u{1b}[0m!", &[(11, 16)], 80);

        assert_eq!(shown, ["a [tasca]!"]);
    }

    #[test]
    fn a_mark_cannot_complete_a_terminal_sequence() {
        let shown = lines("\u{1b}]0;owned\u{7}", &[(4, 9)], None, Paint::Plain);

        assert_eq!(shown, ["\u{241b}]0;owned\u{2407}"]);
    }

    #[test]
    fn marks_that_do_not_fit_the_text_are_passed_over() {
        let shown = bracketed("é", &[(1, 2), (5, 9)], 80);

        assert_eq!(shown, ["é"]);
    }

    #[test]
    fn no_text_is_no_line() {
        assert_eq!(lines(" \u{200b}", &[], None, Paint::Plain), Vec::<String>::new());
    }
}
