//! One line of input: a message, or an array of messages that make one turn.

use std::fmt;

use rejoin::{Block, Fields, Message, MessageId, Role, Time, Usage};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::commands::append::refuse_empty;

/// The messages of one line, and where they go.
#[derive(Debug, PartialEq)]
pub(super) struct LineTurn {
    /// The message that the first one follows; the one before it in the input when it says nothing.
    pub(super) parent: Option<MessageId>,
    pub(super) messages: Vec<Message>,
}

/// Reads a line; the answer to a bad one is the reason.
pub(super) fn read(text: &str) -> Result<LineTurn, String> {
    // Some shells of Windows begin what they send with this mark.
    let text = text.trim_start_matches('\u{feff}').trim();
    let lines: Vec<MessageLine> = if text.starts_with('[') { parse(text)? } else { vec![parse(text)?] };
    if lines.is_empty() {
        return Err("the turn has no messages".to_owned());
    }
    if lines.iter().skip(1).any(|line| line.parent.is_some()) {
        return Err("only the first message of a turn can name its `parent`".to_owned());
    }
    let parent = lines[0].parent;
    let messages: Vec<Message> = lines.into_iter().map(MessageLine::into_message).collect();
    messages.iter().try_for_each(refuse_empty)?;
    Ok(LineTurn { parent, messages })
}

fn parse<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, String> {
    // The line is one of many, so the parser's own count of lines would mislead.
    serde_json::from_str(text).map_err(|error| error.to_string().replace(" at line 1 column ", " at column "))
}

/// A message as it is written in a line. A field that means nothing here is more likely a slip than a wish.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a message: an object with `role` and `content`")]
struct MessageLine {
    #[serde(deserialize_with = "role")]
    role: Role,
    content: TextOrBlocks,
    parent: Option<MessageId>,
    label: Option<String>,
    created_at: Option<Time>,
    usage: Option<Usage>,
    finish: Option<String>,
    #[serde(default)]
    is_error: bool,
    #[serde(default)]
    extra: Fields,
}

fn role<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Role, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

impl MessageLine {
    fn into_message(self) -> Message {
        let mut message = Message::new(self.role, self.content.0);
        message.label = self.label;
        message.created_at = self.created_at;
        message.usage = self.usage;
        message.finish = self.finish;
        message.is_error = self.is_error;
        message.extra = self.extra;
        message
    }
}

/// A text or an array of blocks.
struct TextOrBlocks(Vec<Block>);

impl<'de> Deserialize<'de> for TextOrBlocks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = TextOrBlocks;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a text or an array of blocks")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<TextOrBlocks, E> {
        self.visit_string(text.to_owned())
    }

    fn visit_string<E: Error>(self, text: String) -> Result<TextOrBlocks, E> {
        Ok(TextOrBlocks(vec![Block::text(text)]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, blocks: A) -> Result<TextOrBlocks, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(blocks)).map(TextOrBlocks)
    }
}

#[cfg(test)]
mod tests {
    use rejoin::Json;

    use super::*;

    #[test]
    fn every_field_of_a_message_is_read() {
        let line = r#"{"role":"assistant","content":[{"type":"text","text":"In Alfama."},
            {"type":"tool_call","id":"c1","name":"map","input":{"zoom": 1.50}}],"parent":"abc123","label":"food",
            "created_at":"2026-01-15T10:30:00Z","usage":{"input_tokens":3,"output_tokens":4},"finish":"stop",
            "is_error":true,"extra":{"mood":"calm"}}"#;

        let turn = read(line).unwrap();

        let call = Block::tool_call("c1", "map", Json::parse(r#"{"zoom": 1.50}"#).unwrap());
        let mut message = Message::new(Role::Assistant, vec![Block::text("In Alfama."), call])
            .labelled("food")
            .at("2026-01-15T10:30:00Z".parse().unwrap());
        message.usage = Some(Usage { input_tokens: 3, output_tokens: 4, detail: None });
        message.finish = Some("stop".to_owned());
        message.is_error = true;
        message.extra.set("mood", Json::parse("\"calm\"").unwrap());
        assert_eq!(turn, LineTurn { parent: Some("abc123".parse().unwrap()), messages: vec![message] });
    }

    #[test]
    fn an_array_is_one_turn() {
        let turn =
            read("\u{feff}[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"tool\",\"content\":\"b\"}]\r\n");

        let messages = vec![Message::user("a"), Message::new(Role::Tool, vec![Block::text("b")])];
        assert_eq!(turn, Ok(LineTurn { parent: None, messages }));
    }

    #[test]
    fn a_bad_line_is_told_why() {
        let cases = [
            ("{", "EOF while parsing an object at column 1"),
            (
                "5",
                "invalid type: integer `5`, expected a message: an object with `role` and `content` at column 1",
            ),
            ("[]", "the turn has no messages"),
            (r#"{"role":"user"}"#, "missing field `content` at column 15"),
            (r#"{"content":"a"}"#, "missing field `role` at column 15"),
            (
                r#"{"role":"user","content":5}"#,
                "invalid type: integer `5`, expected a text or an array of blocks at column 26",
            ),
            (r#"{"role":"user","content":" \n"}"#, "the message is empty"),
            (r#"{"role":"user","content":[]}"#, "the message is empty"),
            (
                r#"{"role":"robot","content":"a"}"#,
                "`robot` is not a role; expected system, user, assistant or tool at column 15",
            ),
            (
                r#"{"role":"user","content":"a","parent":"../x"}"#,
                "`../x` is not a message id: 1 to 15 letters and digits at column 45",
            ),
            (
                r#"[{"role":"user","content":"a"},{"role":"user","content":"b","parent":"abc123"}]"#,
                "only the first message of a turn can name its `parent`",
            ),
        ];

        let told = cases.map(|(line, _)| read(line).unwrap_err());

        assert_eq!(told, cases.map(|(_, expected)| expected.to_owned()));
    }
}
