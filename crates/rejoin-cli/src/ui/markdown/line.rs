//! What kind of line begins with these characters.

/// What a line is. The content is what follows its mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LineKind {
    Blank,
    Heading { level: usize },
    Item { mark: String },
    Fence { mark: char, length: usize },
    Row,
    Rule,
    Indented,
    Text,
}

/// A line that is known for what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MarkdownLine {
    pub(super) quotes: usize,
    pub(super) indentation: usize,
    pub(super) kind: LineKind,
    pub(super) content: String,
}

/// Whether more of the line may follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineExtent {
    Beginning,
    Whole,
}

/// A run of marks that is longer than this is text.
const LONGEST_MARK: usize = 120;

/// Returns what the line is, or none while that depends on what follows.
pub(super) fn classify(beginning: &str, extent: LineExtent) -> Option<MarkdownLine> {
    let is_whole = extent == LineExtent::Whole;
    let (quotes, rest) = quoted(beginning);
    let trimmed = rest.trim_start_matches([' ', '\t']);
    let spaces = &rest[..rest.len() - trimmed.len()];
    let indentation = spaces.chars().map(|space| if space == '\t' { 4 } else { 1 }).sum();
    let line =
        |kind, content: &str| Some(MarkdownLine { quotes, indentation, kind, content: content.to_owned() });
    let Some(first) = trimmed.chars().next() else {
        return if is_whole { line(LineKind::Blank, "") } else { None };
    };
    let is_unsure = !is_whole && trimmed.len() < LONGEST_MARK;
    match first {
        '#' => {
            let level = run(trimmed, '#');
            let content = &trimmed[level..];
            match content.chars().next() {
                None if is_unsure => None,
                None | Some(' ' | '\t') if level <= 6 => {
                    line(LineKind::Heading { level }, content.trim_start())
                }
                _ => line(LineKind::Text, trimmed),
            }
        }
        '-' | '*' | '+' | '_' => {
            let is_marks_only = trimmed.chars().all(|own| own == first || own == ' ' || own == '\t');
            let marks = trimmed.chars().filter(|own| *own == first).count();
            if is_marks_only && is_unsure {
                return None;
            }
            if is_marks_only && marks >= 3 && first != '+' {
                return line(LineKind::Rule, "");
            }
            match trimmed[1..].chars().next() {
                None | Some(' ' | '\t') if first != '_' => {
                    line(LineKind::Item { mark: "• ".to_owned() }, trimmed[1..].trim_start())
                }
                _ => line(LineKind::Text, trimmed),
            }
        }
        '0'..='9' => {
            let digits = trimmed.chars().take_while(char::is_ascii_digit).count();
            let mut after = trimmed[digits..].chars();
            match (after.next(), after.next()) {
                _ if digits > 9 => line(LineKind::Text, trimmed),
                (None, _) | (Some('.' | ')'), None) if is_unsure => None,
                (Some('.' | ')'), None | Some(' ' | '\t')) => {
                    let mark = format!("{} ", &trimmed[..=digits]);
                    line(LineKind::Item { mark }, trimmed[digits + 1..].trim_start())
                }
                _ => line(LineKind::Text, trimmed),
            }
        }
        '`' | '~' => {
            let length = run(trimmed, first);
            let is_run_only = length == trimmed.len();
            if is_run_only && is_unsure {
                return None;
            }
            if length >= 3 {
                return line(LineKind::Fence { mark: first, length }, &trimmed[length..]);
            }
            line(LineKind::Text, trimmed)
        }
        '|' => line(LineKind::Row, trimmed),
        _ if indentation >= 4 => line(LineKind::Indented, trimmed),
        _ => line(LineKind::Text, trimmed),
    }
}

/// Takes the marks of a quotation off, and counts them.
pub(super) fn quoted(text: &str) -> (usize, &str) {
    let mut quotes = 0;
    let mut rest = text;
    loop {
        let trimmed = rest.trim_start_matches(' ');
        match trimmed.strip_prefix('>') {
            Some(after) if rest.len() - trimmed.len() < 4 => {
                quotes += 1;
                rest = after.strip_prefix(' ').unwrap_or(after);
            }
            _ => return (quotes, rest),
        }
    }
}

/// How many times the text begins with a character.
pub(super) fn run(text: &str, mark: char) -> usize {
    text.chars().take_while(|own| *own == mark).count()
}
