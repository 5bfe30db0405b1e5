//! How a value is read that stands behind a name.

use std::ops::Range;

use crate::ops::redact::find::assignment::AssignedName;
use crate::ops::redact::find::judge::ValueForm;
use crate::ops::redact::find::letters::BARE;
use crate::ops::redact::find::{line_before, run_of, within};

/// The longest password with signs in it that end other values.
pub(super) const PASSWORD_BYTES: usize = 300;

/// The longest value that is one.
pub(super) const VALUE_BYTES: usize = 8 << 10;

/// How a value is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reads {
    /// There is no value.
    Nothing,
    /// In quotes, or up to where a program would end it.
    Any,
    /// The same, with what it is compared with in quotes.
    Compared,
    /// As a shell does.
    Variable,
    Quoted,
    /// In quotes, as an argument.
    Called,
    /// In quotes, unless a value follows that has this for a name.
    Listed,
    Bare,
    /// A cell of a table that ends with one of these.
    Cell([char; 2]),
    UpTo(char),
    /// The only word of its line.
    OnlyWord,
    /// The lines that are indented more than that of the name.
    Block,
    /// A word with nothing after it, in a command that sets the name.
    LastOfCommand,
    LastOfLine,
}

/// A value in a text.
#[derive(Debug)]
pub(super) struct FoundValue {
    pub(super) range: Range<usize>,
    pub(super) form: ValueForm,
}

impl Reads {
    /// The value that begins at a place behind a name.
    pub(super) fn value(self, text: &str, name: &AssignedName, at: usize) -> Option<FoundValue> {
        let at = at + text[at..].bytes().take_while(|byte| matches!(byte, b' ' | b'\t' | b'*')).count();
        let quoted = |form| {
            value_at(text, at)
                .filter(|value| value.form == ValueForm::Quoted)
                .map(|value| FoundValue { form, ..value })
        };
        let last = |form| {
            let value = bare(text, at)?;
            let is_last = line_of(text, value.range.end).trim_matches(['"', '\'', ' ', '\t', ';']).is_empty();
            is_last.then_some(FoundValue { form, ..value })
        };
        match self {
            Self::Nothing => None,
            Self::Any => value_at(text, at).map(|value| match value.form {
                ValueForm::Bare if name.begins_line(text) => whole_line(text, value),
                _ => value,
            }),
            Self::Compared => value_at(text, at).map(|value| {
                if value.form == ValueForm::Quoted {
                    FoundValue { form: ValueForm::Call, ..value }
                } else {
                    value
                }
            }),
            Self::Variable => variable(text, at),
            Self::Quoted => quoted(ValueForm::Quoted),
            Self::Called => quoted(ValueForm::Call),
            Self::Listed => quoted(ValueForm::Quoted).filter(|value| {
                // The next name of an object is no value of this one.
                !text[value.range.end..].trim_start_matches(['\\', '"', '\'']).starts_with(':')
            }),
            Self::Bare => bare(text, at),
            Self::Cell(ends) => cell(text, at, ends),
            Self::UpTo(end) => {
                let length = line_of(text, at).find(end)?;
                let value = text[at..at + length].trim_end_matches("]]>");
                Some(FoundValue { range: at..at + value.len(), form: ValueForm::Quoted })
            }
            Self::OnlyWord => {
                let line = line_of(text, at).trim_end().trim_end_matches(['`', '*']);
                (!line.is_empty()
                    && !line.contains(char::is_whitespace)
                    && !line.ends_with([':', ',', '{', ';']))
                .then(|| FoundValue { range: at..at + line.len(), form: ValueForm::Said })
            }
            Self::Block => block(text, name, at),
            Self::LastOfCommand => last(ValueForm::Line),
            Self::LastOfLine => last(ValueForm::Said),
        }
    }
}

/// The lines from a place on that are indented more than that of a name.
fn block(text: &str, name: &AssignedName, at: usize) -> Option<FoundValue> {
    let line = line_before(text, name.range.start, PASSWORD_BYTES);
    let indent = line.len() - line.trim_start_matches([' ', '-', '\t']).len();
    let start = text[..at].rfind('\n')? + 1;
    let (mut begin, mut end, mut next) = (None, start, start);
    for line in within(text, start, VALUE_BYTES).split_inclusive('\n') {
        let own = line.len() - line.trim_start().len();
        if !line.trim().is_empty() {
            if own <= indent {
                break;
            }
            begin = begin.or(Some(next + own));
            end = next + line.trim_end().len();
        }
        next += line.len();
    }
    begin.map(|begin| FoundValue { range: begin..end, form: ValueForm::Block })
}

/// What stands in a cell of a table that begins at `at`.
fn cell(text: &str, at: usize, ends: [char; 2]) -> Option<FoundValue> {
    let line = line_of(text, at);
    let cell = &line[..line.find(ends).unwrap_or(line.len())];
    let is_edge = |letter: char| letter.is_whitespace() || matches!(letter, '`' | '"' | '\'' | '*');
    let begin = at + cell.len() - cell.trim_start_matches(is_edge).len();
    let value = cell.trim_matches(is_edge);
    (!value.is_empty() && !value.contains(' '))
        .then(|| FoundValue { range: begin..begin + value.len(), form: ValueForm::Said })
}

/// The value with everything up to the end of its line, when that is one word.
fn whole_line(text: &str, value: FoundValue) -> FoundValue {
    let line = line_of(text, value.range.start);
    let word = line.split([' ', '\t']).next().unwrap_or_default();
    let rest = line[word.len()..].trim_start();
    let is_whole = (rest.is_empty() || rest.starts_with('#') || rest.starts_with("//"))
        && !word.ends_with([',', ';', '{', '(', '['])
        && !word.contains(['"', '`', '\\', '<', '>', '}']);
    if is_whole {
        FoundValue { range: value.range.start..value.range.start + word.len(), form: ValueForm::Line }
    } else {
        value
    }
}

/// A value in quotes, or up to where the program would end it.
fn value_at(text: &str, at: usize) -> Option<FoundValue> {
    let rest = &text.as_bytes()[at..];
    let is_quote = |byte: Option<&u8>| matches!(byte, Some(b'"' | b'\'' | b'`'));
    // A string may have a letter before it, as in `b"…"`.
    let has_letter =
        matches!(rest.first(), Some(b'r' | b'b' | b'f' | b'u' | b'L' | b'@')) && is_quote(rest.get(1));
    let begin = at + usize::from(has_letter);
    let slashes = text[begin..].bytes().take_while(|byte| *byte == b'\\').count();
    if is_quote(text.as_bytes().get(begin + slashes)) {
        let quote = &text[begin..=begin + slashes];
        let first = begin + quote.len();
        return match closing(line_of(text, first), quote) {
            Some(length) => Some(FoundValue { range: first..first + length, form: ValueForm::Quoted }),
            None => bare(text, first),
        };
    }
    match phrase(text, begin) {
        Some(length) => Some(FoundValue { range: begin..begin + length, form: ValueForm::Quoted }),
        None => bare(text, begin),
    }
}

/// How long the words are that a line consists of, when a program makes such words: four times
/// four letters, or a dozen words and more.
fn phrase(text: &str, begin: usize) -> Option<usize> {
    let first = text[begin..].bytes().take(9).take_while(u8::is_ascii_lowercase).count();
    // Most lines are seen to be none by their first word.
    if text.as_bytes().get(begin + first) != Some(&b' ') {
        return None;
    }
    let line = line_of(text, begin).trim_end();
    let is_word =
        |word: &str| (3..=8).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_lowercase());
    // What stands in one line may be long, and its first words tell.
    let is_phrase = line.split(' ').all(is_word)
        && match line.split(' ').count() {
            4 => line.split(' ').all(|word| word.len() == 4),
            count => count >= 12,
        };
    is_phrase.then_some(line.len())
}

/// Where the quote stands again that a value began with.
fn closing(line: &str, quote: &str) -> Option<usize> {
    if quote.len() > 1 {
        return line.find(quote);
    }
    let mut is_escaped = false;
    line.bytes().position(|byte| {
        let is_end = !is_escaped && byte == quote.as_bytes()[0];
        is_escaped = !is_escaped && byte == b'\\';
        is_end
    })
}

fn bare(text: &str, begin: usize) -> Option<FoundValue> {
    let near = line_within(text, begin, PASSWORD_BYTES);
    let next = text.as_bytes().get(begin + near.len());
    let is_cut = next.is_some_and(|next| !matches!(next, b'\n' | b'\r'));
    let end = match bare_end(near) {
        Some(end) => end,
        None if is_cut && is_list(near) => return None,
        None => {
            let line = line_of(text, begin);
            bare_end(line).unwrap_or(line.len())
        }
    };
    let value = text[begin..begin + end].trim_end_matches(['.', ')']);
    (!value.is_empty()).then(|| FoundValue { range: begin..begin + value.len(), form: ValueForm::Bare })
}

/// Where a value without quotes ends.
fn bare_end(line: &str) -> Option<usize> {
    let near = line.bytes().position(|byte| !BARE.include(byte))?;
    let is_end = |letter: char| {
        letter.is_whitespace()
            || u8::try_from(letter).is_ok_and(|byte| byte.is_ascii() && !BARE.include(byte))
    };
    if line.as_bytes()[near].is_ascii() {
        Some(near)
    } else {
        line[near..].find(is_end).map(|end| near + end)
    }
}

/// Where the letters of values end that begin at a place, as far as they are looked at.
pub(super) fn values_end(text: &str, at: usize) -> usize {
    at + run_of(text, at, |byte| BARE.include(byte)).len()
}

/// True when what follows a name is longer than a password and has names in it.
pub(super) fn is_endless(text: &str, at: usize, end: usize) -> bool {
    end - at > PASSWORD_BYTES && is_list(text[at..at + PASSWORD_BYTES].trim_start_matches(['=', ':']))
}

/// True for what is longer than a password and has names in it: no value, and too
/// long to be looked at for each of them.
fn is_list(value: &str) -> bool {
    value.trim_end_matches('=').contains(['=', ':'])
}

/// The value of a variable of a shell, or of a line in a file of them.
fn variable(text: &str, at: usize) -> Option<FoundValue> {
    // What stands in backticks is a command.
    let value = value_at(text, at).filter(|_| !text[at..].starts_with('`'))?;
    if value.form == ValueForm::Quoted {
        return Some(FoundValue { form: ValueForm::Variable, ..value });
    }
    let line = line_of(text, at);
    // A query or a list goes on after its sign.
    let is_long = value.range.len() >= 8;
    let is_end = |letter: char| {
        letter.is_whitespace()
            || matches!(letter, '"' | '\'' | '`' | '\\')
            || is_long && matches!(letter, '&' | ';')
    };
    let near = if is_long { line } else { within(line, 0, PASSWORD_BYTES) };
    let stop = near.find(is_end).unwrap_or(near.len());
    (stop > 0).then(|| FoundValue { range: at..at + stop, form: ValueForm::Variable })
}

/// The rest of a line, within bounds.
fn line_of(text: &str, at: usize) -> &str {
    line_within(text, at, VALUE_BYTES)
}

fn line_within(text: &str, at: usize, bytes: usize) -> &str {
    let near = within(text, at, bytes);
    &near[..memchr::memchr2(b'\n', b'\r', near.as_bytes()).unwrap_or(near.len())]
}
