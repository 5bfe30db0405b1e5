//! Converts rows of `blocks` to blocks and back.

use crate::formats::ReadLimits;
use crate::formats::database::{ColumnValue, DatabaseRow};
use crate::formats::encoding::json_of;
use crate::formats::lines::deepest;
use crate::formats::raw_object::RawObject;
use crate::model::{Block, Fields, Json, Media, MediaKind, Other, Text, Thinking, ToolCall};

/// The type of plain text.
const PLAIN: &str = "text/plain";

/// Files that CPE treats as images.
const PDF: &str = "application/pdf";

/// The field for call arguments that are not an object; CPE supports only objects.
const INPUT: &str = "rejoin_input";

/// The provider of thinking; CPE sends thinking back only to its provider.
const THINKER: &str = "thinking_generator";

/// One row of `blocks`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct BlockRow {
    pub(super) id: Option<String>,
    pub(super) kind: String,
    pub(super) modality: i64,
    pub(super) mime: String,
    pub(super) content: String,
    pub(super) extra: Fields,
}

impl BlockRow {
    pub(super) fn of(row: &DatabaseRow) -> Self {
        let extra = row.word("extra_fields").unwrap_or_default();
        let extra = object(&extra).unwrap_or_else(|| {
            let mut fields = Fields::new();
            if !extra.is_empty() {
                fields.set("extra_fields", json_of(&extra));
            }
            fields
        });
        Self {
            id: row.word("id"),
            kind: row.text("block_type").unwrap_or_default().to_owned(),
            modality: row.integer("modality_type").unwrap_or_default(),
            mime: row.text("mime_type").unwrap_or_default().to_owned(),
            content: row.text("content").unwrap_or_default().to_owned(),
            extra,
        }
    }

    pub(super) fn text(text: &str, id: Option<&str>, extra: Fields) -> Self {
        let (kind, mime) = ("content".to_owned(), PLAIN.to_owned());
        Self { id: id.map(str::to_owned), kind, modality: 0, mime, content: text.to_owned(), extra }
    }

    /// Returns the columns of its row, without the message id.
    pub(super) fn columns(&self) -> Vec<(&'static str, ColumnValue)> {
        let extra = if self.extra.is_empty() {
            ColumnValue::Null
        } else {
            ColumnValue::Text(json_of(&self.extra).as_str().to_owned())
        };
        vec![
            ("id", self.id.as_deref().map_or(ColumnValue::Null, ColumnValue::from)),
            ("block_type", self.kind.as_str().into()),
            ("modality_type", self.modality.into()),
            ("mime_type", self.mime.as_str().into()),
            ("content", self.content.as_str().into()),
            ("extra_fields", extra),
        ]
    }

    /// Returns the block of a row. `api` is the provider of thinking.
    pub(super) fn to_block(&self, api: Option<&str>) -> Block {
        let known = match (self.kind.as_str(), self.modality) {
            ("content", 0) => Some(Block::Text(Text { text: self.content.clone(), extra: self.fields() })),
            ("content", 1..=3) => Some(Block::Media(self.media())),
            ("thinking", 0) => Some(Block::Thinking(self.thinking(api))),
            ("tool_call", 0) => self.call(),
            _ => None,
        };
        known.unwrap_or_else(|| self.other())
    }

    fn fields(&self) -> Fields {
        let mut fields = self.extra.clone();
        if let Some(id) = &self.id {
            fields.set("id", json_of(id));
        }
        fields
    }

    fn media(&self) -> Media {
        let kind = match (self.modality, self.mime.as_str()) {
            (_, PDF) => MediaKind::File,
            (2, _) => MediaKind::Audio,
            (3, _) => MediaKind::Video,
            _ => MediaKind::Image,
        };
        let data = Some(self.content.clone());
        Media { kind, mime_type: self.mime.clone(), data, uri: None, extra: self.fields() }
    }

    fn thinking(&self, api: Option<&str>) -> Thinking {
        let mut extra = self.fields();
        let who = extra.field(THINKER).and_then(|who| who.to::<String>().ok());
        let sealed = extra.field(seal_of(who.as_deref())).and_then(|seal| seal.to::<String>().ok());
        if sealed.is_some() {
            extra.remove(seal_of(who.as_deref()));
        }
        if who.is_some() && who.as_deref() == api.and_then(thinker_of) {
            extra.remove(THINKER);
        }
        Thinking { text: self.content.clone(), signature: sealed, extra }
    }

    fn call(&self) -> Option<Block> {
        let mut found: RawObject<'_> = serde_json::from_str(shallow(&self.content)?).ok()?;
        let name = found.text("name")?;
        let mut input = found.raw("parameters").map(Json::from_raw).unwrap_or_default();
        let mut extra = self.extra.clone();
        if let Some(own) = extra.remove(INPUT) {
            input = own;
        }
        found.rest().is_empty().then(|| {
            Block::ToolCall(ToolCall { id: self.id.clone().unwrap_or_default(), name, input, extra })
        })
    }

    /// A block of an unknown type.
    fn other(&self) -> Block {
        let mut fields = Fields::new();
        if let Some(id) = &self.id {
            fields.set("id", json_of(id));
        }
        fields.set("modality_type", json_of(self.modality));
        fields.set("mime_type", json_of(&self.mime));
        fields.set("content", json_of(&self.content));
        if !self.extra.is_empty() {
            fields.set("extra_fields", json_of(&self.extra));
        }
        Block::Other(Other { kind: self.kind.clone(), fields })
    }

    /// Returns the row of a block, with the id of the call that it answers, if any; none if CPE would reject
    /// it.
    pub(super) fn from_block(block: &Block, api: Option<&str>, answers: Option<&str>) -> Option<Self> {
        let said = |text: &str| Some(Self::text(text, answers, Fields::new()));
        match block {
            Block::Text(block) => Some(Self::text(&block.text, None, block.extra.clone()).named(answers)),
            Block::Summary(block) => Some(Self::text(&block.text, None, block.extra.clone())),
            Block::Thinking(block) => Some(Self::from_thinking(block, api)),
            Block::ToolCall(block) => Some(Self::from_call(block)),
            Block::Media(media) => match (&media.data, modality_of(media)) {
                (Some(data), Some(modality)) => Some(
                    Self {
                        modality,
                        mime: media.mime_type.clone(),
                        ..Self::text(data, None, media.extra.clone())
                    }
                    .named(answers),
                ),
                _ => said(&format!("({}, {}; not written)", media.kind.as_str(), media.mime_type)),
            },
            Block::Snapshot(block) if block.is_of_files() => None,
            Block::Snapshot(block) => said(&format!("State to carry along: {}", block.data.as_str())),
            Block::Other(other) => Self::from_other(other),
            Block::ToolResult(_) => None,
        }
    }

    /// Moves the id from the fields to its column.
    fn named(mut self, answers: Option<&str>) -> Self {
        self.id = answers.map(str::to_owned);
        if answers.is_none()
            && let Some(Ok(id)) = self.extra.field("id").map(Json::to::<String>)
        {
            self.extra.remove("id");
            self.id = Some(id);
        }
        self
    }

    fn from_thinking(block: &Thinking, api: Option<&str>) -> Self {
        let mut extra = block.extra.clone();
        let own = extra.field(THINKER).and_then(|who| who.to::<String>().ok());
        let who = own.clone().or_else(|| api.and_then(thinker_of).map(str::to_owned));
        if let (None, Some(who)) = (own, &who) {
            extra.set(THINKER, json_of(who));
        }
        if let Some(seal) = &block.signature {
            extra.set(seal_of(who.as_deref()), json_of(seal));
        }
        Self { kind: "thinking".to_owned(), ..Self::text(&block.text, None, extra) }.named(None)
    }

    fn from_call(block: &ToolCall) -> Self {
        let mut extra = block.extra.clone();
        let is_object = block.input.as_str().starts_with('{');
        let parameters = if is_object { block.input.as_str() } else { "{}" };
        if !is_object {
            extra.set(INPUT, block.input.clone());
        }
        let content = format!(r#"{{"name":{},"parameters":{parameters}}}"#, json_of(&block.name).as_str());
        Self { kind: "tool_call".to_owned(), ..Self::text(&content, Some(&block.id), extra) }
    }

    /// Only what came from CPE is sent back to it unchanged.
    fn from_other(other: &Other) -> Option<Self> {
        let word = |name: &str| other.fields.field(name).and_then(|value| value.to::<String>().ok());
        let (mime, content) = (word("mime_type")?, word("content")?);
        let modality = other.fields.field("modality_type")?.to().ok()?;
        let extra = other.fields.field("extra_fields").and_then(|extra| extra.to().ok()).unwrap_or_default();
        Some(Self { id: word("id"), kind: other.kind.clone(), modality, mime, content, extra })
    }
}

fn modality_of(media: &Media) -> Option<i64> {
    match media.kind {
        MediaKind::Image => Some(1),
        MediaKind::Audio => Some(2),
        MediaKind::Video => Some(3),
        MediaKind::File => (media.mime_type == PDF).then_some(1),
    }
}

/// Returns CPE's name of a provider.
fn thinker_of(api: &str) -> Option<&str> {
    match api {
        "anthropic" | "gemini" | "openrouter" | "cerebras" | "zai" => Some(api),
        "openai-responses" => Some("responses"),
        _ => None,
    }
}

/// Returns the field with CPE's signature of thinking.
fn seal_of(thinker: Option<&str>) -> &'static str {
    match thinker {
        Some("anthropic") => "anthropic_thinking_signature",
        Some("gemini") => "gemini_thought_signature",
        Some("responses") => "responses_encrypted_content",
        Some("openrouter") => "reasoning_signature",
        _ => "signature",
    }
}

/// Parses the fields of a JSON object, unless it nests too deep.
pub(super) fn object(text: &str) -> Option<Fields> {
    serde_json::from_str(shallow(text)?).ok()
}

/// Returns the text if it is shallow enough for recursive parsers.
fn shallow(text: &str) -> Option<&str> {
    (deepest(text.as_bytes()) <= ReadLimits::default().depth).then_some(text)
}
