//! Finds the facts of one text.

use std::ops::Range;

use super::TextSource;
use super::sentences;
use super::words::{self, is_ideograph};
use crate::ops::view::FactKind;

/// A fact in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FoundFact<'a> {
    /// Where it begins.
    pub(super) place: usize,
    pub(super) kind: FactKind,
    pub(super) text: &'a str,
}

/// The facts of a text, in order; of those that begin at one place, the longest first.
pub(super) fn of(text: &str, source: TextSource) -> Vec<FoundFact<'_>> {
    let mut found = Vec::new();
    in_words(text, &mut found);
    if source != TextSource::Machine {
        sentences::quotes(text, &mut found);
        sentences::decisions(text, source, &mut found);
    }
    found.sort_by_key(|fact| (fact.place, std::cmp::Reverse(fact.text.len())));
    found
}

fn in_words<'a>(text: &'a str, found: &mut Vec<FoundFact<'a>>) {
    let mut chunks = chunks(text).peekable();
    while let Some((place, chunk)) = chunks.next() {
        let first = found.len();
        in_chunk(place, chunk, found);
        if !chunk.ends_with(|letter: char| letter.is_ascii_digit()) {
            continue;
        }
        let Some((next, unit)) = chunks.peek().and_then(|(next, word)| Some((*next, words::unit(word)?)))
        else {
            continue;
        };
        // A number and its unit may stand apart. A single digit is a fact only with its unit.
        let whole = |begin: usize| FoundFact {
            place: begin,
            kind: FactKind::Number,
            text: &text[begin..next + unit.len()],
        };
        match found[first..].last_mut() {
            Some(last) if is_last(last, place + chunk.len()) => *last = whole(last.place),
            None if words::is_bare_number(chunk) => found.push(whole(place)),
            _ => {}
        }
    }
}

/// True for a bare number that ends here.
fn is_last(fact: &FoundFact<'_>, end: usize) -> bool {
    fact.place + fact.text.len() == end && words::is_bare_number(fact.text)
}

/// What stands between white space, with its place. Between two white spaces stands an empty chunk.
fn chunks(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut place = 0;
    text.split(char::is_whitespace).map(move |chunk| {
        let begin = place;
        place += chunk.len();
        place += text[place..].chars().next().map_or(0, char::len_utf8);
        (begin, chunk)
    })
}

fn in_chunk<'a>(place: usize, chunk: &'a str, found: &mut Vec<FoundFact<'a>>) {
    let mut rest = 0;
    while let Some(Range { start, end }) = address(&chunk[rest..]) {
        in_pieces(place + rest, &chunk[rest..rest + start], found);
        let text = &chunk[rest + start..rest + end];
        found.push(FoundFact { place: place + rest + start, kind: FactKind::Url, text });
        rest += end;
    }
    in_pieces(place + rest, &chunk[rest..], found);
}

/// Where the first address of a chunk stands.
fn address(chunk: &str) -> Option<Range<usize>> {
    let colon = scheme_end(chunk)?;
    let start = chunk[..colon]
        .char_indices()
        .rev()
        .take_while(|(_, letter)| letter.is_ascii_alphanumeric() || "+-.".contains(*letter))
        .last()
        .map_or(colon, |(start, _)| start);
    let end = address_end(chunk, colon + 3);
    let is_inside = |letter: char| (letter.is_alphanumeric() || letter == '_') && !is_ideograph(letter);
    let is_address = start < colon && end > colon + 3 && !chunk[..start].ends_with(is_inside);
    is_address.then_some(start..end)
}

/// Where the colon of an address stands.
fn scheme_end(chunk: &str) -> Option<usize> {
    let colon = memchr::memchr(b':', chunk.as_bytes())?;
    chunk[colon..].find("://").map(|place| colon + place)
}

/// Where an address ends: before what cannot be part of one, and before
/// punctuation that belongs to the sentence.
fn address_end(chunk: &str, from: usize) -> usize {
    let stop = chunk[from..]
        .find(|letter: char| "\"<>`{}|^\\“”‘’«»„「」".contains(letter) || is_ideograph(letter))
        .map_or(chunk.len(), |stop| from + stop);
    let count = |mark: char| chunk[from..stop].matches(mark).count();
    // Brackets that nothing in the address opens.
    let mut round = count(')').saturating_sub(count('('));
    let mut square = count(']').saturating_sub(count('['));
    let mut is_outside = |letter: char| {
        let closing = match letter {
            ')' => &mut round,
            ']' => &mut square,
            _ => return ".,;:!?'*_…".contains(letter),
        };
        let is_outside = *closing > 0;
        *closing = closing.saturating_sub(1);
        is_outside
    };
    from + chunk[from..stop].trim_end_matches(&mut is_outside).len()
}

/// Splits at what parts words in prose and programs, and names what is left.
fn in_pieces<'a>(place: usize, chunk: &'a str, found: &mut Vec<FoundFact<'a>>) {
    let mut begin = 0;
    let mut is_ascii = true;
    let bytes = chunk.as_bytes();
    let digits =
        |range: Range<usize>| bytes.get(range).is_some_and(|bytes| bytes.iter().all(u8::is_ascii_digit));
    for (at, letter) in chunk.char_indices() {
        // A comma before three digits groups a number.
        let groups = letter == ','
            && at > begin
            && digits(at - 1..at)
            && digits(at + 1..at + 4)
            && !digits(at + 4..at + 5);
        let turns = is_ideograph(letter) && is_ascii && at > begin;
        if (words::parts(letter) && !groups) || turns {
            in_piece(place + begin, &chunk[begin..at], found);
            begin = if turns { at } else { at + letter.len_utf8() };
            is_ascii = true;
        }
        is_ascii &= letter.is_ascii() || begin > at;
    }
    in_piece(place + begin, &chunk[begin..], found);
}

fn in_piece<'a>(place: usize, piece: &'a str, found: &mut Vec<FoundFact<'a>>) {
    let (skipped, word) = words::bare(piece);
    if let Some(kind) = words::kind_of(word) {
        found.push(FoundFact { place: place + skipped, kind, text: word });
    }
}
