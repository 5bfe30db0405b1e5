//! Writes arguments so that a shell reads them back, for commands that are printed to be copied.

use super::clean;

/// Returns the argument as it must be typed; quoted only if it needs to be.
pub(crate) fn argument(text: &str) -> String {
    let text = clean::block(text);
    let is_plain = |letter: char| letter.is_alphanumeric() || "_-./:,@%+=".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_shell_would_change_is_quoted() {
        let quoted = ["tasca", "two words", "it's", "", "$HOME", "~/trip", "/a/b-c.d"].map(argument);

        assert_eq!(quoted, ["tasca", "'two words'", r"'it'\''s'", "''", "'$HOME'", "'~/trip'", "/a/b-c.d"]);
    }
}
