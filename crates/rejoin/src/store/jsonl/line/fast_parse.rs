//! Reading the fields of a line in the form that Rejoin writes them, which is
//! several times as fast as reading JSON.
//!
//! Whatever stands there in another form is left to the JSON reader: nothing is guessed.

use std::str::FromStr;

use crate::store::jsonl::line::{Line, LineType};

/// The fields of a line up to its message; none when they are not in the usual form.
pub(in crate::store::jsonl) fn fields(line: &[u8]) -> Option<Line> {
    let mut rest = LineRest(line);
    rest.must(b"{\"timestamp\":")?;
    let timestamp = rest.value()?;
    rest.must(b",\"messageIndex\":")?;
    let message_index = rest.number()?;
    rest.must(b",\"messageType\":\"conversation\",\"sessionId\":")?;
    let mut line =
        Line { message_index, message_type: LineType::Conversation, ..Line::meta(rest.value()?, timestamp) };
    line.id = rest.optional(b",\"id\":", LineRest::value)?;
    line.parent = rest.optional(b",\"parent\":", LineRest::value)?;
    line.turn = rest.optional(b",\"turn\":", LineRest::number)?;
    rest.must(b",\"n\":")?;
    line.n = rest.number()?;
    rest.must(b",\"of\":")?;
    line.of = rest.number()?;
    line.digest = rest.optional(b",\"digest\":", LineRest::value)?;
    line.change = rest.optional(b",\"change\":", LineRest::number)?;
    line.after = rest.optional(b",\"after\":", LineRest::number)?;
    line.first = rest.optional(b",\"first\":", LineRest::value)?;
    line.last = rest.optional(b",\"last\":", LineRest::value)?;
    rest.0.is_empty().then_some(line)
}

/// What is left to read.
struct LineRest<'a>(&'a [u8]);

impl LineRest<'_> {
    fn must(&mut self, name: &[u8]) -> Option<()> {
        self.0 = self.0.strip_prefix(name)?;
        Some(())
    }

    /// A field that may be missing; none only when it is there and not in the usual form.
    fn optional<T>(&mut self, name: &[u8], read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        match self.must(name) {
            Some(()) => read(self).map(Some),
            None => Some(None),
        }
    }

    fn number<T: FromStr>(&mut self) -> Option<T> {
        let length = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.0.split_at(length);
        // JSON has no numbers that begin with a zero.
        if length > 1 && digits[0] == b'0' {
            return None;
        }
        let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
        self.0 = rest;
        Some(number)
    }

    /// A text without escapes, as what it says.
    fn value<T: FromStr>(&mut self) -> Option<T> {
        let inside = self.0.strip_prefix(b"\"")?;
        let length = memchr::memchr2(b'"', b'\\', inside)?;
        let (text, rest) = inside.split_at(length);
        let is_plain = !text.iter().any(u8::is_ascii_control);
        let value = std::str::from_utf8(text).ok().filter(|_| is_plain)?.parse().ok()?;
        self.0 = rest.strip_prefix(b"\"")?;
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::{ConversationId, Digest, Time};

    fn text() -> impl Strategy<Value = Option<String>> {
        proptest::option::of("[a-zü\"\\\\\n ]{0,8}")
    }

    fn any_line() -> impl Strategy<Value = Line> {
        (
            any::<[u8; 16]>(),
            0..4_000_000_000_000_000_i64,
            any::<u32>(),
            "[0-9a-zA-Z]{1,9}",
            text(),
            text(),
            any::<(bool, bool, bool, u64)>(),
        )
            .prop_map(
                |(id, at, seq, message, first, last, (has_parent, has_digest, has_label, change))| Line {
                    message_type: LineType::Conversation,
                    message_index: seq,
                    id: message.parse().ok(),
                    parent: has_parent.then(|| "Xw81kQ".parse().unwrap()),
                    turn: Some(seq),
                    digest: has_digest.then(|| Digest::chain(None, message.as_bytes())),
                    label: has_label.then(|| message.clone()),
                    change: Some(change),
                    after: has_parent.then_some(change / 2),
                    first,
                    last,
                    ..Line::meta(ConversationId::from_bytes(id), Time::from_micros(at))
                },
            )
    }

    fn written(line: &Line) -> Vec<u8> {
        let mut json = serde_json::to_vec(line).unwrap();
        json.pop();
        json
    }

    proptest! {
        #[test]
        fn what_is_read_quickly_is_what_the_json_reader_reads(line in any_line()) {
            let quick = fields(&written(&line));

            let is_plain = |text: &Option<String>| !text.as_deref().unwrap_or_default().contains(['"', '\\', '\n']);
            let is_usual = line.label.is_none() && is_plain(&line.first) && is_plain(&line.last);
            prop_assert_eq!(quick, is_usual.then_some(line));
        }

        #[test]
        fn whatever_was_changed_is_read_alike_or_left_to_the_json_reader(line in any_line(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut bytes = written(&line);
            let at = at.index(bytes.len());
            bytes[at] = byte;

            if let Some(quick) = fields(&bytes) {
                bytes.push(b'}');
                prop_assert_eq!(serde_json::from_slice::<Line>(&bytes).ok(), Some(quick));
            }
        }
    }
}
