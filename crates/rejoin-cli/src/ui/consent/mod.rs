//! Shows text to somebody who is about to permit something: nothing is left out, folded or hidden.
//!
//! Making text safe to read is the task of `clean`, which drops what has no shape. Here every
//! character that would act on a terminal, would not be seen or would be taken for another becomes
//! a sign such as `⟨U+202E⟩`. The bracket that begins a sign is always a sign itself, so two
//! different texts never look the same.
//!
//! A question takes a [`ConsentText`], which only this module makes.

mod lookalike;
mod page;
mod rows;

pub(crate) use page::{ConsentDesk, Paged, about_unseen, print_all, screen, show, show_before};
pub(crate) use rows::ConsentLine;

use rejoin::PlainText;
use unicode_width::UnicodeWidthChar;

use super::{escape, size};

/// What begins and ends a sign, and what stands for a tab.
const RESERVED: [char; 3] = ['⟨', '⟩', '⇥'];

/// A tab, with the spaces that keep what follows apart from it.
const TAB: &str = "⇥   ";

/// A longer run of spaces inside a line is counted: it would push the rest out of sight.
const WIDEST_GAP: usize = 32;

/// A longer run of empty lines is counted, for the same reason.
const MOST_EMPTY_LINES: usize = 3;

/// Letters of some scripts carry this many marks, never more.
const MOST_MARKS: usize = 3;

/// Text in the form in which somebody can agree to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ConsentText {
    lines: Vec<String>,
    is_right_to_left: bool,
}

/// What becomes of spaces that are hard to see.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spaces {
    Counted,
    /// They align columns.
    Kept,
}

impl ConsentText {
    /// A text on one line. A line break in it is a sign.
    pub(crate) fn line(text: &str) -> Self {
        Self::of([text], Spaces::Counted)
    }

    /// A text with its lines.
    pub(crate) fn block(text: &str) -> Self {
        let mut shown = Self::of(text.split('\n'), Spaces::Counted);
        shown.count_empty_lines();
        shown
    }

    /// Several texts, each on one line.
    pub(crate) fn lines<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        Self::of(texts, Spaces::Counted)
    }

    /// What Rejoin itself laid out, such as a table in which every row has its id. Colours are left out.
    pub(crate) fn report(text: &str) -> Self {
        let mut plain = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find("\u{1b}[") {
            plain.push_str(&rest[..at]);
            let sequence = &rest[at..];
            let after = escape::skip(sequence)
                .filter(|after| sequence[..sequence.len() - after.len()].ends_with('m'));
            let kept = after.map_or(1, |_| 0);
            plain.push_str(&sequence[..kept]);
            rest = after.unwrap_or(&sequence[kept..]);
        }
        plain.push_str(rest);
        Self::of(plain.strip_suffix('\n').unwrap_or(&plain).split('\n'), Spaces::Kept)
    }

    fn of<'a>(texts: impl IntoIterator<Item = &'a str>, spaces: Spaces) -> Self {
        let mut shown = Self::default();
        for text in texts {
            shown.is_right_to_left |= text.chars().any(is_right_to_left);
            shown.lines.push(signed(text, spaces));
        }
        shown
    }

    fn count_empty_lines(&mut self) {
        let mut counted = Vec::with_capacity(self.lines.len());
        for run in self.lines.chunk_by(|one, next| one.is_empty() && next.is_empty()) {
            if run.len() > MOST_EMPTY_LINES {
                counted.push(format!("⟨{}⟩", size::count(run.len() as u64, "empty line", "empty lines")));
            } else {
                counted.extend_from_slice(run);
            }
        }
        self.lines = counted;
    }

    /// Both on one line.
    fn before(&self, next: &Self) -> Self {
        let is_right_to_left = self.is_right_to_left || next.is_right_to_left;
        Self { lines: vec![format!("{} {}", self.text(), next.text())], is_right_to_left }
    }

    /// The lines, joined.
    pub(crate) fn text(&self) -> String {
        self.lines.join("\n")
    }

    /// What to know about these texts before answering, in sentences.
    pub(crate) fn notes(all: &[&Self]) -> Vec<String> {
        let signs: usize =
            all.iter().flat_map(|shown| &shown.lines).map(|line| line.matches("⟨U+").count()).sum();
        let mut notes = Vec::new();
        if signs > 0 {
            let are = if signs == 1 { "is" } else { "are" };
            let count = size::count(
                signs as u64,
                "hidden or misleading character",
                "hidden or misleading characters",
            );
            notes.push(format!("{count} {are} shown as ⟨U+…⟩."));
        }
        if all.iter().any(|shown| shown.is_right_to_left) {
            notes.push(
                "Some letters are written from right to left, so the order on this screen may not be the real one."
                    .to_owned(),
            );
        }
        notes
    }
}

/// Tells whether a text is shown as it is, without any sign.
pub(crate) fn is_shown_as_it_is(text: &str) -> bool {
    signed(text, Spaces::Counted) == text
}

/// One line in which everything can be seen.
fn signed(text: &str, spaces: Spaces) -> String {
    let letters: Vec<char> = text.chars().collect();
    let deceives = lookalike::find(&letters);
    let mut shown = String::with_capacity(text.len());
    let (mut at, mut marks) = (0, MOST_MARKS);
    while let Some(&letter) = letters.get(at) {
        let gap = letters[at..].iter().take_while(|letter| **letter == ' ').count();
        let is_last = at + gap == letters.len();
        let is_carried = is_script_mark(letter) && marks < MOST_MARKS;
        match letter {
            ' ' if spaces == Spaces::Counted && (is_last || gap > WIDEST_GAP) => {
                shown += &format!("⟨{}⟩", size::count(gap as u64, "space", "spaces"));
            }
            ' ' => shown.extend(std::iter::repeat_n(' ', gap)),
            '\t' => shown.push_str(TAB),
            _ if is_carried || (is_plain(letter) && !deceives[at]) => shown.push(letter),
            _ => shown += &format!("⟨U+{:04X}⟩", u32::from(letter)),
        }
        marks = match letter {
            _ if is_carried => marks + 1,
            _ if is_plain(letter) && letter.is_alphabetic() && !letter.is_ascii() && !deceives[at] => 0,
            _ => MOST_MARKS,
        };
        at += gap.max(1);
    }
    shown
}

/// Tells whether a character has a shape of its own, in a place of its own.
fn is_plain(letter: char) -> bool {
    if matches!(letter, ' '..='~') {
        return true;
    }
    !RESERVED.contains(&letter)
        && is_printable(letter)
        && !is_mark(letter)
        && !PlainText::is_invisible(letter)
        // The blank of Braille, the empty note head, the stand-in for an object.
        && !matches!(letter, '\u{2800}' | '\u{1d159}' | '\u{fffc}')
        && matches!(letter.width(), Some(1 | 2))
}

/// Tells whether Unicode calls the character printable: no control, no format,
/// no separator, nothing unassigned.
fn is_printable(letter: char) -> bool {
    // Marks are escaped only at the beginning of a text.
    format!("a{letter}").escape_debug().nth(1) == Some(letter)
}

/// Tells whether the character is drawn over the one before it.
fn is_mark(letter: char) -> bool {
    is_printable(letter) && letter.escape_debug().next() != Some(letter)
}

/// Tells whether the character is a mark of one script, which cannot be written without it. Marks for any
/// script make letters that have a character of their own, or pile up.
fn is_script_mark(letter: char) -> bool {
    let is_general = matches!(letter, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}')
        || matches!(letter, '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe00}'..='\u{fe2f}')
        || letter >= '\u{e0000}';
    is_mark(letter) && !is_general && !PlainText::is_invisible(letter)
}

fn is_right_to_left(letter: char) -> bool {
    matches!(letter, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}')
        || matches!(letter, '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

#[cfg(test)]
mod tests;
