//! Lays out what is shown for consent: every row of it begins with an edge, so
//! that no text can pass for Rejoin's own.
//!
//! `│` begins a line of the text, `┊` goes on with the line above. Rows are broken
//! where they are full and nowhere else.

use unicode_width::UnicodeWidthChar;

use super::ConsentText;
use crate::ui::fit;
use crate::ui::paint::{Meaning, Paint};

/// The edge of a row that begins a line.
const BEGINS: &str = "│ ";

/// The edge of a row that goes on with the line above.
const GOES_ON: &str = "┊ ";

/// Columns of an edge, and the last column, which some terminals leave only by starting a new row.
const TAKEN: usize = 3;

/// A line before it is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConsentLine {
    text: String,
    meaning: Meaning,
    edge: Edge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edge {
    /// Somebody else's text.
    Bar,
    /// What Rejoin laid out in columns.
    Report,
    /// A sentence of Rejoin's own.
    Own,
}

/// One row of the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ConsentRow {
    /// Which line it belongs to, and where in the line it begins.
    pub(super) place: (usize, usize),
    pub(super) painted: String,
}

impl ConsentLine {
    /// The lines of a text with an edge, each in the colour that `meaning` gives it.
    pub(crate) fn edged(shown: &ConsentText, meaning: impl Fn(&str) -> Meaning) -> Vec<Self> {
        let line = |text: &String| Self { text: text.clone(), meaning: meaning(text), edge: Edge::Bar };
        shown.lines.iter().map(line).collect()
    }

    /// The lines of a report, which Rejoin laid out itself.
    pub(crate) fn report(shown: &ConsentText) -> Vec<Self> {
        let line = |text: &String| Self { text: text.clone(), meaning: Meaning::Plain, edge: Edge::Report };
        shown.lines.iter().map(line).chain(Self::notes(&[shown])).collect()
    }

    /// A sentence of Rejoin's own.
    pub(crate) fn own(sentence: &'static str, meaning: Meaning) -> Self {
        Self { text: sentence.to_owned(), meaning, edge: Edge::Own }
    }

    /// The line as it is before it is laid out.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// What to know about texts before answering.
    pub(crate) fn notes(all: &[&ConsentText]) -> Vec<Self> {
        let line = |text| Self { text, meaning: Meaning::Warning, edge: Edge::Own };
        ConsentText::notes(all).into_iter().map(line).collect()
    }
}

/// Lays lines out for a screen of so many columns.
pub(super) fn lay_out(lines: &[ConsentLine], columns: usize, paint: Paint) -> Vec<ConsentRow> {
    let mut rows = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let pieces = match line.edge {
            Edge::Bar => pieces(&line.text, columns.saturating_sub(TAKEN).max(1)),
            Edge::Report => pieces(&line.text, columns.max(1)),
            Edge::Own => fit::wrap(&line.text, columns),
        };
        let mut begins = 0;
        for piece in pieces {
            let edge = match (line.edge, begins) {
                (Edge::Report | Edge::Own, _) => "",
                (Edge::Bar, 0) => BEGINS,
                (Edge::Bar, _) => GOES_ON,
            };
            let painted = paint.apply(Meaning::Dim, edge) + &with_signs(&piece, line.meaning, paint);
            rows.push(ConsentRow { place: (number, begins), painted });
            begins += piece.len();
        }
    }
    rows
}

/// The parts of a line that fit into the room, at least one.
fn pieces(text: &str, room: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let (mut begin, mut end, mut taken) = (0, 0, 0);
    while end < text.len() {
        let (atom, columns) = atom(&text[end..], room);
        if taken + columns > room && end > begin {
            pieces.push(text[begin..end].to_owned());
            (begin, taken) = (end, 0);
        }
        (end, taken) = (end + atom.len(), taken + columns);
    }
    pieces.push(text[begin..].to_owned());
    pieces
}

/// What is not broken: a sign, or a letter with its marks; and the columns it takes at most.
fn atom(text: &str, room: usize) -> (&str, usize) {
    let sign = text.strip_prefix('⟨').and_then(|inside| inside.find('⟩')).map(|at| at + 2 * '⟨'.len_utf8());
    if let Some(sign) = sign {
        let columns = text[..sign].chars().map(columns).sum();
        if columns <= room {
            return (&text[..sign], columns);
        }
    }
    let mut letters = text.char_indices();
    let width = letters.next().map_or(0, |(_, letter)| columns(letter));
    let end = letters.find(|(_, letter)| columns(*letter) > 0).map_or(text.len(), |(at, _)| at);
    (&text[..end], width)
}

/// The columns a character takes at most: terminals do not agree on pictures and signs.
fn columns(letter: char) -> usize {
    let width = letter.width().unwrap_or(0);
    let is_sure = letter.is_ascii() || letter.is_alphabetic() || width == 0 || "⟨⟩⇥".contains(letter);
    if is_sure { width } else { 2 }
}

/// The text in its colour, with every sign in reverse.
fn with_signs(text: &str, meaning: Meaning, paint: Paint) -> String {
    let mut painted = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('⟨') {
        let (plain, sign) = rest.split_at(at);
        let end = sign.find('⟩').map_or(sign.len(), |end| end + '⟩'.len_utf8());
        painted += &paint.apply(meaning, plain);
        painted += &paint.apply(Meaning::Sign, &sign[..end]);
        rest = &sign[end..];
    }
    painted + &paint.apply(meaning, rest)
}
