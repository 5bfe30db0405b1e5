//! What is shown of long things: the same on a screen and in a transcript.

/// Characters of a tool's arguments: enough to recognise them.
pub const SHORT_ARGUMENTS: usize = 120;

/// Lines and characters of a tool's answer.
const LINES: usize = 8;
const LINE: usize = 300;

/// The beginning of a long text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortened {
    /// Its first lines, the longest of them cut.
    pub lines: Vec<String>,
    /// How many more lines it has.
    pub more: u64,
}

/// The beginning of what a tool answered.
pub fn shortened(text: &str) -> Shortened {
    let line = |line: &str| match line.char_indices().nth(LINE) {
        None => line.to_owned(),
        Some((end, _)) => format!("{}...", &line[..end]),
    };
    let mut lines = text.lines();
    Shortened { lines: lines.by_ref().take(LINES).map(line).collect(), more: lines.count() as u64 }
}

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
    fn the_beginning_of_an_answer_is_eight_lines() {
        let text = format!("{}\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", "é".repeat(301));

        let Shortened { lines, more } = shortened(&text);

        assert_eq!((lines.len(), more, lines[0].chars().count()), (8, 2, 303));
    }

    #[test]
    fn a_brief_text_is_one_line() {
        assert_eq!([brief(" a\n b ", 9), brief("abcdef", 3)], ["a b", "abc..."]);
    }
}
