//! Reads bodies in the exact form that Rejoin writes them, several times as fast as a general JSON reader.
//!
//! Loading a conversation is mostly finding the ends of long strings. This reader knows which field comes
//! next, looks for quotes and escapes many bytes at a time, and copies what lies between. It gives up at
//! anything it does not expect; the general reader then reads the body, or says what is wrong with it.

use memchr::memchr2;
use serde_json::value::RawValue;

use crate::model::{Block, Conversation, Fields, Json, Message, Role, Text, Thinking, ToolCall, ToolResult};

/// Reads a body, or gives up.
pub(super) fn read(body: &str) -> Option<Message> {
    let mut reader = MessageReader { rest: body };
    reader.expect("{\"role\":")?;
    let role: Role = reader.string()?.parse().ok()?;
    reader.expect(",\"created_at\":")?;
    let created_at = reader.string()?.parse().ok()?;
    reader.expect(",\"blocks\":[")?;
    let blocks = reader.blocks()?;
    let mut message = reader.remainder(role)?;
    message.created_at = Some(created_at);
    message.blocks = blocks;
    Some(message)
}

/// Reads a header that holds a project, a title or both, as most do, or gives up.
pub(super) fn read_header(header: &str) -> Option<Conversation> {
    let mut reader = MessageReader { rest: header };
    let mut conversation = Conversation::new();
    reader.expect("{")?;
    if reader.expect("\"project\":").is_some() {
        conversation.project = Some(reader.string()?);
        if reader.expect(",\"title\":").is_some() {
            conversation.title = Some(reader.string()?);
        }
    } else if reader.expect("\"title\":").is_some() {
        conversation.title = Some(reader.string()?);
    }
    (reader.rest == "}").then_some(conversation)
}

/// What is left to read.
struct MessageReader<'a> {
    rest: &'a str,
}

impl<'a> MessageReader<'a> {
    fn expect(&mut self, text: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(text)?;
        Some(())
    }

    fn blocks(&mut self) -> Option<Vec<Block>> {
        let mut blocks = Vec::new();
        if self.expect("]").is_some() {
            return Some(blocks);
        }
        loop {
            blocks.push(self.block()?);
            if self.expect("]").is_some() {
                return Some(blocks);
            }
            self.expect(",")?;
        }
    }

    /// A block without fields that this version does not know.
    fn block(&mut self) -> Option<Block> {
        self.expect("{\"type\":\"")?;
        let extra = Fields::new();
        let block = if self.expect("text\",\"text\":").is_some() {
            Block::Text(Text { text: self.string()?, extra })
        } else if self.expect("tool_result\",\"call_id\":").is_some() {
            let call_id = self.string()?;
            self.expect(",\"output\":")?;
            let output = self.json()?;
            let is_error = self.expect(",\"is_error\":true").is_some();
            Block::ToolResult(ToolResult { call_id, output, is_error, extra })
        } else if self.expect("tool_call\",\"id\":").is_some() {
            let id = self.string()?;
            self.expect(",\"name\":")?;
            let name = self.string()?;
            self.expect(",\"input\":")?;
            Block::ToolCall(ToolCall { id, name, input: self.json()?, extra })
        } else {
            self.expect("thinking\",\"text\":")?;
            let text = self.string()?;
            let signature = self.expect(",\"signature\":").map(|()| self.string());
            Block::Thinking(Thinking {
                text,
                signature: signature.map_or(Some(None), |signed| signed.map(Some))?,
                extra,
            })
        };
        self.expect("}")?;
        Some(block)
    }

    /// The fields after the blocks: few and short, so the general reader takes them.
    fn remainder(&mut self, role: Role) -> Option<Message> {
        if self.rest == "}" {
            return Some(Message::new(role, Vec::new()));
        }
        self.expect(",")?;
        let names = ["\"role\"", "\"created_at\"", "\"blocks\""];
        // A name that comes twice is not what Rejoin writes.
        if names.iter().any(|name| self.rest.contains(name)) {
            return None;
        }
        serde_json::from_str(&format!("{{\"role\":\"{}\",{}", role.as_str(), self.rest)).ok()
    }

    /// The length of a string's content, as it stands between its quotes; the opening one is read already.
    fn length(&self) -> Option<usize> {
        let bytes = self.rest.as_bytes();
        let mut at = 0;
        loop {
            at += memchr2(b'"', b'\\', bytes.get(at..)?)?;
            if bytes[at] == b'"' {
                return Some(at);
            }
            at += 2;
        }
    }

    fn string(&mut self) -> Option<String> {
        self.expect("\"")?;
        let mut text = String::new();
        loop {
            let at = memchr2(b'"', b'\\', self.rest.as_bytes())?;
            let (plain, rest) = self.rest.split_at(at);
            if text.is_empty() && rest.starts_with('"') {
                text = plain.to_owned();
            } else {
                if text.capacity() == 0 {
                    // What is left of the body is seldom more than what is left of its longest string.
                    text.reserve(self.rest.len());
                }
                text.push_str(plain);
            }
            self.rest = &rest[1..];
            if rest.starts_with('"') {
                if text.capacity() > 2 * text.len() {
                    text.shrink_to_fit();
                }
                return Some(text);
            }
            text.push(self.escape()?);
        }
    }

    /// The character that an escape stands for; the backslash is read already.
    fn escape(&mut self) -> Option<char> {
        let kind = *self.rest.as_bytes().first()?;
        let letter = match kind {
            b'n' => '\n',
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => {
                let code = u32::from_str_radix(self.rest.get(1..5)?, 16).ok()?;
                self.rest = &self.rest[4..];
                // Half of a pair is left to the general reader.
                char::from_u32(code)?
            }
            _ => return None,
        };
        self.rest = &self.rest[1..];
        Some(letter)
    }

    /// A value as it stands. A string needs no more than its end; anything else is checked on the way.
    fn json(&mut self) -> Option<Json> {
        let length = match self.rest.strip_prefix('"') {
            Some(content) => MessageReader { rest: content }.length()? + 2,
            None => {
                let mut values = serde_json::Deserializer::from_str(self.rest).into_iter::<&'a RawValue>();
                values.next()?.ok()?;
                values.byte_offset()
            }
        };
        let (value, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(Json::from_stored(value))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::{Time, Usage};

    fn general(body: &str) -> Option<Message> {
        serde_json::from_str(body).ok()
    }

    fn block() -> impl Strategy<Value = Block> {
        let text = "[ -~\\n\\t\"\\\\é東\u{1F600}\u{0}-\u{1f}]{0,40}";
        prop_oneof![
            text.prop_map(Block::text),
            (text, proptest::option::of(text)).prop_map(|(text, signature)| Block::Thinking(Thinking {
                text,
                signature,
                extra: Fields::new()
            })),
            (text, text).prop_map(|(id, name)| Block::tool_call(
                id,
                name,
                Json::parse("{\"a\": [1, \"}\"]}").unwrap()
            )),
            (text, text).prop_map(|(call, output)| Block::tool_result(call, Json::of(&output).unwrap())),
            text.prop_map(|text| Block::Summary(crate::model::Summary { text, extra: Fields::new() })),
        ]
    }

    #[test]
    fn headers_read_as_the_general_reader_reads_them() {
        let headers = [
            r#"{"project":"/a \"b\"","title":"Lisbon\n"}"#,
            r#"{"project":"p"}"#,
            r#"{"title":""}"#,
            "{}",
            r#"{"kind":"review","title":"x"}"#,
            r#"{"title":"x","status":"paused"}"#,
            r#"{"project":"p","#,
            r#"{"project":"p",}"#,
        ];

        let quick = headers.map(|header| {
            read_header(header).map_or("gave up", |read| {
                let general: Conversation = serde_json::from_str(header).unwrap();
                if read == general { "same" } else { "other" }
            })
        });

        assert_eq!(quick, ["same", "same", "same", "same", "gave up", "gave up", "gave up", "gave up"]);
    }

    proptest! {
        #[test]
        fn it_reads_what_the_general_reader_reads(
            blocks in proptest::collection::vec(block(), 0..4),
            tokens in proptest::option::of(0u64..9),
            micros in 0i64..2_000_000_000_000_000,
        ) {
            let mut message = Message::new(Role::Assistant, blocks).at(Time::from_micros(micros));
            message.usage = tokens.map(|output_tokens| Usage { output_tokens, ..Usage::default() });
            let body = message.to_body();

            let quick = read(&body);

            let expects_summary = message.blocks.iter().any(|block| matches!(block, Block::Summary(_)));
            prop_assert_eq!(quick.is_none(), expects_summary);
            prop_assert!(quick.is_none() || quick == general(&body));
        }

        #[test]
        fn a_damaged_body_gives_the_same_or_nothing(at in 0usize..120, byte in 0x20u8..0x7f) {
            let blocks = vec![Block::text("a \"b\"\n"), Block::tool_result("c", Json::parse("\"d\\n\"").unwrap())];
            let mut body = Message::new(Role::Tool, blocks).at(Time::from_micros(1)).to_body().into_bytes();
            let at = at % body.len();
            body[at] = byte;
            let body = String::from_utf8(body).unwrap();

            let quick = read(&body);

            prop_assert!(quick.is_none() || quick == general(&body), "{body}");
        }
    }
}
