//! Parts of a message, as blocks.

use serde_json::{Map, Value};

use crate::formats::content::kind_of;
use crate::formats::encoding::json_of;
use crate::model::{Block, Fields, Json, Media, Other, Text, Thinking, ToolCall, ToolResult};

/// Fields with the ids and the time of a part, which the source text has.
const STANDING: [&str; 5] = ["type", "id", "sessionID", "messageID", "time"];

/// What a part is converted to.
pub(super) enum ParsedPart {
    /// A block of the message.
    Block(Block),
    /// A call, with its result if there is one.
    Tool(ToolCall, Option<ToolResult>),
    /// The start of a request to the model.
    Step,
    /// A marker of the program, which only the source text has.
    Mark,
}

impl ParsedPart {
    pub(super) fn of(fields: &Map<String, Value>) -> Self {
        let word = |name: &str| fields.get(name).and_then(Value::as_str);
        let known = match word("type") {
            Some("text") => word("text").map(|text| {
                Self::Block(Block::Text(Text { text: text.to_owned(), extra: rest(fields, &["text"]) }))
            }),
            Some("reasoning") => {
                word("text").map(|text| Self::Block(Block::Thinking(thinking(fields, text))))
            }
            Some("file") => media(fields).map(|media| Self::Block(Block::Media(media))),
            Some("tool") => tool(fields),
            Some("step-start") => Some(Self::Step),
            Some("step-finish") => Some(Self::Mark),
            _ => None,
        };
        known.unwrap_or_else(|| {
            let kind = word("type").unwrap_or_default().to_owned();
            Self::Block(Block::Other(Other { kind, fields: rest(fields, &[]) }))
        })
    }
}

/// True for text that the program added.
pub(super) fn is_added(block: &Block) -> bool {
    match block {
        Block::Text(text) => text.extra.field("synthetic").is_some_and(|is| is.as_str() == "true"),
        Block::Other(other) => other.kind == "compaction",
        _ => false,
    }
}

fn thinking(fields: &Map<String, Value>, text: &str) -> Thinking {
    let signature = fields.get("metadata").and_then(|metadata| metadata["anthropic"]["signature"].as_str());
    Thinking {
        text: text.to_owned(),
        signature: signature.map(str::to_owned),
        extra: rest(fields, &["text"]),
    }
}

/// A file: a data URL or another address.
fn media(fields: &Map<String, Value>) -> Option<Media> {
    let (mime, url) = (fields.get("mime")?.as_str()?, fields.get("url")?.as_str()?);
    let kind = kind_of(mime);
    let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")).map(|(_, data)| data);
    let uri = inline.is_none().then(|| url.to_owned());
    let extra = rest(fields, &["mime", "url"]);
    Some(Media { kind, mime_type: mime.to_owned(), data: inline.map(str::to_owned), uri, extra })
}

fn tool(fields: &Map<String, Value>) -> Option<ParsedPart> {
    let word = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
    let (id, name) = (word("callID")?, word("tool")?);
    let state = fields.get("state")?.as_object()?;
    let input = json_of(state.get("input").unwrap_or(&Value::Null));
    let said = |name: &str| state.get(name).map_or_else(Json::default, json_of);
    let answered = match state.get("status").and_then(Value::as_str) {
        Some("completed") => Some((output(state), false)),
        Some("error") => Some((said("error"), true)),
        _ => None,
    };
    let result = answered.map(|(output, is_error)| ToolResult {
        call_id: id.clone(),
        output,
        is_error,
        extra: Fields::new(),
    });
    Some(ParsedPart::Tool(ToolCall { id, name, input, extra: Fields::new() }, result))
}

/// The output of a tool: its text, or its text and files.
fn output(state: &Map<String, Value>) -> Json {
    let text = state.get("output").unwrap_or(&Value::Null);
    let files: Vec<Block> = state
        .get("attachments")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|file| media(file.as_object()?).map(Block::Media))
        .collect();
    match text.as_str() {
        Some(text) if !files.is_empty() => {
            json_of(std::iter::once(Block::text(text)).chain(files).collect::<Vec<_>>())
        }
        _ => json_of(text),
    }
}

/// Returns the session that a call started.
pub(super) fn started(fields: &Map<String, Value>) -> Option<&str> {
    fields.get("state")?["metadata"]["sessionId"].as_str()
}

fn rest(fields: &Map<String, Value>, taken: &[&str]) -> Fields {
    let mut rest = Fields::new();
    for (name, value) in fields {
        if !STANDING.contains(&name.as_str()) && !taken.contains(&name.as_str()) {
            rest.set(name, json_of(value));
        }
    }
    rest
}
