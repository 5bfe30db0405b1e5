//! Keeps the beginning and the end of a text that may be endless.

use std::collections::VecDeque;

/// The beginning and the end of what a program prints. It never holds more than it shows.
#[derive(Debug)]
pub(super) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// How many bytes each of the two may hold.
    half: usize,
    total: u64,
}

impl Capture {
    /// Keeps at most so many bytes.
    pub(super) fn of(most: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), half: most / 2, total: 0 }
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (first, rest) = bytes.split_at(bytes.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(self.half)..];
        let overflow = (self.tail.len() + rest.len()).saturating_sub(self.half);
        self.tail.drain(..overflow);
        self.tail.extend(rest);
    }

    /// The text, with a line in place of what was left out.
    pub(super) fn into_text(self) -> String {
        let (head, tail): (Vec<u8>, Vec<u8>) = (self.head, self.tail.into());
        let left_out = self.total - head.len() as u64 - tail.len() as u64;
        if left_out == 0 {
            let whole = [head, tail].concat();
            return String::from_utf8_lossy(&whole).into_owned();
        }
        // Half a character at the cut is not worth a question mark.
        let (head, tail) = (until_whole(&head), from_whole(&tail));
        format!(
            "{}\n[{left_out} bytes left out]\n{}",
            String::from_utf8_lossy(head),
            String::from_utf8_lossy(tail)
        )
    }
}

/// A text of at most so many bytes, with the number of bytes left out told.
pub(crate) fn clip(text: &str, most: usize) -> String {
    let mut capture = Capture::of(most);
    capture.add(text.as_bytes());
    capture.into_text()
}

fn until_whole(bytes: &[u8]) -> &[u8] {
    match str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    }
}

fn from_whole(bytes: &[u8]) -> &[u8] {
    let skipped = bytes.iter().take(3).take_while(|byte| **byte & 0b1100_0000 == 0b1000_0000).count();
    &bytes[skipped..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_and_tail_are_kept_and_the_rest_is_counted() {
        let mut capture = Capture::of(8);
        for chunk in [&b"ab"[..], b"cdef", b"ghijklmnop", b"q"] {
            capture.add(chunk);
        }

        assert_eq!(capture.into_text(), "abcd\n[9 bytes left out]\nnopq");
    }

    #[test]
    fn what_fits_is_kept_whole() {
        assert_eq!(clip("abcdefgh", 8), "abcdefgh");
        assert_eq!(clip("", 8), "");
    }

    #[test]
    fn a_character_is_never_cut_in_half() {
        assert_eq!(clip("äöüäöüäöü", 10), "äö\n[8 bytes left out]\nöü");
    }
}
