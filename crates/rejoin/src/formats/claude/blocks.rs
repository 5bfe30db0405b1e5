//! Content of the Messages API, as blocks and back.

use serde_json::value::RawValue;

use crate::error::Result;
use crate::model::{Block, Fields, Json, Media, MediaKind, Other, Text, Thinking, ToolCall, ToolResult};

/// The blocks of a `content`, which is a string or a list.
pub(super) fn read(content: &RawValue) -> Result<Vec<Block>> {
    let content = Json::parse(content.get())?;
    if let Ok(text) = content.to::<String>() {
        return Ok(vec![Block::text(text)]);
    }
    Ok(content.to::<Vec<Fields>>()?.into_iter().map(block).collect())
}

fn block(mut fields: Fields) -> Block {
    let kind = take(&mut fields, "type").unwrap_or_default();
    let known = match kind.as_str() {
        "text" => text(&fields),
        "thinking" => thinking(&fields),
        "tool_use" => tool_use(&fields),
        "tool_result" => tool_result(&fields),
        "image" => media(&fields, MediaKind::Image),
        "document" => media(&fields, MediaKind::File),
        _ => None,
    };
    known.unwrap_or(Block::Other(Other { kind, fields }))
}

/// Takes a field that is a string; another one stays.
fn take(fields: &mut Fields, name: &str) -> Option<String> {
    let text = fields.field(name)?.to().ok()?;
    fields.remove(name);
    Some(text)
}

fn text(fields: &Fields) -> Option<Block> {
    let mut extra = fields.clone();
    Some(Block::Text(Text { text: take(&mut extra, "text")?, extra }))
}

fn thinking(fields: &Fields) -> Option<Block> {
    let mut extra = fields.clone();
    let text = take(&mut extra, "thinking")?;
    let signature = take(&mut extra, "signature").filter(|signature| !signature.is_empty());
    Some(Block::Thinking(Thinking { text, signature, extra }))
}

fn tool_use(fields: &Fields) -> Option<Block> {
    let mut extra = fields.clone();
    let (id, name) = (take(&mut extra, "id")?, take(&mut extra, "name")?);
    let input = extra.remove("input").unwrap_or_default();
    Some(Block::ToolCall(ToolCall { id, name, input, extra }))
}

fn tool_result(fields: &Fields) -> Option<Block> {
    let mut extra = fields.clone();
    let call_id = take(&mut extra, "tool_use_id")?;
    let output = extra.remove("content").unwrap_or_default();
    let is_error = extra.remove("is_error").and_then(|is_error| is_error.to().ok()).unwrap_or(false);
    Some(Block::ToolResult(ToolResult { call_id, output, is_error, extra }))
}

/// A picture or a document whose bytes, or their address, stand in `source`.
fn media(fields: &Fields, kind: MediaKind) -> Option<Block> {
    let mut extra = fields.clone();
    let mut source: Fields = extra.remove("source")?.to().ok()?;
    let (data, uri, mime_type) = match take(&mut source, "type")?.as_str() {
        "base64" => (Some(take(&mut source, "data")?), None, take(&mut source, "media_type")?),
        "url" => (None, Some(take(&mut source, "url")?), "application/octet-stream".to_owned()),
        _ => return None,
    };
    source.is_empty().then_some(Block::Media(Media { kind, mime_type, data, uri, extra }))
}
