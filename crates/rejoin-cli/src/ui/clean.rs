//! Makes stored text inert: whatever was stored, printing it cannot move the cursor, set the title, fill the
//! clipboard, reorder what is read or hide what is there.
//!
//! Complete terminal sequences vanish. A control character on its own becomes a visible picture (`␀`, `␛`),
//! so that a reader sees it was there. Formatting that has no shape of its own vanishes, except where it
//! shapes what stands beside it: joiners in emoji and in the scripts that need them, and one variation
//! selector.

use rejoin::PlainText;
use unicode_width::UnicodeWidthChar;

use super::escape;

/// Columns between tab stops: half the customary eight, since conversations are read in narrow columns.
const TAB_STOP: usize = 4;

/// Returns the text as one safe line, every run of white space folded into one space and none at the ends.
pub(crate) fn line(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for word in scrub(text).split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.push_str(word);
    }
    folded
}

/// Returns the text as safe lines: line breaks of every kind become `\n`, tabs become spaces.
///
/// `\n` is the only control character in the result.
pub(crate) fn block(text: &str) -> String {
    let scrubbed = scrub(text);
    if !scrubbed.contains('\t') {
        return scrubbed;
    }

    let mut expanded = String::with_capacity(scrubbed.len() + TAB_STOP);
    let mut column = 0;
    for character in scrubbed.chars() {
        match character {
            '\t' => {
                let spaces = TAB_STOP - column % TAB_STOP;
                expanded.extend(std::iter::repeat_n(' ', spaces));
                column += spaces;
            }
            '\n' => {
                expanded.push('\n');
                column = 0;
            }
            _ => {
                expanded.push(character);
                column += character.width().unwrap_or(0);
            }
        }
    }
    expanded
}

/// Returns the text with nothing left that a terminal would act on, but for `\n` and `\t`.
fn scrub(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    loop {
        let printable = rest.bytes().take_while(|byte| matches!(byte, b' '..=b'~')).count();
        let (plain, unknown) = rest.split_at(printable);
        safe.push_str(plain);
        if let Some(after) = escape::skip(unknown) {
            rest = after;
            continue;
        }

        let mut characters = unknown.chars();
        let Some(character) = characters.next() else {
            return safe;
        };
        rest = characters.as_str();
        let before = safe.chars().next_back();
        let after = rest.chars().next();
        safe.extend(inert(before, character, after));
    }
}

/// Returns what to print for one character that is not part of a terminal sequence, given its neighbours.
fn inert(before: Option<char>, character: char, after: Option<char>) -> Option<char> {
    match character {
        '\n' | '\t' => Some(character),
        '\r' if after == Some('\n') => None,
        // A carriage return alone would let the text overwrite what stands before it.
        '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => Some('\n'),
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(character)),
        '\u{7f}' => Some('\u{2421}'),
        '\u{80}'..='\u{9f}' => Some(char::REPLACEMENT_CHARACTER),
        '\u{200c}' | '\u{200d}' => (before.zip(after))
            .is_some_and(|(before, after)| joiner_has_effect(before, character, after))
            .then_some(character),
        _ if is_variation_selector(character) => before
            .is_some_and(|before| !before.is_whitespace() && !is_variation_selector(before))
            .then_some(character),
        _ if PlainText::is_invisible(character) => None,
        _ => Some(character),
    }
}

/// Tells whether a joiner or non-joiner between these two characters changes how they are drawn.
fn joiner_has_effect(before: char, joiner: char, after: char) -> bool {
    let joins_emoji = joiner == '\u{200d}'
        && (is_pictograph(before) || is_variation_selector(before))
        && is_pictograph(after);
    joins_emoji || (is_in_joining_script(before) && is_in_joining_script(after))
}

/// Tells whether the script shapes its letters by their neighbours: Arabic to Sinhala in the order of the
/// code.
fn is_in_joining_script(character: char) -> bool {
    matches!(character, '\u{620}'..='\u{dff}')
}

/// Tells whether the character can be part of a joined emoji.
fn is_pictograph(character: char) -> bool {
    matches!(character, '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{27bf}' | '\u{2900}'..='\u{297f}')
        || matches!(character, '\u{2b00}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

fn is_variation_selector(character: char) -> bool {
    matches!(character, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every character of Unicode category Cf that has no shape; prefixed number signs have one and stay.
    const FORMATTING: [std::ops::RangeInclusive<u32>; 11] = [
        0xad..=0xad,
        0x61c..=0x61c,
        0x180e..=0x180e,
        0x200b..=0x200f,
        0x202a..=0x202e,
        0x2060..=0x206f,
        0xfeff..=0xfeff,
        0xfff9..=0xfffb,
        0x1bca0..=0x1bca3,
        0x1d173..=0x1d17a,
        0xe0001..=0xe007f,
    ];

    #[test]
    fn only_newline_remains_of_all_control_characters() {
        let every_pair = (0..=0xff_u32)
            .filter_map(char::from_u32)
            .flat_map(|first| (0..=0xff_u32).filter_map(char::from_u32).map(move |second| (first, second)))
            .map(|(first, second)| format!("a{first}{second}b{first}"));
        let left = every_pair
            .flat_map(|text| [block(&text).replace('\n', ""), line(&text)])
            .filter(|text| text.contains(char::is_control))
            .collect::<Vec<_>>();

        assert_eq!(left, Vec::<String>::new());
    }

    #[test]
    fn a_lone_control_character_becomes_visible() {
        let text = (0..=0x1f_u32).chain([0x7f, 0x80, 0x9b]).filter_map(char::from_u32).collect::<String>();

        // The tab stands at column nine, so it is drawn as three spaces.
        let expected = "␀␁␂␃␄␅␆␇␈   \n\n\n\n␎␏␐␑␒␓␔␕␖␗␘␙␚␛␜␝␞␟␡\u{fffd}\u{fffd}";
        assert_eq!(block(&text), expected);
    }

    #[test]
    fn formatting_without_a_shape_vanishes() {
        let text = FORMATTING.into_iter().flatten().filter_map(char::from_u32).collect::<String>();

        assert_eq!(line(&format!("a{text}b")), "ab");
        assert_eq!(block(&format!("a{text}b")), "ab");
    }

    #[test]
    fn hostile_text_is_printed_without_effect() {
        let cases = [
            ("clipboard", "a\u{1b}]52;c;cm0gLXJmIH4=\u{7}b", "ab"),
            ("title", "a\u{1b}]0;owned\u{1b}\\b", "ab"),
            ("cursor", "safe\u{1b}[2A\u{1b}[2Kfake", "safefake"),
            ("link", "\u{1b}]8;;http://bad.example\u{1b}\\bank\u{1b}]8;;\u{1b}\\", "bank"),
            ("device control", "a\u{1b}P+q544e\u{1b}\\b", "ab"),
            ("end of paste", "echo\u{1b}[201~\nrm", "echo rm"),
            ("eight-bit sequence", "a\u{9b}2Jb\u{9d}0;t\u{9c}c", "abc"),
            ("reset", "a\u{1b}cb", "ab"),
            ("unfinished title", "a\u{1b}]0;all of this", "a␛]0;all of this"),
            ("nested", "a\u{1b}\u{1b}[31mb", "a␛b"),
            ("rebuilt by removal", "\u{1b}\u{200b}[31mred", "␛[31mred"),
            ("overwriting", "delete everything\rkeep everything", "delete everything keep everything"),
            ("backspace", "yes\u{8}\u{8}\u{8}no", "yes␈␈␈no"),
            ("reordering", "a\u{202e}txt.exe\u{202c}", "atxt.exe"),
            ("hidden tags", "hi\u{e0068}\u{e0069}", "hi"),
            ("smuggled selectors", "a\u{fe01}\u{fe02}\u{fe03}b", "a\u{fe01}b"),
        ];

        let cleaned = cases.map(|(name, text, _)| (name, line(text)));

        assert_eq!(cleaned, cases.map(|(name, _, expected)| (name, expected.to_owned())));
    }

    #[test]
    fn joiners_stay_where_they_shape_the_text() {
        let shaped = ["👩‍👩‍👧", "❤️‍🔥", "👩🏽‍💻", "می‌خواهم", "क्‍ष", "1️⃣", "é", "日本語", "🇵🇹"];

        assert_eq!(shaped.map(line), shaped.map(str::to_owned));
        assert_eq!(line("pay\u{200d}pal 👩\u{200d}x"), "paypal 👩x");
    }

    #[test]
    fn a_line_folds_white_space() {
        assert_eq!(line("  one\t\ttwo\r\n\n three\u{a0}\u{2028}four  "), "one two three four");
        assert_eq!(line(" \n\t"), "");
    }

    #[test]
    fn a_block_keeps_its_lines_and_expands_tabs() {
        assert_eq!(block("fn a() {\r\n\tb\tc\n日\tx\r}\n"), "fn a() {\n    b   c\n日  x\n}\n");
    }
}
