//! JSON that is safe to print: what a terminal would act on is escaped, and
//! means the same to a reader of JSON.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use rejoin::PlainText;
use serde::ser::Error as _;
use serde::{Serialize, Serializer as Output};
use serde_json::ser::{Formatter, Serializer};

/// Writes a value on one line, without a line break.
pub(crate) fn write(output: &mut dyn Write, value: &(impl Serialize + ?Sized)) -> io::Result<()> {
    let mut serializer = Serializer::with_formatter(output, InertJson);
    value.serialize(&mut serializer).map_err(io::Error::from)
}

/// Returns a value on one line.
pub(crate) fn line(value: &impl Serialize) -> String {
    let mut output = Vec::new();
    write(&mut output, value).expect("memory does not fail");
    String::from_utf8(output).expect("only text is written")
}

/// A path as JSON can hold it. Bytes that are no text stand as `\u{fffd}`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathText<'a>(&'a Path);

/// Returns a path as JSON can hold it.
pub(crate) fn path(path: &Path) -> PathText<'_> {
    PathText(path)
}

impl Serialize for PathText<'_> {
    fn serialize<S: Output>(&self, output: S) -> Result<S::Ok, S::Error> {
        output.serialize_str(&self.0.to_string_lossy())
    }
}

/// A value that stands in JSON as people read it, such as a url.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JsonText<T>(pub(crate) T);

impl<T: fmt::Display> Serialize for JsonText<T> {
    fn serialize<S: Output>(&self, output: S) -> Result<S::Ok, S::Error> {
        output.collect_str(&self.0)
    }
}

/// Writes stored JSON like everything else in an answer, whatever its white
/// space and the form of its numbers.
pub(crate) fn in_one_form<S: Output>(stored: &impl Serialize, output: S) -> Result<S::Ok, S::Error> {
    serde_json::to_value(stored).map_err(S::Error::custom)?.serialize(output)
}

/// Returns JSON text with what a terminal would act on escaped.
pub(crate) fn inert(json: &str) -> String {
    let mut output = Vec::with_capacity(json.len());
    write_inert(&mut output, json).expect("memory does not fail");
    String::from_utf8(output).expect("only text is written")
}

/// The compact form, in which JSON itself escapes all control characters but those from 127 to 159.
struct InertJson;

impl Formatter for InertJson {
    fn write_string_fragment<W: Write + ?Sized>(&mut self, output: &mut W, text: &str) -> io::Result<()> {
        write_inert(output, text)
    }

    // Stored JSON is passed on as it is; such characters can stand in its strings only.
    fn write_raw_fragment<W: Write + ?Sized>(&mut self, output: &mut W, text: &str) -> io::Result<()> {
        write_inert(output, text)
    }
}

fn write_inert<W: Write + ?Sized>(output: &mut W, text: &str) -> io::Result<()> {
    let mut rest = text;
    while let Some(at) = rest.find(acts) {
        let (plain, after) = rest.split_at(at);
        output.write_all(plain.as_bytes())?;
        let mut characters = after.chars();
        if let Some(found) = characters.next() {
            for unit in found.encode_utf16(&mut [0; 2]) {
                write!(output, "\\u{unit:04x}")?;
            }
        }
        rest = characters.as_str();
    }
    output.write_all(rest.as_bytes())
}

/// The second set of control characters, what ends lines, and what hides or reorders them.
/// Joiners shape what stands beside them.
fn acts(character: char) -> bool {
    match character {
        ' '..='~' | '\u{200c}' | '\u{200d}' => false,
        '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' => true,
        character => PlainText::is_invisible(character),
    }
}

#[cfg(test)]
mod tests {
    use rejoin::Json;

    use super::*;

    #[test]
    fn text_of_json_is_escaped_too() {
        assert_eq!(inert("[\"\u{9b}2J\"]"), r#"["\u009b2J"]"#);
    }

    #[test]
    fn a_line_is_escaped_too() {
        assert_eq!(line(&"\u{9b}2J\u{202e}"), r#""\u009b2J\u202e""#);
    }

    #[test]
    fn what_a_terminal_acts_on_is_escaped_and_reads_back() {
        let text = "a\u{1b}[2J\u{9b}2J\u{7f}\u{202e}é\u{1f600}\u{feff}\u{e0041}";
        let raw = Json::parse("{\"k\":\"\u{9b}1m\"}").expect("it is JSON");
        let mut output = Vec::new();

        write(&mut output, &(text, raw)).expect("memory does not fail");

        let written = String::from_utf8(output).expect("only text is written");
        assert_eq!(written, r#"["a\u001b[2J\u009b2J\u007f\u202eé😀\ufeff\udb40\udc41",{"k":"\u009b1m"}]"#);
        let read: (String, serde_json::Value) = serde_json::from_str(&written).expect("it is JSON");
        assert_eq!(read.0, text);
    }
}
