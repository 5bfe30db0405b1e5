//! Reading a file line by line, with a bound on how much of it is held.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use memchr::memmem;

use crate::store::durable;

/// How much is read at a time.
const CHUNK: usize = 1 << 18;

/// A longer line of a file of Rejoin's own is not looked at.
pub(super) const LONGEST: usize = 1 << 28;

/// The lines of a part of a file.
pub(super) struct FileLines<'f> {
    file: &'f File,
    /// What was read and not yet given out stands in `buffer[start..read]`.
    buffer: Vec<u8>,
    start: usize,
    read: usize,
    /// Where in the file `buffer[start]` stands.
    offset: u64,
    end: u64,
    longest: usize,
}

/// A line, without its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RawLine<'b> {
    pub(super) offset: u64,
    /// With its end.
    pub(super) length: u64,
    pub(super) is_terminated: bool,
    pub(super) content: LineBytes<'b>,
}

impl<'b> RawLine<'b> {
    /// What it says; none when it is too long.
    pub(super) const fn bytes(&self) -> Option<&'b [u8]> {
        match self.content {
            LineBytes::Bytes(bytes) => Some(bytes),
            LineBytes::TooLong => None,
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum LineBytes<'b> {
    Bytes(&'b [u8]),
    /// Longer than allowed, and passed over.
    TooLong,
}

/// What ends a line: a byte of its own, or the end of the file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineEnd {
    Line,
    File,
}

impl<'f> FileLines<'f> {
    /// The lines from one place in a file to another, none of them longer than `longest`.
    pub(super) const fn new(file: &'f File, offset: u64, end: u64, longest: usize) -> Self {
        Self { file, buffer: Vec::new(), start: 0, read: 0, offset, end, longest }
    }

    /// The next line; none at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<RawLine<'_>>> {
        let mut searched = 0;
        loop {
            let held = &self.buffer[self.start..self.read];
            if let Some(at) = memchr::memchr(b'\n', &held[searched..]) {
                return Ok(Some(self.give(searched + at, LineEnd::Line)));
            }
            searched = held.len();
            if searched > self.longest {
                return self.pass_over().map(Some);
            }
            if !self.fill()? {
                let left = self.read - self.start;
                return Ok((left > 0).then(|| self.give(left, LineEnd::File)));
            }
        }
    }

    fn give(&mut self, length: usize, end: LineEnd) -> RawLine<'_> {
        let bytes = self.start..self.start + length;
        let is_terminated = end == LineEnd::Line;
        let whole = length + usize::from(is_terminated);
        let offset = self.offset;
        self.start += whole;
        self.offset += whole as u64;
        let content =
            if length > self.longest { LineBytes::TooLong } else { LineBytes::Bytes(&self.buffer[bytes]) };
        RawLine { offset, length: whole as u64, is_terminated, content }
    }

    /// Forgets a line that is too long, piece by piece.
    fn pass_over(&mut self) -> io::Result<RawLine<'_>> {
        let offset = self.offset;
        let mut is_terminated = false;
        loop {
            let held = &self.buffer[self.start..self.read];
            if let Some(at) = memchr::memchr(b'\n', held) {
                self.offset += at as u64 + 1;
                self.start += at + 1;
                is_terminated = true;
                break;
            }
            self.offset += held.len() as u64;
            self.start = self.read;
            if !self.fill()? {
                break;
            }
        }
        Ok(RawLine { offset, length: self.offset - offset, is_terminated, content: LineBytes::TooLong })
    }

    /// Reads on; false at the end.
    fn fill(&mut self) -> io::Result<bool> {
        self.buffer.copy_within(self.start..self.read, 0);
        let held = self.read - self.start;
        let at = self.offset + held as u64;
        let want = usize::try_from(self.end.saturating_sub(at)).map_or(CHUNK, |left| left.min(CHUNK));
        // It never shrinks, so that what was read before is not cleared for what is read next.
        if self.buffer.len() < held + want {
            self.buffer.resize(held + want, 0);
        }
        let more = read_at(self.file, &mut self.buffer[held..held + want], at)?;
        (self.start, self.read) = (0, held + more);
        Ok(more > 0)
    }
}

/// Fills a buffer from a place in a file, as far as the file goes.
pub(super) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut read = 0;
    while read < buffer.len() {
        match file.read_at(&mut buffer[read..], offset + read as u64) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(cause),
        }
    }
    Ok(read)
}

/// Overwrites the lines of a file that hold a text with blanks, durably. A file that is not there has none.
pub(super) fn blank(path: &Path, text: &str) -> io::Result<()> {
    let file = match durable::open_to_write(path) {
        Ok(file) => file,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(cause) => return Err(cause),
    };
    let mut places = Vec::new();
    let mut lines = FileLines::new(&file, 0, file.metadata()?.len(), LONGEST);
    while let Some(piece) = lines.next()? {
        let is_meant = match piece.content {
            LineBytes::Bytes(line) => memmem::find(line, text.as_bytes()).is_some(),
            LineBytes::TooLong => true,
        };
        if is_meant {
            places.push((piece.offset, piece.length - u64::from(piece.is_terminated)));
        }
    }
    for (offset, length) in &places {
        durable::write_at(&file, *offset, &vec![b' '; usize::try_from(*length).unwrap_or_default()])?;
    }
    if places.is_empty() { Ok(()) } else { file.sync_data() }
}

/// FNV-1a, against accidents.
pub(super) fn checksum(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a text as `offset:text`, `?` for one without an end and `!` for one that is too long.
    fn split(text: &[u8], longest: usize) -> Vec<String> {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(text, 0).unwrap();
        let mut lines = FileLines::new(&file, 0, text.len() as u64, longest);
        let mut told = Vec::new();
        while let Some(piece) = lines.next().unwrap() {
            let content = match piece.content {
                LineBytes::Bytes(bytes) => String::from_utf8_lossy(&bytes[..bytes.len().min(9)]).into_owned(),
                LineBytes::TooLong => "!".to_owned(),
            };
            told.push(format!("{}:{content}{}", piece.offset, if piece.is_terminated { "" } else { "?" }));
        }
        told
    }

    #[test]
    fn lines_come_with_their_places_and_the_last_may_lack_its_end() {
        assert_eq!(split(b"ab\n\ncd", 10), ["0:ab", "3:", "4:cd?"]);
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over_without_being_held() {
        let mut text = b"ab\n".to_vec();
        text.extend(std::iter::repeat_n(b'x', 3 * CHUNK));
        text.extend(b"\ncd\n");

        assert_eq!(split(&text, 10), ["0:ab", "3:!", &format!("{}:cd", 3 * CHUNK + 4)]);
    }

    #[test]
    fn a_line_longer_than_what_is_read_at_a_time_comes_whole() {
        let mut text = vec![b'x'; 2 * CHUNK + 1];
        text.push(b'\n');

        assert_eq!(split(&text, 4 * CHUNK), ["0:xxxxxxxxx"]);
    }
}
