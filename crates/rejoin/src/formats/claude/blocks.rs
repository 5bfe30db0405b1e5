//! Content of the Messages API, as blocks and back.

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::error::{Error, Result};
use crate::formats::raw_object::{RawContent, RawObject, is_text};
use crate::model::{Block, Json, Media, MediaKind, Other, Text, Thinking, ToolCall, ToolResult};

/// Returns the blocks of a `content`, which is a text or a list of objects.
pub(super) fn read(content: RawContent<'_>) -> Result<Vec<Block>> {
    let blocks = match content {
        RawContent::Text(text) => Some(vec![Block::text(text)]),
        RawContent::List(items) => items.into_iter().map(item).collect(),
        RawContent::Object(_) | RawContent::Other => None,
    };
    blocks.ok_or_else(|| Error::invalid("its content is neither text nor a list of blocks"))
}

fn item(item: RawContent<'_>) -> Option<Block> {
    match item {
        RawContent::Object(found) => Some(block(found)),
        RawContent::Text(_) | RawContent::List(_) | RawContent::Other => None,
    }
}

fn block(mut found: RawObject<'_>) -> Block {
    let kind = found.text("type").unwrap_or_default();
    let known = match kind.as_str() {
        "text" => text(&mut found),
        "thinking" => thinking(&mut found),
        "tool_use" => tool_use(&mut found),
        "tool_result" => tool_result(&mut found),
        "image" => media(&mut found, MediaKind::Image),
        "document" => media(&mut found, MediaKind::File),
        _ => None,
    };
    known.unwrap_or_else(|| Block::Other(Other { kind, fields: found.all() }))
}

fn text(found: &mut RawObject<'_>) -> Option<Block> {
    Some(Block::Text(Text { text: found.text("text")?, extra: found.rest() }))
}

fn thinking(found: &mut RawObject<'_>) -> Option<Block> {
    let text = found.text("thinking")?;
    let signature = found.text("signature").filter(|signature| !signature.is_empty());
    Some(Block::Thinking(Thinking { text, signature, extra: found.rest() }))
}

fn tool_use(found: &mut RawObject<'_>) -> Option<Block> {
    let (id, name) = (found.text("id")?, found.text("name")?);
    let input = found.raw("input").map(Json::from_raw).unwrap_or_default();
    Some(Block::ToolCall(ToolCall { id, name, input, extra: found.rest() }))
}

fn tool_result(found: &mut RawObject<'_>) -> Option<Block> {
    let call_id = found.text("tool_use_id")?;
    let output = found.raw("content").map(output).unwrap_or_default();
    let is_error = found.raw("is_error").is_some_and(|is_error| is_error.get() == "true");
    Some(Block::ToolResult(ToolResult { call_id, output, is_error, extra: found.rest() }))
}

/// The output of a tool: a list becomes Rejoin's blocks, so that it can be sent to any provider.
fn output(content: &RawValue) -> Json {
    if is_text(content) {
        return Json::from_raw(content);
    }
    let found: Option<RawContent<'_>> = serde_json::from_str(content.get()).ok();
    let blocks = found.and_then(|found| read(found).and_then(|blocks| Json::of(&blocks)).ok());
    blocks.unwrap_or_else(|| Json::from_raw(content))
}

/// An image or a document with its data or URL in `source`.
fn media(found: &mut RawObject<'_>, kind: MediaKind) -> Option<Block> {
    let mut source: RawObject<'_> = serde_json::from_str(found.raw("source")?.get()).ok()?;
    let (data, uri, mime_type) = match source.text("type")?.as_str() {
        "base64" => (Some(source.text("data")?), None, source.text("media_type")?),
        "url" => (None, Some(source.text("url")?), "application/octet-stream".to_owned()),
        _ => return None,
    };
    let media = Media { kind, mime_type, data, uri, extra: found.rest() };
    source.rest().is_empty().then_some(Block::Media(media))
}

/// Where a block comes from. The API rejects fields that it does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockOwner {
    /// The API itself, so it is sent back with all of its fields.
    Own,
    /// Elsewhere, so only fields that every API has are written.
    Foreign,
}

/// Returns a block as the API accepts it; none if it does not.
pub(super) fn write(block: &Block, whose: BlockOwner) -> Option<Value> {
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
            let content = content(&block.output, whose);
            let mut fields = json!({"type": "tool_result", "tool_use_id": block.call_id, "content": content});
            if block.is_error {
                fields["is_error"] = json!(true);
            }
            (fields, &block.extra)
        }
        Block::Media(block) => (write_media(block), &block.extra),
        Block::Snapshot(block) if block.is_of_files() => return None,
        Block::Snapshot(block) => (
            json!({"type": "text", "text": format!("State to carry along: {}", block.data.as_str())}),
            &block.extra,
        ),
        Block::Summary(block) => return Some(json!({"type": "text", "text": block.text})),
        Block::Other(block) => (json!({"type": block.kind}), &block.fields),
    };
    if whose == BlockOwner::Foreign {
        return Some(fields);
    }
    let object: &mut Map<String, Value> = fields.as_object_mut()?;
    for (name, value) in extra.iter() {
        object.insert(name.to_owned(), value.to().ok()?);
    }
    Some(fields)
}

/// The output of a tool as the API accepts it: a text or a list of blocks.
fn content(output: &Json, whose: BlockOwner) -> Value {
    if let Ok(text) = output.to::<String>() {
        return Value::String(text);
    }
    match output.to::<Vec<Block>>() {
        Ok(blocks) if blocks.iter().all(|block| !block.kind().is_empty()) => {
            blocks.iter().filter_map(|block| write(block, whose)).collect()
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
