//! A text inside a text: what it says when its escapes are read, and where each letter stands.

use std::borrow::Cow;
use std::ops::Range;

/// A reading of a text.
#[derive(Debug)]
pub(super) struct Reading<'t> {
    pub(super) text: Cow<'t, str>,
    /// Where each byte stands in the text that was first read, and where that ends; none while it is the same.
    places: Option<Vec<usize>>,
}

impl<'t> Reading<'t> {
    /// A text as it is.
    pub(super) const fn of(text: &'t str) -> Self {
        Self { text: Cow::Borrowed(text), places: None }
    }

    /// Where a part of it stands in the text that was first read.
    pub(super) fn original(&self, range: &Range<usize>) -> Range<usize> {
        match &self.places {
            Some(places) => places[range.start]..places[range.end],
            None => range.clone(),
        }
    }

    /// The same with one layer of escapes read; none when there are none.
    pub(super) fn unescaped(&self) -> Option<Reading<'static>> {
        let bytes = self.text.as_bytes();
        let first = memchr::memchr(b'\\', bytes)?;
        let mut text = String::with_capacity(bytes.len());
        let mut places = Vec::with_capacity(bytes.len() + 1);
        let place_of = |at: usize| self.places.as_ref().map_or(at, |places| places[at]);
        let (mut at, mut is_changed) = (0, false);
        while at < bytes.len() {
            let next = if at < first {
                Some(first)
            } else {
                memchr::memchr(b'\\', &bytes[at..]).map(|next| at + next)
            };
            let plain = next.unwrap_or(bytes.len());
            text.push_str(&self.text[at..plain]);
            places.extend((at..plain).map(place_of));
            at = plain;
            if at == bytes.len() {
                break;
            }
            let (letter, length) = escape(&self.text[at..]);
            is_changed |= length > 1;
            text.push(letter);
            places.extend(std::iter::repeat_n(place_of(at), letter.len_utf8()));
            at += length;
        }
        places.push(place_of(bytes.len()));
        is_changed.then_some(Reading { text: Cow::Owned(text), places: Some(places) })
    }
}

/// The letter that an escape stands for, and how many bytes it has. What is no escape is a backslash.
fn escape(text: &str) -> (char, usize) {
    let bytes = text.as_bytes();
    let by_number = |digits: usize| {
        let number = text.get(2..2 + digits).and_then(|digits| u32::from_str_radix(digits, 16).ok());
        number
            .and_then(char::from_u32)
            .filter(|letter| *letter != '\0')
            .map_or(('\\', 1), |letter| (letter, 2 + digits))
    };
    match bytes.get(1) {
        Some(b'n') => ('\n', 2),
        Some(b'r') => ('\r', 2),
        Some(b't') => ('\t', 2),
        Some(letter @ (b'"' | b'\\' | b'/' | b'\'')) => (char::from(*letter), 2),
        Some(b'u' | b'U') => by_number(4),
        Some(b'x') => by_number(2),
        _ => ('\\', 1),
    }
}
