//! What has no shape of its own, and how it is shown all the same.

use std::borrow::Cow;
use std::fmt::Write;

/// True for a character without a shape, which could only hide, reorder or smuggle text. Control characters
/// are not among them, and variation selectors are not.
pub(crate) fn is_invisible(character: char) -> bool {
    match character {
        // Soft hyphen, grapheme joiner, Arabic letter mark, the blank letters of Hangul and Khmer.
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' => true,
        '\u{3164}' | '\u{ffa0}' => true,
        // Mongolian selectors and vowel separator.
        '\u{180b}'..='\u{180f}' => true,
        // Zero-width spaces and joiners, direction marks, embeddings, overrides and isolates.
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        // Byte order mark, interlinear annotation and the unassigned places before it.
        '\u{feff}' | '\u{fff0}'..='\u{fffb}' => true,
        // Layout of hieroglyphs, shorthand and music.
        '\u{13430}'..='\u{1345f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' => true,
        // Tags, which can carry a whole hidden text.
        '\u{e0000}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}' => true,
        _ => false,
    }
}

/// The text with everything in it that would act on a reader's screen, or would not be seen, shown as a sign.
///
/// Line ends of every kind become `\n`, which is the only control character left besides `\t`.
/// Joiners stay where they join something.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut letters = text.chars().peekable();
    let mut before = ' ';
    while let Some(letter) = letters.next() {
        match letter {
            '\r' if letters.peek() == Some(&'\n') => {}
            '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => shown.push('\n'),
            '\n' | '\t' => shown.push(letter),
            '\0'..='\u{1f}' => shown.extend(char::from_u32(0x2400 + u32::from(letter))),
            '\u{7f}' => shown.push('\u{2421}'),
            '\u{200c}' | '\u{200d}' if joins(before) && letters.peek().is_some_and(|next| joins(*next)) => {
                shown.push(letter);
            }
            _ if letter.is_control() || is_invisible(letter) => {
                let _ = write!(shown, "⟨U+{:04X}⟩", u32::from(letter));
            }
            _ => shown.push(letter),
        }
        before = letter;
    }
    Cow::Owned(shown)
}

/// Scripts whose letters change with their neighbours, and pictures.
fn joins(letter: char) -> bool {
    matches!(letter, '\u{620}'..='\u{dff}' | '\u{2190}'..='\u{2bff}' | '\u{fe0f}' | '\u{1f000}'..='\u{1faff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_act_or_hide_is_shown() {
        let cases = [
            ("plain\ttext\n", "plain\ttext\n"),
            ("a\u{1b}[2J\u{7f}\0", "a␛[2J␡␀"),
            ("\u{9b}2J", "⟨U+009B⟩2J"),
            ("a\r\nb\rc\u{2028}d", "a\nb\nc\nd"),
            ("gpj\u{202e}.exe", "gpj⟨U+202E⟩.exe"),
            ("a\u{200b}b\u{200d}c\u{feff}", "a⟨U+200B⟩b⟨U+200D⟩c⟨U+FEFF⟩"),
            ("👩\u{200d}👧 é 日本", "👩\u{200d}👧 é 日本"),
            ("\u{e0041}", "⟨U+E0041⟩"),
        ];

        assert_eq!(
            cases.map(|(text, _)| visible(text).into_owned()),
            cases.map(|(_, shown)| shown.to_owned())
        );
    }
}
