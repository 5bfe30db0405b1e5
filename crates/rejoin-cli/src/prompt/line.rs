//! What a line means: a message, or a command that begins with a slash.

/// What a line means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    Nothing,
    Message(String),
    /// The name without its slash, and what follows it.
    Command(&'a str, &'a str),
}

/// Reads a line. Two slashes stand for one at the beginning of a message.
pub(super) fn read(text: &str) -> Line<'_> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Line::Nothing;
    }
    if let Some(rest) = trimmed.strip_prefix("//") {
        return Line::Message(format!("/{rest}"));
    }
    let Some(rest) = trimmed.strip_prefix('/') else {
        return Line::Message(text.trim_end().to_owned());
    };
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    Line::Command(name, argument.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_message_unless_it_begins_with_a_slash() {
        let lines =
            ["", " \n ", "hello\n", "  indented", "/tree", "/title  A new\ntitle ", "//etc is full", "/"];

        let expected = [
            Line::Nothing,
            Line::Nothing,
            Line::Message("hello".to_owned()),
            Line::Message("  indented".to_owned()),
            Line::Command("tree", ""),
            Line::Command("title", "A new\ntitle"),
            Line::Message("/etc is full".to_owned()),
            Line::Command("", ""),
        ];
        assert_eq!(lines.map(read), expected);
    }
}
