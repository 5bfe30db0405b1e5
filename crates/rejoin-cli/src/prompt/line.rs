//! What a line means: a message, a command that begins with a slash, or one for the shell.

/// What a line means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PromptInput<'a> {
    Nothing,
    Message(String),
    /// The name without its slash, and what follows it.
    Command(&'a str, &'a str),
    /// The user says that the conversation ends here.
    Stop,
    /// A command of the user's own; empty to forget the output of those before.
    Shell(&'a str),
}

/// Reads a line. Two slashes, or two exclamation marks, stand for one at the beginning of a message.
pub(super) fn read(text: &str) -> PromptInput<'_> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return PromptInput::Nothing;
    }
    if let Some(rest) = trimmed.strip_prefix("//") {
        return PromptInput::Message(format!("/{rest}"));
    }
    if let Some(rest) = trimmed.strip_prefix("!!") {
        return PromptInput::Message(format!("!{rest}"));
    }
    if let Some(command) = trimmed.strip_prefix('!') {
        return PromptInput::Shell(command.trim());
    }
    let Some(rest) = trimmed.strip_prefix('/') else {
        return if is_stop(trimmed) {
            PromptInput::Stop
        } else {
            PromptInput::Message(text.trim_end().to_owned())
        };
    };
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    PromptInput::Command(name, argument.trim())
}

/// Only this sentence alone stops a conversation; within a longer message it is for the model.
fn is_stop(text: &str) -> bool {
    let words = text.trim_end_matches(['.', '!']).replace('\u{2019}', "'");
    words.eq_ignore_ascii_case("let's stop here")
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
            PromptInput::Nothing,
            PromptInput::Nothing,
            PromptInput::Message("hello".to_owned()),
            PromptInput::Message("  indented".to_owned()),
            PromptInput::Command("tree", ""),
            PromptInput::Command("title", "A new\ntitle"),
            PromptInput::Message("/etc is full".to_owned()),
            PromptInput::Command("", ""),
            PromptInput::Shell("git status"),
            PromptInput::Shell(""),
            PromptInput::Message("!important".to_owned()),
        ];
        assert_eq!(lines.map(read), expected);
    }
    #[test]
    fn a_sentence_that_ends_the_conversation_stands_alone() {
        let lines = [
            "let's stop here",
            "Let\u{2019}s stop here.\n",
            "let's stop here and write the test",
            "should we say let's stop here?",
        ];

        let expected = [
            PromptInput::Stop,
            PromptInput::Stop,
            PromptInput::Message("let's stop here and write the test".to_owned()),
            PromptInput::Message("should we say let's stop here?".to_owned()),
        ];
        assert_eq!(lines.map(read), expected);
    }
}
