//! One line of a file: the fields of the first document, Rejoin's own after them, and the message at the end.
//!
//! ```text
//! {"timestamp":"…","messageIndex":1,"messageType":"conversation","sessionId":"…","id":"…",…,"message":{…}}
//! ```
//!
//! The message is the body, byte for byte. A body that is no JSON object on one
//! line stands there as a string.

pub(in crate::store::jsonl) mod fast_parse;
pub(in crate::store::jsonl) mod meta;
pub(in crate::store::jsonl) mod octets;

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::model::{ConversationId, Digest, MessageId, Time};
use crate::store::body::is_json;
use crate::store::jsonl::line::octets::Octets;
use crate::store::{Put, Space, Stamp};

/// What stands between the fields of a line and its message.
const MESSAGE: &[u8] = b",\"message\":";

/// Whether a line holds a message or something about the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum LineType {
    Conversation,
    SessionMeta,
}

/// The fields of a line, all but the message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Line {
    pub(super) timestamp: Time,
    /// The sequence of a message; 0 for what is none.
    pub(super) message_index: u32,
    pub(super) message_type: LineType,
    pub(super) session_id: ConversationId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<MessageId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<MessageId>,
    /// The sequence of the first message of the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) turn: Option<u32>,
    /// The place of this line among those that were written together, from 1.
    #[serde(default = "one")]
    pub(super) n: u32,
    /// How many were written together: all of them count, or none.
    #[serde(default = "one")]
    pub(super) of: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) digest: Option<Digest>,
    /// True when the parent already had a child.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) forked: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) label: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) pinned: bool,
    /// True when the conversation was last active at this time, although an earlier line has a later one.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) resets_activity: bool,
    /// The stamp of the change that this line belongs to, on the last line of those written together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) change: Option<Stamp>,
    /// The stamp of the change before it in this file, beside `change`: one that is missing is missed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) after: Option<Stamp>,
    /// The beginning of the first message, where it was not known before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) first: Option<String>,
    /// The beginning of the newest assistant message, where the turn has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last: Option<String>,
    /// The named branch that the turn goes on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) branch: Option<MessageId>,
    /// Blobs that were stored or erased with the turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) blobs: Vec<Blob>,
}

const fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// A blob that was stored with a turn, or erased.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Blob {
    pub(super) space: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) owner: Option<ConversationId>,
    pub(super) name: Octets,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) bytes: Option<Octets>,
}

impl Blob {
    pub(super) fn of(put: &Put<'_>) -> Self {
        Self {
            space: put.space.number(),
            owner: put.owner,
            name: Octets::of(put.name),
            bytes: put.bytes.map(Octets::of),
        }
    }

    /// None when a newer Rejoin wrote it for something that this one does not know.
    pub(super) fn space(&self) -> Option<Space> {
        Space::ALL.into_iter().find(|space| space.number() == self.space)
    }
}

impl Line {
    /// A line that holds no message.
    pub(super) const fn meta(session_id: ConversationId, timestamp: Time) -> Self {
        Self {
            timestamp,
            message_index: 0,
            message_type: LineType::SessionMeta,
            session_id,
            id: None,
            parent: None,
            turn: None,
            n: 1,
            of: 1,
            digest: None,
            forked: false,
            label: None,
            pinned: false,
            resets_activity: false,
            change: None,
            after: None,
            first: None,
            last: None,
            branch: None,
            blobs: Vec::new(),
        }
    }

    /// The line, as the last of those that a change writes after all that a file holds.
    pub(super) fn ending(self, change: Stamp, newest: Stamp) -> Self {
        Self { change: Some(change), after: Some(newest).filter(|newest| *newest > 0), ..self }
    }

    /// Writes the line around a message that stood in a line before.
    pub(super) fn write_around(&self, message: &[u8], into: &mut Vec<u8>) {
        self.write_fields(into);
        into.extend_from_slice(message);
        into.extend_from_slice(b"}\n");
    }

    fn write_fields(&self, into: &mut Vec<u8>) {
        serde_json::to_writer(&mut *into, self).expect("a line is plain data");
        into.pop();
        into.extend_from_slice(MESSAGE);
    }

    /// Writes the line, with its message and its end.
    pub(super) fn write(&self, message: &str, into: &mut Vec<u8>) {
        self.write_fields(into);
        if is_embeddable(message) {
            into.extend_from_slice(message.as_bytes());
        } else if is_never_escaped(message.as_bytes()) {
            into.push(b'"');
            into.extend_from_slice(message.as_bytes());
            into.push(b'"');
        } else {
            serde_json::to_writer(&mut *into, message).expect("a text is plain data");
        }
        into.extend_from_slice(b"}\n");
    }

    /// Reads a line, and tells where in it the message stands. The message itself is not looked at.
    pub(super) fn read(line: &[u8]) -> Option<(Self, Range<usize>)> {
        let line = line.trim_ascii_end();
        Self::read_written(line).or_else(|| Self::read_any(line))
    }

    /// How many lines of a conversation begin in a piece of a file. A text that
    /// quotes one has its quotes escaped.
    pub(super) fn begins_in(piece: &[u8], id: ConversationId) -> usize {
        memmem::find_iter(piece, &format!("\"sessionId\":\"{id}\"")).count()
    }

    /// Reads what [`Self::write`] wrote. A quote within a text is escaped, so
    /// the first such piece is no text.
    fn read_written(line: &[u8]) -> Option<(Self, Range<usize>)> {
        let at = memmem::find(line, MESSAGE)?;
        let message = at + MESSAGE.len()..line.len().checked_sub(1)?;
        let ends = matches!(
            (line.get(message.start)?, line.get(message.end.checked_sub(1)?)?),
            (b'{', b'}') | (b'"', b'"')
        );
        if !ends || message.len() < 2 || line.last() != Some(&b'}') {
            return None;
        }
        if let Some(fields) = fast_parse::fields(&line[..at]) {
            return Some((fields, message));
        }
        let mut fields = Vec::with_capacity(at + 1);
        fields.extend_from_slice(&line[..at]);
        fields.push(b'}');
        Some((serde_json::from_slice(&fields).ok()?, message))
    }

    /// Reads a line whose fields stand in any order.
    fn read_any(line: &[u8]) -> Option<(Self, Range<usize>)> {
        let text = std::str::from_utf8(line).ok()?;
        let fields = serde_json::from_str(text).ok()?;
        let message = serde_json::from_str::<LineMessage<'_>>(text).ok()?.message.get();
        let start = message.as_ptr() as usize - text.as_ptr() as usize;
        Some((fields, start..start + message.len()))
    }
}

/// Bytes as they stand in a line, which holds text only.
pub(super) fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| Error::invalid("store bytes that are no text in a line"))
}

/// The same, to own it.
pub(super) fn owned_text(bytes: &[u8]) -> Result<String> {
    text(bytes).map(str::to_owned)
}

/// True when a body can stand in a line as it is.
fn is_embeddable(body: &str) -> bool {
    body.starts_with('{')
        && body.ends_with('}')
        && memchr::memchr2(b'\n', b'\r', body.as_bytes()).is_none()
        && is_json(body)
}

/// A line, as far as its message is looked for.
#[derive(Deserialize)]
struct LineMessage<'a> {
    #[serde(borrow)]
    message: &'a RawValue,
}

/// The body that stands in a line as `message`; none when it is damaged.
pub(super) fn body(message: &[u8]) -> Option<Cow<'_, str>> {
    if let Some(inside) = unescaped(message) {
        return Some(inside.into());
    }
    let text = std::str::from_utf8(message).ok()?;
    if is_json(text) {
        return plain(text.into());
    }
    // Another program may have added fields after the message.
    let line = format!("{{\"message\":{text}}}");
    let alone = serde_json::from_str::<LineMessage<'_>>(&line).ok()?.message.get().to_owned();
    plain(alone.into())
}

/// What a JSON string says in which nothing is escaped, as in those of a vault. None for anything else.
pub(super) fn unescaped(message: &[u8]) -> Option<&str> {
    let inside = message.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if is_never_escaped(inside) { std::str::from_utf8(inside).ok() } else { None }
}

/// True for printable ASCII without quotes and backslashes, which stands in a JSON string as it is.
fn is_never_escaped(text: &[u8]) -> bool {
    let is_other = |byte: u8| !(b' '..=b'~').contains(&byte) || byte == b'"' || byte == b'\\';
    // All of it is looked at, so that the processor looks at many bytes at once.
    !text.iter().fold(false, |has_other, byte| has_other | is_other(*byte))
}

fn plain(text: Cow<'_, str>) -> Option<Cow<'_, str>> {
    if text.starts_with('"') {
        serde_json::from_str::<String>(&text).ok().map(Into::into)
    } else {
        Some(text)
    }
}

/// True when a look at its braces and quotes shows that a message is one object and nothing else. Whether
/// everything within is JSON, its reader finds out.
pub(super) fn is_one_object(message: &[u8]) -> bool {
    message.first() == Some(&b'{') && end_of_object(message) == Some(message.len())
}

fn end_of_object(message: &[u8]) -> Option<usize> {
    let (mut at, mut depth) = (0, 0_u32);
    loop {
        at += memchr::memchr3(b'"', b'{', b'}', &message[at..])?;
        match message[at] {
            b'{' => depth += 1,
            b'}' => depth = depth.checked_sub(1)?,
            _ => at = end_of_text(message, at)?,
        }
        at += 1;
        if depth == 0 {
            return Some(at);
        }
    }
}

/// Where the text ends that begins with the quote at `start`.
fn end_of_text(message: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', message.get(at..)?)?;
        if message[at] == b'"' {
            return Some(at);
        }
        // What is escaped is passed over.
        at += 2;
    }
}

/// How long that body is, without reading one that stands there as it is; none when it is damaged.
pub(super) fn body_length(message: &[u8]) -> Option<usize> {
    if is_one_object(message) { Some(message.len()) } else { body(message).map(|body| body.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> Line {
        let id = ConversationId::from_bytes([7; 16]);
        Line { n: 1, of: 2, label: Some(",\"message\":{".to_owned()), ..Line::meta(id, Time::from_micros(0)) }
    }

    fn written(body: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        line().write(body, &mut bytes);
        bytes
    }

    #[test]
    fn a_line_begins_as_the_document_shows_it() {
        let text = String::from_utf8(written(r#"{"role":"user"}"#)).unwrap();

        assert_eq!(
            text,
            "{\"timestamp\":\"1970-01-01T00:00:00.000000Z\",\"messageIndex\":0,\"messageType\":\"session-meta\",\
             \"sessionId\":\"07070707-0707-0707-0707-070707070707\",\"n\":1,\"of\":2,\
             \"label\":\",\\\"message\\\":{\",\"message\":{\"role\":\"user\"}}\n"
        );
    }

    #[test]
    fn every_body_comes_back_byte_for_byte() {
        let bodies = [
            "",
            "{}",
            "{ \"a\" : 1.0 }",
            "{\n}",
            "{",
            "{} ",
            "[1]",
            "\"x\"",
            "\0",
            "{\"a\":\"\\u0041\"}",
            "a/B+9",
            "a\\b",
            "a\tb",
            "é",
            "\u{7f}",
        ];

        for own in bodies {
            let bytes = written(own);
            let (read, message) = Line::read(&bytes).unwrap();
            let back = body(&bytes[message.clone()]).unwrap();

            assert_eq!((read, back.as_ref()), (line(), own));
            assert_eq!((body_length(&bytes[message]), bytes.pop_newlines()), (Some(own.len()), 1));
        }
    }

    #[test]
    fn a_text_without_escapes_is_read_as_json_reads_it() {
        for byte in 0..=255_u8 {
            let message = [b'"', b'a', byte, b'b', b'"'];

            let read = serde_json::from_slice::<String>(&message).ok();

            assert_eq!(body(&message).map(Cow::into_owned), read, "{byte}");
        }
    }

    #[test]
    fn fields_may_stand_in_any_order() {
        let text = r#"{ "message": {"role":"user"}, "sessionId":"07070707-0707-0707-0707-070707070707", "messageType":"session-meta", "messageIndex":0, "timestamp":0, "of":2, "label":",\"message\":{" }"#;

        let (read, message) = Line::read(text.as_bytes()).unwrap();

        assert_eq!((read, &text[message]), (line(), r#"{"role":"user"}"#));
    }

    #[test]
    fn a_line_cut_anywhere_is_no_line() {
        let bytes = written(r#"{"role":"user","blocks":[{"type":"text","text":"}}"}]}"#);

        let whole: Vec<usize> = (0..bytes.len())
            .filter(|cut| {
                Line::read(&bytes[..*cut]).is_some_and(|(_, message)| body(&bytes[message]).is_some())
            })
            .collect();

        // Only its end may be missing.
        assert_eq!(whole, [bytes.len() - 1]);
    }

    #[test]
    fn a_quick_look_tells_one_object_from_anything_else() {
        let looks = [
            "{}",
            r#"{"a":"}","b":{"c":"\\","d":"\"{"}}"#,
            r#"{"a":1},"note":{"b":2}"#,
            r#"{"a":"}"#,
            "{",
            "}",
            "",
            "\"text\"",
            r#"{"a":"\"#,
            "[{}]",
        ]
        .map(|text| is_one_object(text.as_bytes()));

        assert_eq!(looks, [true, true, false, false, false, false, false, false, false, false]);
    }

    #[test]
    fn fields_after_a_message_are_not_its_own() {
        let message = br#"{"role":"user"},"note":{"by":"me"}"#;

        assert_eq!(body(message).as_deref(), Some(r#"{"role":"user"}"#));
    }

    trait Newlines {
        fn pop_newlines(&self) -> usize;
    }

    impl Newlines for Vec<u8> {
        fn pop_newlines(&self) -> usize {
            self.iter().filter(|byte| **byte == b'\n').count()
        }
    }
}
