//! Reads a file line by line, within limits. Compressed files are decompressed.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::error::Category;

use crate::error::{Error, ErrorKind, Result};
use crate::formats::{Reading, SourcePiece};

/// The size of the read buffer, and the interval of progress reports.
const STEP: usize = 256 * 1024;

/// The magic number of a zstd file.
pub(super) const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The byte order mark that some programs put at the start of a UTF-8 file.
pub(super) const UTF8_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// True for the start of a UTF-16 text.
pub(super) fn is_utf16(start: &[u8]) -> bool {
    start.starts_with(&[0xff, 0xfe]) || start.starts_with(&[0xfe, 0xff])
}

/// A line of a source: its number, from 1, and its text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SourceLine<'a> {
    pub(super) number: u64,
    pub(super) text: &'a str,
}

/// A file that is read line by line.
pub(super) struct SourceLines {
    path: PathBuf,
    input: Box<dyn BufRead>,
    /// The number of the current line, from 1.
    number: u64,
    /// The bytes of all lines so far.
    passed: u64,
    /// How many of them were reported as progress.
    reported: u64,
    /// The limit of `passed`, from the size of the file and the read limits.
    most: u64,
    /// The buffer that lines are read into.
    buffer: Vec<u8>,
    /// The current line, once it is known to be UTF-8.
    line: String,
    /// True when the line has its newline.
    is_ended: bool,
}

impl SourceLines {
    pub(super) fn open(path: &Path, reading: &Reading<'_>) -> Result<Self> {
        let failed = |cause| unreadable(path, cause);
        let mut file = File::open(path).map_err(failed)?;
        let size = file.metadata().map_err(failed)?.len();
        let mut first = [0; 4];
        let is_compressed = file.read_exact(&mut first).is_ok() && first == ZSTD;
        let file = File::open(path).map_err(failed)?;
        let limits = reading.limits();
        let (input, most): (Box<dyn BufRead>, u64) = if is_compressed {
            let decoder = zstd::Decoder::new(file).map_err(failed)?;
            let most = size.saturating_mul(limits.ratio).min(limits.file_bytes);
            (Box::new(BufReader::with_capacity(STEP, decoder)), most)
        } else {
            (Box::new(BufReader::with_capacity(STEP, file)), limits.file_bytes)
        };
        Ok(Self {
            path: path.to_owned(),
            input,
            number: 0,
            passed: 0,
            reported: 0,
            most,
            buffer: Vec::new(),
            line: String::new(),
            is_ended: true,
        })
    }

    /// Advances to the next line that is UTF-8 and not nested too deep. Skips and reports the others.
    pub(super) fn advance(&mut self, reading: &mut Reading<'_>) -> Result<bool> {
        while self.next(reading)? {
            if self.buffer.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            match self.check(reading.limits().depth) {
                Ok(()) => return Ok(true),
                Err(why) => reading.skip(&self.path, self.number, self.why(why))?,
            }
        }
        Ok(false)
    }

    /// Advances to the next line that is UTF-8, whatever it contains. Skips and reports the others.
    pub(super) fn advance_text(&mut self, reading: &mut Reading<'_>) -> Result<bool> {
        while self.next(reading)? {
            match self.check(usize::MAX) {
                Ok(()) => return Ok(true),
                Err(why) => reading.skip(&self.path, self.number, self.why(why))?,
            }
        }
        Ok(false)
    }

    /// Reads the next line.
    fn next(&mut self, reading: &mut Reading<'_>) -> Result<bool> {
        match self.fill(reading.limits().line_bytes)? {
            FilledLine::Nothing => {
                self.report(reading)?;
                return Ok(false);
            }
            FilledLine::Ended => self.is_ended = true,
            FilledLine::Torn => self.is_ended = false,
        }
        if self.number == 1 {
            if is_utf16(&self.buffer) {
                return Err(Error::invalid("the text is UTF-16; only UTF-8 can be read"));
            }
            if self.buffer.starts_with(&UTF8_MARK) {
                self.buffer.drain(..UTF8_MARK.len());
            }
        }
        if self.passed - self.reported >= STEP as u64 {
            self.report(reading)?;
        }
        Ok(true)
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The number of the line, from 1.
    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    /// The line unchanged, without its newline.
    pub(super) fn whole(&self) -> &str {
        self.line.strip_suffix('\r').unwrap_or(&self.line)
    }

    /// The number and the text of the line.
    pub(super) fn current(&self) -> SourceLine<'_> {
        SourceLine { number: self.number, text: self.text() }
    }

    /// The line without surrounding white space.
    pub(super) fn text(&self) -> &str {
        self.line.trim()
    }

    /// Parses the line as JSON, or returns why it is not.
    ///
    /// The last line may lack its newline; if it does not parse, the file was cut off.
    pub(super) fn parse<'a, T: Deserialize<'a>>(&'a self) -> std::result::Result<T, String> {
        serde_json::from_str(self.text()).map_err(|cause| self.why_not(&cause))
    }

    /// Explains why the line did not parse.
    pub(super) fn why_not(&self, cause: &serde_json::Error) -> String {
        match cause.classify() {
            Category::Data => format!("a field is not what it should be: {cause}"),
            Category::Syntax | Category::Eof | Category::Io => self.why("it is not JSON").to_owned(),
        }
    }

    /// Checks a line before it is parsed, because parsers recurse.
    fn check(&mut self, depth: usize) -> std::result::Result<(), &'static str> {
        match String::from_utf8(std::mem::take(&mut self.buffer)) {
            Ok(line) => self.line = line,
            Err(_) => return Err("it is not UTF-8"),
        }
        // Most lines do not contain so many brackets at all.
        let brackets = memchr::memchr2_iter(b'{', b'[', self.line.as_bytes()).nth(depth);
        if brackets.is_some() && deepest(self.line.as_bytes()) > depth {
            return Err("it nests too deep");
        }
        Ok(())
    }

    const fn why(&self, why: &'static str) -> &'static str {
        if self.is_ended { why } else { "the file ends in the middle of this line" }
    }

    fn report(&mut self, reading: &mut Reading<'_>) -> Result<()> {
        let passed = self.passed - self.reported;
        self.reported = self.passed;
        if passed == 0 { Ok(()) } else { reading.give(SourcePiece::Passed(passed)) }
    }

    fn fill(&mut self, most: u64) -> Result<FilledLine> {
        if self.buffer.is_empty() {
            self.buffer = std::mem::take(&mut self.line).into_bytes();
        }
        self.buffer.clear();
        self.number += 1;
        let read = (&mut self.input)
            .take(most.saturating_add(1))
            .read_until(b'\n', &mut self.buffer)
            .map_err(|cause| unreadable(&self.path, cause))? as u64;
        self.passed += read;
        if read > most {
            return Err(Error::invalid(format!("line {} has more than {most} bytes", self.number)));
        }
        if self.passed > self.most {
            return Err(Error::invalid(format!("the contents have more than {} bytes", self.most)));
        }
        if read == 0 {
            return Ok(FilledLine::Nothing);
        }
        if self.buffer.last() == Some(&b'\n') {
            self.buffer.pop();
            return Ok(FilledLine::Ended);
        }
        Ok(FilledLine::Torn)
    }
}

enum FilledLine {
    /// A complete line.
    Ended,
    /// The last line, without its newline.
    Torn,
    /// The end of the file.
    Nothing,
}

pub(super) fn unreadable(path: &Path, cause: std::io::Error) -> Error {
    let kind = match cause.kind() {
        std::io::ErrorKind::NotFound => ErrorKind::NotFound,
        _ => ErrorKind::Unavailable,
    };
    Error::new(kind, format!("read `{}`", path.display())).because(cause)
}

/// Returns how deep brackets nest outside strings.
pub(super) fn deepest(line: &[u8]) -> usize {
    let (mut depth, mut deepest, mut rest) = (0usize, 0, line);
    while let Some(place) = memchr::memchr3(b'{', b'[', b'"', rest) {
        depth = depth.saturating_sub(closed(&rest[..place]));
        let found = rest[place];
        rest = &rest[place + 1..];
        if found == b'"' {
            rest = after_string(rest);
        } else {
            depth += 1;
            deepest = deepest.max(depth);
        }
    }
    deepest
}

fn closed(between: &[u8]) -> usize {
    between.iter().filter(|byte| matches!(byte, b'}' | b']')).count()
}

fn after_string(mut rest: &[u8]) -> &[u8] {
    while let Some(place) = memchr::memchr2(b'"', b'\\', rest) {
        let found = rest[place];
        rest = &rest[place + 1..];
        if found == b'"' {
            return rest;
        }
        rest = rest.get(1..).unwrap_or_default();
    }
    &[]
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::formats::{ReadLimits, Skipped, Tree};

    /// Numbers and texts.
    type Numbered = Vec<(u64, String)>;

    /// The lines of a file with these bytes, and what was skipped.
    fn read(bytes: &[u8], limits: ReadLimits) -> Result<(Numbered, Numbered)> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, bytes).unwrap();
        let mut lines = Vec::new();
        let tree = Tree::gather(limits, |reading| {
            let mut file = SourceLines::open(&path, reading)?;
            while file.advance(reading)? {
                match file.parse::<serde_json::Value>() {
                    Ok(_) => lines.push((file.number(), file.text().to_owned())),
                    Err(why) => reading.skip(&path, file.number(), why)?,
                }
            }
            Ok(())
        })?;
        let skipped = tree.skipped.into_iter().map(|Skipped { line, why, .. }| (line, why)).collect();
        Ok((lines, skipped))
    }

    fn owned(lines: &[(u64, &str)]) -> Numbered {
        lines.iter().map(|(number, text)| (*number, (*text).to_owned())).collect()
    }

    #[test]
    fn a_bad_line_is_skipped_and_told() {
        let bytes = b"{\"a\":1}\r\n\n{\"a\n\xff\xfe\n[1]\n{\"torn";

        let (lines, skipped) = read(bytes, ReadLimits::default()).unwrap();

        assert_eq!(lines, owned(&[(1, r#"{"a":1}"#), (5, "[1]")]));
        let why =
            [(3, "it is not JSON"), (4, "it is not UTF-8"), (6, "the file ends in the middle of this line")];
        assert_eq!(skipped, owned(&why));
    }

    #[test]
    fn a_last_line_without_its_line_feed_is_read() {
        assert_eq!(read(b"[1]\n[2]", ReadLimits::default()).unwrap().0, owned(&[(1, "[1]"), (2, "[2]")]));
    }

    #[test]
    fn deep_nesting_is_skipped() {
        let deep = format!("{}{}\n[\"[[[[\\\"[[[\"]\n", "[".repeat(50), "]".repeat(50));

        let (lines, skipped) =
            read(deep.as_bytes(), ReadLimits { depth: 3, ..ReadLimits::default() }).unwrap();

        assert_eq!((lines.len(), skipped), (1, owned(&[(1, "it nests too deep")])));
    }

    #[test]
    fn a_line_that_is_too_long_is_an_error() {
        let limits = ReadLimits { line_bytes: 10, ..ReadLimits::default() };

        let error = read(b"[1]\n[1,2,3,4,5,6]\n", limits).unwrap_err();

        assert_eq!(error.to_string(), "line 2 has more than 10 bytes");
    }

    #[test]
    fn a_limit_may_be_as_high_as_it_can_be() {
        let limits =
            ReadLimits { line_bytes: u64::MAX, file_bytes: u64::MAX, ratio: u64::MAX, depth: usize::MAX };

        assert_eq!(read(b"[1]\n", limits).unwrap().0, owned(&[(1, "[1]")]));
    }

    #[test]
    fn a_compressed_file_is_read_as_its_contents_and_may_not_explode() {
        let small = zstd::encode_all(&b"[1]\n"[..], 3).unwrap();
        let bomb = zstd::encode_all(&vec![b' '; 10_000_000][..], 3).unwrap();

        let read_small = read(&small, ReadLimits::default()).unwrap().0;
        let limits = ReadLimits { ratio: 100, ..ReadLimits::default() };
        let refused = read(&bomb, limits).unwrap_err().to_string();

        assert_eq!(read_small, owned(&[(1, "[1]")]));
        assert!(refused.starts_with("the contents have more than "), "{refused}");
    }
}
