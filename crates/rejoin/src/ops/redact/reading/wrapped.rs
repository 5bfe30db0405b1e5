//! Tokens that are wrapped into several lines: by a terminal, by mail, by a
//! backslash, or as a text in pieces.

use crate::ops::redact::reading::{ReadingWriter, TextReading};

/// The least letters of a token that stand at the end of a line and go on in the next, and those there.
const FIRST: usize = 8;
const REST: usize = 4;

/// Lines of folded base64 are no shorter.
const FOLDED: usize = 40;

/// Words are longer nowhere.
const RUN: usize = 8 << 10;

/// A text with the lines joined that one token was wrapped into; none when there are none.
pub(super) fn joined(text: &str) -> Option<TextReading<'static>> {
    let bytes = text.as_bytes();
    let mut writer = ReadingWriter::default();
    let mut at = 0;
    let mut lines = memchr::memchr_iter(b'\n', bytes).peekable();
    let mut quotes = memchr::memchr3_iter(b'"', b'\'', b'`', bytes).peekable();
    // Whichever comes first.
    while let Some(place) = match (lines.peek(), quotes.peek()) {
        (Some(line), Some(quote)) if quote < line => quotes.next(),
        (None, _) => quotes.next(),
        _ => lines.next(),
    } {
        if place < at {
            continue;
        }
        let part = match bytes[place] {
            b'\n' => continuation(bytes, place).or_else(|| wrap(bytes, place)),
            _ => pieces(bytes, place),
        };
        if let Some((start, end, with)) = part.filter(|(start, _, _)| *start >= writer.copied) {
            writer.replace(text, start..end, with);
            at = end.max(at);
        }
    }
    writer.finish(text)
}

type WrappedPart = (usize, usize, &'static str);

/// A backslash, or the sign of another shell, at the end of a line: what follows belongs to
/// the same word unless it is indented.
fn continuation(bytes: &[u8], line: usize) -> Option<WrappedPart> {
    let sign = line.checked_sub(1 + usize::from(line > 1 && bytes[line - 1] == b'\r'))?;
    if !matches!(bytes[sign], b'\\' | b'^' | b'`') || sign == 0 {
        return None;
    }
    let indent = blanks(&bytes[line + 1..]);
    let is_option = bytes.get(line + 1 + indent) == Some(&b'-');
    let is_apart =
        bytes[sign - 1].is_ascii_whitespace() || indent > 0 && (is_option || !is_inside(bytes, sign));
    // A fence or a quoted word is no continuation.
    if bytes[sign] != b'\\' && !bytes[sign - 1].is_ascii_whitespace() {
        return None;
    }
    Some((sign, line + 1 + indent, if is_apart { " " } else { "" }))
}

/// True when a token stands before a sign that looks as if it went on.
fn is_inside(bytes: &[u8], end: usize) -> bool {
    let run = run_before(bytes, end);
    let value = run.rsplit(|byte| *byte == b'=').next().unwrap_or(run);
    value.len() >= FIRST && is_made(value)
}

/// A line that ends with a token and another one that begins with its rest.
fn wrap(bytes: &[u8], line: usize) -> Option<WrappedPart> {
    let end = line - usize::from(line > 0 && bytes[line - 1] == b'\r');
    let end = before_border(bytes, end);
    let first = run_before(bytes, end);
    if first.len() < FIRST || !is_made(first) {
        return None;
    }
    let mut begin = line + 1 + blanks(&bytes[line + 1..]);
    if let Some(border) = bytes.get(begin..).and_then(border) {
        begin += border + blanks(&bytes[begin + border..]);
    }
    let rest = run_after(bytes, begin);
    let padding = rest.iter().rev().take_while(|byte| **byte == b'=').count();
    if rest[..rest.len() - padding].contains(&b'=') {
        // A name and a value of its own.
        return None;
    }
    let next = bytes.get(begin + rest.len());
    let after = begin + rest.len();
    let is_framed = border(&bytes[after + blanks(&bytes[after..])..]).is_some_and(|length| length > 1);
    let is_end = is_framed || matches!(next, None | Some(b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'<'));
    let is_clear =
        rest.len() >= 12 && is_made(rest) && matches!(next, Some(b' ' | b',' | b'.' | b';' | b')'));
    // The last line of what is folded may be short.
    let is_folded = first.len() >= FOLDED && is_mixed(first) || rest.len() >= 16;
    let is_rest =
        rest.len() >= REST && (is_made(rest) || is_folded && is_mixed(rest) || rest.ends_with(b"="));
    (is_rest && (is_end || is_clear)).then_some((end, begin, ""))
}

/// Two texts in quotes that a program joins: `"abc" + "def"`, or one below the other.
fn pieces(bytes: &[u8], quote: usize) -> Option<WrappedPart> {
    let rest = &bytes[quote + 1..bytes.len().min(quote + 200)];
    let gap = rest
        .iter()
        .take_while(|byte| byte.is_ascii_whitespace() || matches!(byte, b'+' | b'\\' | b'.'))
        .count();
    let is_text =
        rest.get(gap) == Some(&bytes[quote]) && rest.get(gap + 1).is_some_and(|byte| is_of_token(*byte));
    let is_joined = || rest[..gap].iter().any(|byte| matches!(byte, b'+' | b'\n' | b'.'));
    let is_part = is_text && is_joined() && run_before(bytes, quote).len() >= REST;
    is_part.then_some((quote, quote + 1 + gap + 1, ""))
}

fn blanks(bytes: &[u8]) -> usize {
    bytes.iter().take(200).take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// Signs that lines are framed with: a quote in a mail, a comment, a box.
const BORDERS: [&[u8]; 6] =
    [b">", b"#", b"|", "\u{2502}".as_bytes(), "\u{2503}".as_bytes(), "\u{2551}".as_bytes()];

/// How long the sign is that a line is framed with.
fn border(bytes: &[u8]) -> Option<usize> {
    BORDERS.iter().find(|border| bytes.starts_with(border)).map(|border| border.len())
}

/// Where a line ends before the sign that it is framed with, and before the blanks there.
fn before_border(bytes: &[u8], end: usize) -> usize {
    let near = &bytes[end.saturating_sub(200)..end];
    match BORDERS.iter().find_map(|border| near.strip_suffix(*border)) {
        Some(inner) => end - near.len() + inner.trim_ascii_end().len(),
        None => end,
    }
}

fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'/' | b'=' | b'.' | b'~')
}

fn run_before(bytes: &[u8], end: usize) -> &[u8] {
    let length = bytes[..end].iter().rev().take(RUN).take_while(|byte| is_of_token(**byte)).count();
    &bytes[end - length..end]
}

fn run_after(bytes: &[u8], begin: usize) -> &[u8] {
    let rest = bytes.get(begin..).unwrap_or_default();
    &rest[..rest.iter().take(RUN).take_while(|byte| is_of_token(**byte)).count()]
}

/// True for letters and digits, as programs make them.
fn is_made(run: &[u8]) -> bool {
    run.iter().any(u8::is_ascii_digit) && run.iter().any(u8::is_ascii_alphabetic)
}

fn is_mixed(run: &[u8]) -> bool {
    run.iter().any(u8::is_ascii_lowercase) && run.iter().any(u8::is_ascii_uppercase)
}
