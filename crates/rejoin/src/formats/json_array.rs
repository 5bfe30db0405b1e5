//! Streams the items of a JSON array within limits: an export is one array of all conversations.
//!
//! Only brackets and strings are scanned here, so the array is never loaded into memory. The caller's parser
//! finds out whether an item is valid JSON.

use std::cell::Cell;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::rc::Rc;

use crate::error::{Error, Result};
use crate::formats::lines::{UTF8_MARK, is_utf16, unreadable};
use crate::formats::zipped::{CountedFile, ZIP, Zipped};
use crate::formats::{ReadLimits, Reading, Source, SourcePiece};

/// The size of the read buffer.
const STEP: usize = 256 * 1024;

/// Receives an item: its text and its number, from 1.
type TakeItem<'t> = dyn FnMut(&str, u64, &mut Reading<'_>) -> Result<()> + 't;

/// Passes every item of an export to `take`, in order: from a file, or from the conversations in a zip.
pub(super) fn each_item(source: &Source, reading: &mut Reading<'_>, take: &mut TakeItem<'_>) -> Result<()> {
    let (path, limits) = (source.path(), reading.limits());
    let failed = |cause| unreadable(path, cause);
    let mut file = File::open(path).map_err(failed)?;
    let mut first = [0; 4];
    let is_zip = file.read_exact(&mut first).is_ok() && first == ZIP;
    let file = CountedFile::new(File::open(path).map_err(failed)?);
    let mut progress = ReadProgress { count: file.count(), reported: 0 };
    let mut number = 0;
    if !is_zip {
        let mut items = ArrayItems::new(path, file, limits.file_bytes);
        return items.give(&mut number, &mut progress, reading, take);
    }
    let mut zip = Zipped::open(path, file)?;
    if zip.len() == 0 {
        return Err(Error::invalid("there is no `conversations.json` in the zip"));
    }
    let mut most = source.bytes().saturating_mul(limits.ratio).min(limits.file_bytes);
    for place in 0..zip.len() {
        let mut items = ArrayItems::new(path, zip.entry(place)?, most);
        items.give(&mut number, &mut progress, reading, take)?;
        // The limit covers all entries together, because several may share the same bytes of the file.
        most -= items.passed;
    }
    Ok(())
}

/// How much of the file was read and reported.
struct ReadProgress {
    count: Rc<Cell<u64>>,
    reported: u64,
}

impl ReadProgress {
    fn report(&mut self, reading: &mut Reading<'_>) -> Result<()> {
        let passed = self.count.get().saturating_sub(self.reported);
        self.reported = self.count.get();
        if passed == 0 { Ok(()) } else { reading.give(SourcePiece::Passed(passed)) }
    }
}

/// One array while it is read.
struct ArrayItems<'a, R> {
    path: &'a Path,
    input: BufReader<R>,
    /// Bytes of contents so far.
    passed: u64,
    /// The limit of `passed`.
    most: u64,
    place: Position,
    /// The current item.
    item: Vec<u8>,
}

/// Where in the file the next byte is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    Start,
    /// Between the items of an array.
    Between,
    /// After the array, or after the one object that the file is.
    End,
}

/// The outcome of a step.
enum NextItem {
    Item,
    /// An item that nests deeper than allowed.
    Deep,
    /// The contents end inside the array.
    Torn,
    End,
}

impl<'a, R: Read> ArrayItems<'a, R> {
    fn new(path: &'a Path, input: R, most: u64) -> Self {
        let input = BufReader::with_capacity(STEP, input);
        Self { path, input, passed: 0, most, place: Position::Start, item: Vec::new() }
    }

    fn give(
        &mut self,
        number: &mut u64,
        progress: &mut ReadProgress,
        reading: &mut Reading<'_>,
        take: &mut TakeItem<'_>,
    ) -> Result<()> {
        let limits = reading.limits();
        loop {
            *number += 1;
            let found = self.advance(*number, limits)?;
            progress.report(reading)?;
            match found {
                NextItem::Item => match str::from_utf8(&self.item) {
                    Ok(text) => take(text, *number, reading)?,
                    Err(_) => reading.skip(self.path, *number, "it is not UTF-8")?,
                },
                NextItem::Deep => reading.skip(self.path, *number, "it nests too deep")?,
                NextItem::Torn => {
                    reading.skip(self.path, *number, "the file ends in the middle of the list")?;
                    return Ok(());
                }
                NextItem::End => {
                    *number -= 1;
                    return Ok(());
                }
            }
        }
    }

    /// Advances to the next item.
    fn advance(&mut self, number: u64, limits: ReadLimits) -> Result<NextItem> {
        self.item.clear();
        // White space counts too, so that a file of nothing else has an end.
        let mut before = 0;
        let is_alone = loop {
            let Some(byte) = self.peek()? else {
                return Ok(if self.place == Position::End { NextItem::End } else { NextItem::Torn });
            };
            before += 1;
            check(before, limits.line_bytes, number)?;
            match (self.place, byte) {
                (Position::End, _) => return Ok(NextItem::End),
                (_, b' ' | b'\n' | b'\r' | b'\t') | (Position::Between, b',') => self.pass(1)?,
                (Position::Start, b'[') => {
                    self.place = Position::Between;
                    self.pass(1)?;
                }
                (Position::Start, b'{') => break true,
                (Position::Start, _) if before == 1 && self.has_mark()? => {}
                (Position::Start, _) => return Err(Error::invalid("it is not a JSON list of conversations")),
                (Position::Between, b']') => {
                    self.place = Position::End;
                    return Ok(NextItem::End);
                }
                (Position::Between, b'{' | b'[' | b'"') => break false,
                (Position::Between, _) => {
                    return Err(Error::invalid(format!("item {number} of the list is not JSON")));
                }
            }
        };
        let found = self.fill(number, limits)?;
        if is_alone {
            self.place = Position::End;
        }
        Ok(found)
    }

    /// Skips the byte order mark at the start of a file.
    fn has_mark(&mut self) -> Result<bool> {
        let start = self.input.fill_buf().map_err(|cause| unreadable(self.path, cause))?;
        if is_utf16(start) {
            return Err(Error::invalid("the text is UTF-16; only UTF-8 can be read"));
        }
        let has_mark = start.starts_with(&UTF8_MARK);
        if has_mark {
            self.pass(UTF8_MARK.len())?;
        }
        Ok(has_mark)
    }

    /// Reads an item until its brackets are closed.
    fn fill(&mut self, number: u64, limits: ReadLimits) -> Result<NextItem> {
        let mut scan = Scan::default();
        loop {
            let chunk = self.input.fill_buf().map_err(|cause| unreadable(self.path, cause))?;
            if chunk.is_empty() {
                return Ok(NextItem::Torn);
            }
            let (length, is_whole) = scan.advance(chunk);
            self.item.extend_from_slice(&chunk[..length]);
            check(self.item.len() as u64, limits.line_bytes, number)?;
            self.pass(length)?;
            if is_whole {
                return Ok(if scan.deepest > limits.depth { NextItem::Deep } else { NextItem::Item });
            }
        }
    }

    fn peek(&mut self) -> Result<Option<u8>> {
        let chunk = self.input.fill_buf().map_err(|cause| unreadable(self.path, cause))?;
        Ok(chunk.first().copied())
    }

    fn pass(&mut self, length: usize) -> Result<()> {
        self.input.consume(length);
        self.passed += length as u64;
        if self.passed > self.most {
            return Err(Error::invalid(format!("the contents have more than {} bytes", self.most)));
        }
        Ok(())
    }
}

fn check(bytes: u64, most: u64, number: u64) -> Result<()> {
    if bytes > most {
        return Err(Error::invalid(format!("conversation {number} has more than {most} bytes")));
    }
    Ok(())
}

/// Finds the end of a value by its brackets and quotes.
#[derive(Default)]
struct Scan {
    depth: usize,
    deepest: usize,
    is_in_string: bool,
    /// True when the previous byte was an escaping backslash.
    is_escaped: bool,
}

impl Scan {
    /// Returns how much of a chunk belongs to the value, and whether the value ends there.
    fn advance(&mut self, chunk: &[u8]) -> (usize, bool) {
        let mut at = 0;
        while at < chunk.len() {
            if self.is_escaped {
                self.is_escaped = false;
                at += 1;
                continue;
            }
            if self.is_in_string {
                let Some(next) = memchr::memchr2(b'"', b'\\', &chunk[at..]) else {
                    return (chunk.len(), false);
                };
                at += next + 1;
                self.is_escaped = chunk[at - 1] == b'\\';
                self.is_in_string = self.is_escaped;
            } else {
                match chunk[at] {
                    b'"' => self.is_in_string = true,
                    b'{' | b'[' => {
                        self.depth += 1;
                        self.deepest = self.deepest.max(self.depth);
                    }
                    b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                    _ => {}
                }
                at += 1;
            }
            if self.depth == 0 && !self.is_in_string {
                return (at, true);
            }
        }
        (at, false)
    }
}

/// Returns the field names of the first object at the start of a file, as far as `head` reaches.
///
/// The object is the file's only value or the first item of its array.
pub(super) fn first_fields(head: &[u8]) -> Vec<&str> {
    let mut names = Vec::new();
    let start = head.iter().position(|byte| !matches!(byte, b' ' | b'\n' | b'\r' | b'\t' | b'['));
    let Some(mut rest) = start.and_then(|start| head[start..].strip_prefix(b"{")) else { return names };
    loop {
        let Some(quote) = rest.iter().position(|byte| !matches!(byte, b' ' | b'\n' | b'\r' | b'\t' | b','))
        else {
            return names;
        };
        let Some(after) = rest[quote..].strip_prefix(b"\"") else { return names };
        let Some(end) = memchr::memchr(b'"', after) else { return names };
        names.extend(str::from_utf8(&after[..end]));
        let Some(colon) = memchr::memchr(b':', &after[end..]) else { return names };
        rest = &after[end + colon + 1..];
        let Some(length) = value_length(rest) else { return names };
        rest = &rest[length..];
    }
}

/// Returns the length of a value; none if it does not end here.
fn value_length(bytes: &[u8]) -> Option<usize> {
    let start = bytes.iter().position(|byte| !matches!(byte, b' ' | b'\n' | b'\r' | b'\t'))?;
    if matches!(bytes[start], b'{' | b'[' | b'"') {
        let (length, is_whole) = Scan::default().advance(&bytes[start..]);
        return is_whole.then_some(start + length);
    }
    bytes.iter().position(|byte| matches!(byte, b',' | b'}'))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::formats::Tree;

    /// The items of a file with these bytes, and what was skipped.
    fn read(bytes: &[u8], limits: ReadLimits) -> Result<(Vec<String>, Vec<String>)> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, bytes).unwrap();
        let source = Source::open(&path)?;
        let mut items = Vec::new();
        let tree = Tree::gather(limits, |reading| {
            each_item(&source, reading, &mut |text, number, _| {
                items.push(format!("{number} {text}"));
                Ok(())
            })
        })?;
        Ok((items, tree.skipped.iter().map(|skipped| format!("{} {}", skipped.line, skipped.why)).collect()))
    }

    fn limits() -> ReadLimits {
        ReadLimits { line_bytes: 40, depth: 3, ..ReadLimits::default() }
    }

    #[test]
    fn items_are_found_by_their_brackets() {
        let text = "\u{feff} [ {\"a\": \"]}\\\"\\\\\"} ,\n{\"b\":[1,{}]}]  trailing";

        let (items, skipped) = read(text.as_bytes(), limits()).unwrap();

        assert_eq!(items, ["1 {\"a\": \"]}\\\"\\\\\"}", "2 {\"b\":[1,{}]}"]);
        assert_eq!(skipped, [""; 0]);
    }

    #[test]
    fn one_object_is_one_item() {
        assert_eq!(read(b" {\"a\":1} ", limits()).unwrap().0, ["1 {\"a\":1}"]);
    }

    #[test]
    fn what_is_torn_deep_or_in_another_encoding_is_told() {
        let bytes = b"[{\"a\":1},[[[[]]]],{\"\xff\":1},{\"b\":";

        let (items, skipped) = read(bytes, limits()).unwrap();

        assert_eq!(items, ["1 {\"a\":1}"]);
        let why = ["2 it nests too deep", "3 it is not UTF-8", "4 the file ends in the middle of the list"];
        assert_eq!(skipped, why);
    }

    #[test]
    fn what_is_no_list_or_too_long_is_an_error() {
        let long = format!("[{{}},\"{}\"]", "x".repeat(50));
        let blank = format!("[{}]", " ".repeat(50));
        let wide: Vec<u8> = "\u{feff}[{}]".encode_utf16().flat_map(u16::to_le_bytes).collect();

        let errors = [b"nothing", long.as_bytes(), blank.as_bytes(), b"[{},}]", &wide]
            .map(|bytes: &[u8]| read(bytes, limits()).unwrap_err().to_string());

        let expected = [
            "it is not a JSON list of conversations",
            "conversation 2 has more than 40 bytes",
            "conversation 1 has more than 40 bytes",
            "item 2 of the list is not JSON",
            "the text is UTF-16; only UTF-8 can be read",
        ];
        assert_eq!(errors, expected);
    }

    #[test]
    fn the_fields_of_the_first_object_are_known_before_it_ends() {
        let heads =
            [r#"[ {"a": {"x": "}"}, "b" : null, "c": ["#, r#"{"a":1,"b":"#, r#"[[{"a":1}]]"#, "{\"a", ""];

        let fields = heads.map(|head| first_fields(head.as_bytes()));

        assert_eq!(fields, [vec!["a", "b", "c"], vec!["a", "b"], vec!["a"], vec![], vec![]]);
    }
}
