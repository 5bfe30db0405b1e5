//! The pieces a message is made of.
//!
//! A block is a JSON object with a `type`. Kinds that Rejoin does not know, and fields it does not know on
//! kinds it does, are kept as they are.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::model::{Fields, Json};

/// One piece of a message.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Block {
    /// What was said.
    Text(Text),
    /// What a model thought before it spoke.
    Thinking(Thinking),
    /// A model asks for a tool to be run.
    ToolCall(ToolCall),
    /// What a tool answered.
    ToolResult(ToolResult),
    /// An image, a sound, a film or any other file.
    Media(Media),
    /// State to carry along that survives compaction.
    Snapshot(Snapshot),
    /// What stands for the messages before it after a compaction.
    Summary(Summary),
    /// A kind this version does not know.
    Other(Other),
}

/// The body of [`Block::Text`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Text {
    /// The words.
    pub text: String,
    /// Fields this version does not know.
    pub extra: Fields,
}

/// The body of [`Block::Thinking`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thinking {
    /// The words; empty when the provider hides them.
    pub text: String,
    /// The provider's proof that the words are its own, needed to send them back.
    pub signature: Option<String>,
    /// Fields this version does not know.
    pub extra: Fields,
}

/// The body of [`Block::ToolCall`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolCall {
    /// The name that the result refers to.
    pub id: String,
    /// Which tool.
    pub name: String,
    /// Its arguments, as the model wrote them.
    pub input: Json,
    /// Fields this version does not know.
    pub extra: Fields,
}

/// The body of [`Block::ToolResult`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolResult {
    /// The id of the call it answers.
    pub call_id: String,
    /// What came back: usually a string, but any JSON.
    pub output: Json,
    /// True when the tool failed.
    pub is_error: bool,
    /// Fields this version does not know.
    pub extra: Fields,
}

/// The body of [`Block::Media`].
#[derive(Clone, Debug, PartialEq)]
pub struct Media {
    /// Image, audio, video or file.
    pub kind: MediaKind,
    /// What the bytes are, such as `image/png`.
    pub mime_type: String,
    /// The bytes in base64, when they are kept in the message.
    pub data: Option<String>,
    /// Where the bytes are, when they are kept elsewhere.
    pub uri: Option<String>,
    /// Fields this version does not know.
    pub extra: Fields,
}

/// What kind of media.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaKind {
    /// A picture.
    Image,
    /// A sound.
    Audio,
    /// A film.
    Video,
    /// Anything else.
    File,
}

impl MediaKind {
    /// The `type` of such a block.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Audio => "audio",
            Self::Video => "video",
            Self::File => "file",
        }
    }
}

/// The body of [`Block::Snapshot`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// The state.
    pub data: Json,
    /// Fields this version does not know.
    pub extra: Fields,
}

/// The body of [`Block::Summary`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// The words that replace what came before.
    pub text: String,
    /// Fields this version does not know.
    pub extra: Fields,
}

/// The body of [`Block::Other`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Other {
    /// Its `type`; empty when the object had none.
    pub kind: String,
    /// Every other field.
    pub fields: Fields,
}

impl Block {
    /// A text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(Text { text: text.into(), extra: Fields::new() })
    }

    /// A tool call with its arguments.
    pub fn tool_call(id: impl Into<String>, name: impl Into<String>, input: Json) -> Self {
        Self::ToolCall(ToolCall { id: id.into(), name: name.into(), input, extra: Fields::new() })
    }

    /// A tool's answer to the call `call_id`.
    pub fn tool_result(call_id: impl Into<String>, output: Json) -> Self {
        Self::ToolResult(ToolResult {
            call_id: call_id.into(),
            output,
            is_error: false,
            extra: Fields::new(),
        })
    }

    /// The block's `type`.
    pub fn kind(&self) -> &str {
        match self {
            Self::Text(_) => "text",
            Self::Thinking(_) => "thinking",
            Self::ToolCall(_) => "tool_call",
            Self::ToolResult(_) => "tool_result",
            Self::Media(media) => media.kind.as_str(),
            Self::Snapshot(_) => "snapshot",
            Self::Summary(_) => "summary",
            Self::Other(other) => &other.kind,
        }
    }

    /// The words a person would read in this block, if it has any.
    pub fn words(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Text(block) => Some(Cow::Borrowed(&block.text)),
            Self::Summary(block) => Some(Cow::Borrowed(&block.text)),
            Self::Thinking(block) => Some(Cow::Borrowed(&block.text)),
            Self::ToolCall(block) => Some(Cow::Owned(format!("{} {}", block.name, block.input.as_str()))),
            Self::ToolResult(block) => Some(readable(&block.output)),
            Self::Media(_) | Self::Snapshot(_) | Self::Other(_) => None,
        }
    }
}

/// A JSON string without its quotes, other JSON as it is.
fn readable(output: &Json) -> Cow<'_, str> {
    match output.to::<String>() {
        Ok(text) => Cow::Owned(text),
        Err(_) => Cow::Borrowed(output.as_str()),
    }
}

impl Serialize for Block {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if !self.kind().is_empty() {
            map.serialize_entry("type", self.kind())?;
        }
        let extra = match self {
            Self::Text(Text { text, extra }) | Self::Summary(Summary { text, extra }) => {
                map.serialize_entry("text", text)?;
                extra
            }
            Self::Thinking(block) => {
                map.serialize_entry("text", &block.text)?;
                write_some(&mut map, "signature", block.signature.as_ref())?;
                &block.extra
            }
            Self::ToolCall(block) => {
                map.serialize_entry("id", &block.id)?;
                map.serialize_entry("name", &block.name)?;
                map.serialize_entry("input", &block.input)?;
                &block.extra
            }
            Self::ToolResult(block) => {
                map.serialize_entry("call_id", &block.call_id)?;
                map.serialize_entry("output", &block.output)?;
                write_some(&mut map, "is_error", block.is_error.then_some(&true))?;
                &block.extra
            }
            Self::Media(block) => {
                map.serialize_entry("mime_type", &block.mime_type)?;
                write_some(&mut map, "data", block.data.as_ref())?;
                write_some(&mut map, "uri", block.uri.as_ref())?;
                &block.extra
            }
            Self::Snapshot(block) => {
                map.serialize_entry("data", &block.data)?;
                &block.extra
            }
            Self::Other(block) => &block.fields,
        };
        extra.write_into(&mut map)?;
        map.end()
    }
}

fn write_some<M: SerializeMap, T: Serialize>(
    map: &mut M,
    name: &str,
    value: Option<&T>,
) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| map.serialize_entry(name, value))
}

impl<'de> Deserialize<'de> for Block {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(BlockVisitor)
    }
}

struct BlockVisitor;

impl<'de> Visitor<'de> for BlockVisitor {
    type Value = Block;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a block: a JSON object with a `type`")
    }

    /// Rejoin writes the type first, so the fields can be read straight into place. A derived tagged enum
    /// would buffer each block first, which costs a third of a load.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Block, A::Error> {
        let Some(first) = map.next_key::<BorrowedName<'de>>()? else {
            return Ok(Block::Other(Other::default()));
        };
        if first.0 == "type" {
            let kind = map.next_value::<BorrowedName<'de>>()?.0;
            return read_kind(&kind, map);
        }
        // Another program wrote it: gather the fields, find the type, and read them again in our order.
        let mut fields = Fields::new();
        fields.set(first.0, map.next_value()?);
        while let Some(name) = map.next_key::<BorrowedName<'de>>()? {
            fields.set(name.0, map.next_value()?);
        }
        reorder(fields).map_err(de::Error::custom)
    }
}

fn reorder(fields: Fields) -> Result<Block, serde_json::Error> {
    let Some(kind) = fields.field("type").and_then(|kind| kind.to::<String>().ok()) else {
        return Ok(Block::Other(Other { kind: String::new(), fields }));
    };
    let mut ordered = Fields::new();
    ordered.set("type", Json::of(&kind).map_err(de::Error::custom)?);
    for (name, value) in fields.iter().filter(|(name, _)| *name != "type") {
        ordered.set(name, value.clone());
    }
    serde_json::from_str(&serde_json::to_string(&ordered)?)
}

fn read_kind<'de, A: MapAccess<'de>>(kind: &str, mut map: A) -> Result<Block, A::Error> {
    let mut parts = BlockFields::default();
    let known = match kind {
        "text" | "summary" => &["text"][..],
        "thinking" => &["text", "signature"],
        "tool_call" => &["id", "name", "input"],
        "tool_result" => &["call_id", "output", "is_error"],
        "image" | "audio" | "video" | "file" => &["mime_type", "data", "uri"],
        "snapshot" => &["data"],
        _ => &[],
    };
    while let Some(BorrowedName(name)) = map.next_key::<BorrowedName<'de>>()? {
        if !known.contains(&name.as_ref()) {
            parts.extra.set(name, map.next_value()?);
            continue;
        }
        match (name.as_ref(), kind) {
            ("data", "snapshot") | ("input" | "output", _) => parts.json = map.next_value()?,
            ("text" | "name" | "call_id" | "mime_type", _) => parts.text = map.next_value()?,
            ("id", _) => parts.id = map.next_value()?,
            ("is_error", _) => parts.is_error = map.next_value()?,
            ("uri", _) => parts.second = map.next_value()?,
            _ => parts.first = map.next_value()?,
        }
    }
    Ok(parts.into_block(kind))
}

/// The fields of any known kind while they are read; each kind uses a few.
#[derive(Default)]
struct BlockFields {
    text: String,
    id: String,
    json: Json,
    first: Option<String>,
    second: Option<String>,
    is_error: bool,
    extra: Fields,
}

impl BlockFields {
    fn into_block(self, kind: &str) -> Block {
        let Self { text, id, json, first, second, is_error, extra } = self;
        let media = |kind| {
            Block::Media(Media {
                kind,
                mime_type: text.clone(),
                data: first.clone(),
                uri: second,
                extra: extra.clone(),
            })
        };
        match kind {
            "text" => Block::Text(Text { text, extra }),
            "summary" => Block::Summary(Summary { text, extra }),
            "thinking" => Block::Thinking(Thinking { text, signature: first, extra }),
            "tool_call" => Block::ToolCall(ToolCall { id, name: text, input: json, extra }),
            "tool_result" => Block::ToolResult(ToolResult { call_id: text, output: json, is_error, extra }),
            "image" => media(MediaKind::Image),
            "audio" => media(MediaKind::Audio),
            "video" => media(MediaKind::Video),
            "file" => media(MediaKind::File),
            "snapshot" => Block::Snapshot(Snapshot { data: json, extra }),
            _ => Block::Other(Other { kind: kind.to_owned(), fields: extra }),
        }
    }
}

/// A short string that is usually borrowed from the input.
pub(crate) struct BorrowedName<'de>(pub(crate) Cow<'de, str>);

impl<'de> Deserialize<'de> for BorrowedName<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;

        impl<'de> Visitor<'de> for NameVisitor {
            type Value = BorrowedName<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<BorrowedName<'de>, E> {
                Ok(BorrowedName(Cow::Borrowed(text)))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<BorrowedName<'de>, E> {
                Ok(BorrowedName(Cow::Owned(text.to_owned())))
            }
        }

        deserializer.deserialize_str(NameVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(text: &str) -> String {
        let block: Block = serde_json::from_str(text).unwrap();
        serde_json::to_string(&block).unwrap()
    }

    #[test]
    fn every_kind_reads_back_as_it_was_written() {
        let blocks = [
            r#"{"type":"text","text":"hi","x":1}"#,
            r#"{"type":"thinking","text":"hm","signature":"s","more":{"a":[1]}}"#,
            r#"{"type":"tool_call","id":"c1","name":"read","input":{"path": "a b"},"y":null}"#,
            r#"{"type":"tool_result","call_id":"c1","output":"","is_error":true}"#,
            r#"{"type":"tool_result","call_id":"c1","output":false}"#,
            r#"{"type":"image","mime_type":"image/png","data":"AAAA"}"#,
            r#"{"type":"file","mime_type":"text/plain","uri":"a.txt","title":"A"}"#,
            r#"{"type":"snapshot","data":{"commit":"abc"}}"#,
            r#"{"type":"summary","text":"so far"}"#,
            r#"{"type":"from_the_future","text":5,"n":1.50}"#,
            r#"{"no":"type"}"#,
            r#"{}"#,
        ];

        assert_eq!(blocks.map(round_trip), blocks);
    }

    #[test]
    fn a_type_that_comes_late_is_found() {
        let block: Block = serde_json::from_str(r#"{"text":"hi","type":"text","x":1}"#).unwrap();

        let mut extra = Fields::new();
        extra.set("x", Json::parse("1").unwrap());
        assert_eq!(block, Block::Text(Text { text: "hi".into(), extra }));
    }

    #[test]
    fn a_known_kind_with_a_field_of_the_wrong_type_is_refused() {
        let read = serde_json::from_str::<Block>(r#"{"type":"text","text":5}"#);

        assert!(read.unwrap_err().to_string().contains("expected a string"));
    }
}
