//! Parts of the Gemini API, as blocks.

use serde_json::value::RawValue;

use crate::formats::content::kind_of;
use crate::formats::raw_object::{RawObject, is_text};
use crate::model::{Block, Fields, Json, Media, Other, Text, Thinking, ToolCall, ToolResult};

/// Returns the blocks of a content: a text, a part, or a list of parts.
pub(in crate::formats) fn parts(content: &RawValue, id: &str) -> Vec<Block> {
    if is_text(content) {
        let text: String = serde_json::from_str(content.get()).unwrap_or_default();
        return if text.is_empty() { Vec::new() } else { vec![Block::text(text)] };
    }
    let list: Vec<&RawValue> = serde_json::from_str(content.get()).unwrap_or_else(|_| vec![content]);
    list.into_iter().enumerate().filter_map(|(place, raw)| part(raw, &format!("{id}/part/{place}"))).collect()
}

fn part(raw: &RawValue, own: &str) -> Option<Block> {
    if is_text(raw) {
        return serde_json::from_str::<String>(raw.get()).ok().map(Block::text);
    }
    let mut found: RawObject<'_> = serde_json::from_str(raw.get()).ok()?;
    let is_thought = found.raw("thought").is_some_and(|thought| thought.get() == "true");
    if let Some(text) = found.text("text") {
        let extra = found.rest();
        let block = if is_thought {
            Block::Thinking(Thinking { text, signature: None, extra })
        } else {
            Block::Text(Text { text, extra })
        };
        return Some(block);
    }
    let known = inner(&mut found, "functionCall").map(|inner| called(inner, own, found.rest()));
    let known = known.or_else(|| inner(&mut found, "functionResponse").map(|inner| answered(inner, own)));
    let known = known.or_else(|| inner(&mut found, "inlineData").map(|inner| media(inner, "data")));
    let known = known.or_else(|| inner(&mut found, "fileData").map(|inner| media(inner, "fileUri")));
    Some(known.flatten().unwrap_or_else(|| {
        let kind = found.first().unwrap_or("part").to_owned();
        Block::Other(Other { kind, fields: found.all() })
    }))
}

fn inner<'a>(found: &mut RawObject<'a>, name: &str) -> Option<RawObject<'a>> {
    serde_json::from_str(found.raw(name)?.get()).ok()
}

fn called(mut found: RawObject<'_>, own: &str, extra: Fields) -> Option<Block> {
    let id = found.text("id").unwrap_or_else(|| own.to_owned());
    let input = found.raw("args").map(Json::from_raw).unwrap_or_default();
    Some(Block::ToolCall(ToolCall { id, name: found.text("name")?, input, extra }))
}

/// The response of a function: its output or error, as text if it is a string.
fn answered(mut found: RawObject<'_>, own: &str) -> Option<Block> {
    let call_id = found.text("id").unwrap_or_else(|| own.to_owned());
    let response = found.raw("response")?;
    let mut fields: Option<RawObject<'_>> = serde_json::from_str(response.get()).ok();
    let mut field = |name: &str| fields.as_mut().and_then(|fields| fields.raw(name)).map(Json::from_raw);
    let (output, error) = (field("output"), field("error"));
    let is_error = output.is_none() && error.is_some();
    let output = output.or(error).unwrap_or_else(|| Json::from_raw(response));
    Some(Block::ToolResult(ToolResult { call_id, output, is_error, extra: Fields::new() }))
}

fn media(mut found: RawObject<'_>, field: &str) -> Option<Block> {
    let mime_type = found.text("mimeType").unwrap_or_else(|| "application/octet-stream".to_owned());
    let kind = kind_of(&mime_type);
    let value = Some(found.text(field)?);
    let (data, uri) = if field == "data" { (value, None) } else { (None, value) };
    Some(Block::Media(Media { kind, mime_type, data, uri, extra: found.rest() }))
}
