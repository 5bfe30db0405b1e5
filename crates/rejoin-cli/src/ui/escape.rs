//! Recognises the sequences that make a terminal act instead of print (ECMA-48, with the xterm additions).
//!
//! A sequence counts only when it is complete. An unfinished one hides nothing: its text stays readable.

/// Returns what follows the terminal sequence at the start of `text`, or `None` if there is none.
///
/// Scanning stops at the first control character that does not belong to the sequence, so a text made of many
/// unfinished sequences still costs one pass.
pub(crate) fn skip(text: &str) -> Option<&str> {
    let mut characters = text.chars();
    match characters.next()? {
        '\u{1b}' => {
            let after_escape = characters.as_str();
            match characters.next()? {
                '[' => skip_parameters(characters.as_str()),
                ']' | 'P' | 'X' | '^' | '_' => skip_string(characters.as_str()),
                _ => skip_short(after_escape),
            }
        }
        '\u{9b}' => skip_parameters(characters.as_str()),
        '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => skip_string(characters.as_str()),
        _ => None,
    }
}

/// Skips the rest of a control sequence: parameters, intermediates, one final character.
fn skip_parameters(text: &str) -> Option<&str> {
    let text = text.trim_start_matches(|c| matches!(c, '\u{30}'..='\u{3f}'));
    let text = text.trim_start_matches(|c| matches!(c, '\u{20}'..='\u{2f}'));
    text.strip_prefix(|c| matches!(c, '\u{40}'..='\u{7e}'))
}

/// Skips the rest of a command string (title, clipboard, hyperlink, device control) with its terminator.
fn skip_string(text: &str) -> Option<&str> {
    let end = text.find(char::is_control)?;
    let terminator = &text[end..];
    ["\u{7}", "\u{1b}\\", "\u{9c}"].iter().find_map(|form| terminator.strip_prefix(form))
}

/// Skips the rest of a sequence without parameters, such as a reset or a choice of character set.
fn skip_short(text: &str) -> Option<&str> {
    let text = text.trim_start_matches(|c| matches!(c, '\u{20}'..='\u{2f}'));
    text.strip_prefix(|c| matches!(c, '\u{30}'..='\u{7e}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complete_sequence_is_skipped_to_its_end() {
        let sequences = [
            "\u{1b}[31;1m",
            "\u{1b}[?2004h",
            "\u{1b}[201~",
            "\u{1b}[2 q",
            "\u{1b}]0;title\u{7}",
            "\u{1b}]52;c;cm0gLXJm\u{1b}\\",
            "\u{1b}]8;;https://example.org\u{9c}",
            "\u{1b}P1$r0m\u{1b}\\",
            "\u{1b}_payload\u{1b}\\",
            "\u{1b}(B",
            "\u{1b}c",
            "\u{9b}2J",
            "\u{9d}0;title\u{9c}",
        ];

        let rests = sequences.map(|sequence| skip(&format!("{sequence}rest")).map(str::to_owned));

        assert_eq!(rests, sequences.map(|_| Some("rest".to_owned())));
    }

    #[test]
    fn an_unfinished_sequence_is_not_a_sequence() {
        let texts = [
            "\u{1b}",
            "\u{1b}[",
            "\u{1b}[31",
            "\u{1b}[31\u{e9}",
            "\u{1b}]0;title",
            "\u{1b}]0;ti\ntle\u{7}",
            "\u{9b}1",
            "\u{9d}x",
            "\u{1b}\u{e9}",
        ];

        assert_eq!(texts.map(skip), texts.map(|_| None));
    }

    #[test]
    fn plain_text_is_not_a_sequence() {
        assert_eq!(["", "a", "[31m", "\n"].map(skip), [None; 4]);
    }
}
