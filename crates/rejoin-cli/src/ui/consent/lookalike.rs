//! Characters that are taken for others: a command is not `cat` when its first letter is Cyrillic.

/// Drawn like an ASCII sign, or like another letter, in every font, and needed by no language in its place.
const TWINS: [char; 27] = [
    '\u{1c0}', '\u{1c3}', '\u{2b9}', '\u{2bc}', '\u{2c8}', '\u{2cb}', '\u{374}', '\u{37e}', '\u{387}',
    '\u{589}', '\u{1fef}', '\u{2010}', '\u{2011}', '\u{2024}', '\u{2044}', '\u{2126}', '\u{212a}',
    '\u{212b}', '\u{2215}', '\u{2216}', '\u{2223}', '\u{2236}', '\u{2758}', '\u{29f5}', '\u{29f8}',
    '\u{a789}', '\u{fdfd}',
];

/// Letters of other scripts that are drawn like ASCII letters.
const LETTERS: &str = "аеорсухѕіјһԁԛԝҮүАВЕЅІЈКМНОРСТХѴѵԌԜԚ\
                       ουνραικΑΒΕΖΗΙΚΜΝΟΡΤΥΧϲϳ\
                       օոսցհԼՍՕ";

/// For each character of a line, whether it would be taken for another.
///
/// A letter of another script deceives where it stands in a word with ASCII letters, and where nothing else
/// in the line shows that the line is in that script.
pub(super) fn find(line: &[char]) -> Vec<bool> {
    let mut deceives: Vec<bool> = line.iter().map(|letter| is_twin(*letter)).collect();
    if line.iter().all(char::is_ascii) {
        return deceives;
    }
    let scripts: Vec<Script> = line
        .iter()
        .filter(|letter| !is_like_ascii(**letter))
        .filter_map(|letter| Script::of(*letter))
        .collect();
    let mut at = 0;
    for word in line.chunk_by(|one, next| one.is_alphanumeric() && next.is_alphanumeric()) {
        let is_mixed = word.iter().any(char::is_ascii_alphabetic);
        for (letter, deceives) in word.iter().zip(&mut deceives[at..]) {
            let is_at_home = Script::of(*letter).is_some_and(|script| scripts.contains(&script));
            *deceives |= is_like_ascii(*letter) && (is_mixed || !is_at_home);
        }
        at += word.len();
    }
    deceives
}

/// Twins, letters for mathematics, and ideographs that are kept for compatibility.
fn is_twin(letter: char) -> bool {
    TWINS.contains(&letter)
        || matches!(letter, '\u{1d400}'..='\u{1d7ff}' | '\u{f900}'..='\u{faff}' | '\u{2f800}'..='\u{2fa1f}')
}

fn is_like_ascii(letter: char) -> bool {
    !letter.is_ascii() && LETTERS.contains(letter)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Greek,
    Cyrillic,
    Armenian,
}

impl Script {
    fn of(letter: char) -> Option<Self> {
        match letter {
            '\u{370}'..='\u{3ff}' => Some(Self::Greek),
            '\u{400}'..='\u{52f}' => Some(Self::Cyrillic),
            '\u{530}'..='\u{58f}' => Some(Self::Armenian),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> String {
        let letters: Vec<char> = line.chars().collect();
        find(&letters).into_iter().map(|deceives| if deceives { '^' } else { ' ' }).collect()
    }

    #[test]
    fn a_letter_that_is_taken_for_another_is_found() {
        assert_eq!(found("сat file"), "^       ");
        assert_eq!(found("сору a b"), "^^^^    ");
        assert_eq!(found("ls \u{2215}etc"), "   ^   ");
        assert_eq!(found("𝚌at"), "^  ");
        assert_eq!(found("сat что"), "^      ");
    }

    #[test]
    fn a_text_in_another_script_can_be_read() {
        let texts =
            ["я пошёл с ней", "а он сказал: да", "καλημέρα ο κόσμος", "日本語 und Größe", "naïve café"];

        assert_eq!(texts.map(|text| found(text).trim().to_owned()), texts.map(|_| String::new()));
    }
}
