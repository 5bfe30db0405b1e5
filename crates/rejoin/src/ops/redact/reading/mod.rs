//! A text inside a text: what it says when its escapes are read, its disguises taken off or its lines
//! joined, and where each letter stands.

mod disguise;
mod wrapped;

use std::borrow::Cow;
use std::ops::Range;

pub(super) use disguise::{has_disguise, undisguised_word};

/// A reading of a text.
#[derive(Debug)]
pub(super) struct TextReading<'t> {
    pub(super) text: Cow<'t, str>,
    /// The escapes of the reading before it, in order.
    escapes: Vec<Escape>,
}

/// An escape that was read.
#[derive(Clone, Copy, Debug)]
struct Escape {
    /// Where its letter begins in what was read, and where that ends.
    begin: usize,
    end: usize,
    /// Where it begins in the reading before, and where that ends.
    written: usize,
    written_end: usize,
}

impl<'t> TextReading<'t> {
    /// A text as it is.
    pub(super) const fn of(text: &'t str) -> Self {
        Self { text: Cow::Borrowed(text), escapes: Vec::new() }
    }

    /// Where a part of it stands in the reading before. Any place in a letter stands where its escape begins;
    /// what was left out at either edge is no part of it.
    fn range_before(&self, range: &Range<usize>) -> Range<usize> {
        let place = |place: usize, escapes: usize| match escapes.checked_sub(1).map(|last| self.escapes[last])
        {
            Some(last) if place < last.end => last.written,
            Some(last) => last.written_end + (place - last.end),
            None => place,
        };
        let start = self.escapes.partition_point(|escape| escape.begin <= range.start);
        let end = self.escapes.partition_point(|escape| escape.begin < range.end);
        place(range.start, start)..place(range.end, end)
    }

    /// The same with one layer of escapes read; none when there are none.
    pub(super) fn unescaped(&self) -> Option<TextReading<'static>> {
        let mut writer = ReadingWriter::default();
        let mut at = 0;
        while let Some(slash) = memchr::memchr(b'\\', &self.text.as_bytes()[at..]).map(|next| at + next) {
            let (letter, length) = escape(&self.text[slash..]);
            if length > 1 {
                writer.replace(&self.text, slash..slash + length, letter.encode_utf8(&mut [0; 4]));
            }
            at = slash + length;
        }
        writer.finish(&self.text)
    }

    /// Other ways to read the same letters: without disguises, and with lines joined that one token was
    /// wrapped into. Each is made of the one before it.
    pub(super) fn others(&self) -> Vec<TextReading<'static>> {
        let plain = disguise::undisguised(&self.text);
        let joined = wrapped::joined(plain.as_ref().map_or(&self.text, |plain| &plain.text));
        plain.into_iter().chain(joined).collect()
    }
}

/// Writes a reading: what is not replaced stays.
#[derive(Debug, Default)]
struct ReadingWriter {
    text: String,
    escapes: Vec<Escape>,
    copied: usize,
}

impl ReadingWriter {
    /// Puts something in the place of a part of the text that is read. Parts come in order.
    fn replace(&mut self, from: &str, part: Range<usize>, with: &str) {
        self.text.push_str(&from[self.copied..part.start]);
        let begin = self.text.len();
        self.text.push_str(with);
        self.copied = part.end;
        self.escapes.push(Escape { begin, end: self.text.len(), written: part.start, written_end: part.end });
    }

    /// The reading; none when it says what was read.
    fn finish(mut self, from: &str) -> Option<TextReading<'static>> {
        self.text.push_str(&from[self.copied..]);
        (!self.escapes.is_empty())
            .then_some(TextReading { text: Cow::Owned(self.text), escapes: self.escapes })
    }
}

/// Where a part of the last of these readings, of which each was made of the one before,
/// stands in the text that was first read.
pub(super) fn original(readings: &[TextReading<'_>], range: &Range<usize>) -> Range<usize> {
    readings.iter().rev().fold(range.clone(), |range, reading| reading.range_before(&range))
}

/// A part of a text that cuts no escape in two: what is left must be read as it was. One that
/// begins within an escape begins with it; one that ends after a backslash ends before it, and
/// after the escape where more of that is in it.
pub(super) fn unbroken(text: &str, part: &Range<usize>) -> Range<usize> {
    let bytes = text.as_bytes();
    let start = escape_over(bytes, part.start).map_or(part.start, |escape| escape.start);
    let end = match escape_over(bytes, part.end) {
        Some(escape) if escape.start + 1 == part.end && escape.start > part.start => escape.start,
        Some(escape) => escape.end,
        None => part.end,
    };
    start..end
}

/// The escape that a place is inside of.
fn escape_over(bytes: &[u8], place: usize) -> Option<Range<usize>> {
    let are_digits =
        |digits: Option<&[u8]>| digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
    (place.saturating_sub(5)..place).find_map(|at| {
        let slashes = bytes[..=at].iter().rev().take_while(|byte| **byte == b'\\').count();
        if slashes % 2 == 0 {
            return None;
        }
        let length = match bytes.get(at + 1)? {
            b'u' | b'U' if are_digits(bytes.get(at + 2..at + 6)) => 6,
            b'x' if are_digits(bytes.get(at + 2..at + 4)) => 4,
            b'n' | b'r' | b't' | b'b' | b'f' | b'"' | b'\\' | b'/' | b'\'' => 2,
            _ => return None,
        };
        (place < at + length).then(|| at..at + length)
    })
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
