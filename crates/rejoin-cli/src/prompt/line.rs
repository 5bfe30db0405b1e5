//! What a line means: a message, a command that begins with a slash, or one for the shell.

/// What a line means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    Nothing,
    Message(String),
    /// The name without its slash, and what follows it.
    Command(&'a str, &'a str),
    /// A command of the user's own; empty to forget the output of those before.
    Shell(&'a str),
}

/// Reads a line. Two slashes, or two exclamation marks, stand for one at the beginning of a message.
pub(super) fn read(text: &str) -> Line<'_> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Line::Nothing;
    }
    if let Some(rest) = trimmed.strip_prefix("//") {
        return Line::Message(format!("/{rest}"));
    }
    if let Some(rest) = trimmed.strip_prefix("!!") {
        return Line::Message(format!("!{rest}"));
    }
    if let Some(command) = trimmed.strip_prefix('!') {
        return Line::Shell(command.trim());
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
    fn a_line_is_a_message_unless_it_begins_with_a_sign() {
        let lines = [
            "",
            " \n ",
            "hello\n",
            "  indented",
            "/tree",
            "/title  A new\ntitle ",
            "//etc is full",
            "/",
            "! git status",
            "!",
            "!!important",
        ];

        let expected = [
            Line::Nothing,
            Line::Nothing,
            Line::Message("hello".to_owned()),
            Line::Message("  indented".to_owned()),
            Line::Command("tree", ""),
            Line::Command("title", "A new\ntitle"),
            Line::Message("/etc is full".to_owned()),
            Line::Command("", ""),
            Line::Shell("git status"),
            Line::Shell(""),
            Line::Message("!important".to_owned()),
        ];
        assert_eq!(lines.map(read), expected);
    }
}
