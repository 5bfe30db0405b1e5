//! Content of the Messages API, as blocks and back.

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

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
    let output = output(extra.remove("content").unwrap_or_default());
    let is_error = extra.remove("is_error").and_then(|is_error| is_error.to().ok()).unwrap_or(false);
    Some(Block::ToolResult(ToolResult { call_id, output, is_error, extra }))
}

/// What a tool answered: a list becomes blocks of ours, so that every provider can be sent it.
fn output(content: Json) -> Json {
    let blocks = content.to::<Vec<Fields>>().map(|list| list.into_iter().map(block).collect::<Vec<_>>());
    blocks.and_then(|blocks| Json::of(&blocks)).unwrap_or(content)
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

/// A block as the API takes it; none for what it does not take.
pub(super) fn write(block: &Block) -> Option<Value> {
    let (mut fields, extra) = match block {
        Block::Text(block) => (json!({"type": "text", "text": block.text}), &block.extra),
        Block::Thinking(block) => {
            let signature = block.signature.as_ref()?;
            (json!({"type": "thinking", "thinking": block.text, "signature": signature}), &block.extra)
        }
        Block::ToolCall(block) => {
            let input: Value = block.input.to().unwrap_or_default();
            (json!({"type": "tool_use", "id": block.id, "name": block.name, "input": input}), &block.extra)
        }
        Block::ToolResult(block) => {
            let mut fields = json!({"type": "tool_result", "tool_use_id": block.call_id, "content": content(&block.output)});
            if block.is_error {
                fields["is_error"] = json!(true);
            }
            (fields, &block.extra)
        }
        Block::Media(block) => (write_media(block), &block.extra),
        Block::Snapshot(block) => (
            json!({"type": "text", "text": format!("State to carry along: {}", block.data.as_str())}),
            &block.extra,
        ),
        Block::Summary(block) => return Some(json!({"type": "text", "text": block.text})),
        Block::Other(block) => (json!({"type": block.kind}), &block.fields),
    };
    let object: &mut Map<String, Value> = fields.as_object_mut()?;
    for (name, value) in extra.iter() {
        object.insert(name.to_owned(), value.to().ok()?);
    }
    Some(fields)
}

/// What a tool answered, as the API takes it: a text or a list of blocks.
fn content(output: &Json) -> Value {
    if let Ok(text) = output.to::<String>() {
        return Value::String(text);
    }
    match output.to::<Vec<Block>>() {
        Ok(blocks) if blocks.iter().all(|block| !block.kind().is_empty()) => {
            blocks.iter().filter_map(write).collect()
        }
        _ => Value::String(output.as_str().to_owned()),
    }
}

fn write_media(media: &Media) -> Value {
    let source = match (&media.data, &media.uri) {
        (Some(data), _) => json!({"type": "base64", "media_type": media.mime_type, "data": data}),
        (None, Some(uri)) => json!({"type": "url", "url": uri}),
        (None, None) => Value::Null,
    };
    match media.kind {
        MediaKind::Image if !source.is_null() => json!({"type": "image", "source": source}),
        MediaKind::File if !source.is_null() => json!({"type": "document", "source": source}),
        kind => {
            json!({"type": "text", "text": format!("({}, {}; not written)", kind.as_str(), media.mime_type)})
        }
    }
}
