//! The content of a node, as blocks.

use serde_json::value::RawValue;

use crate::error::Result;
use crate::formats::raw_object::{RawObject, is_text};
use crate::model::{Block, Fields, Json, Media, MediaKind, Other, Text, Thinking};

/// Returns the blocks of a `content`; empty if it has none.
pub(super) fn read(content: &RawValue) -> Vec<Block> {
    let Ok(mut found) = serde_json::from_str::<RawObject<'_>>(content.get()) else {
        return part(content).into_iter().collect();
    };
    let kind = found.text("content_type").unwrap_or_default();
    let list = |found: &mut RawObject<'_>, name: &str| -> Option<Vec<Block>> {
        let items: Vec<&RawValue> = serde_json::from_str(found.raw(name)?.get()).ok()?;
        Some(
            items
                .into_iter()
                .filter_map(|item| if name == "parts" { part(item) } else { thought(item) })
                .collect(),
        )
    };
    let known = match kind.as_str() {
        "text" | "multimodal_text" => list(&mut found, "parts"),
        "thoughts" => list(&mut found, "thoughts"),
        _ => text(&mut found).map(|block| vec![block]),
    };
    known.unwrap_or_else(|| vec![other(kind, &found)])
}

/// A part is a text, or an object with a type.
fn part(raw: &RawValue) -> Option<Block> {
    if is_text(raw) {
        let text: String = serde_json::from_str(raw.get()).ok()?;
        return (!text.trim().is_empty()).then(|| Block::text(text));
    }
    let mut found: RawObject<'_> = serde_json::from_str(raw.get()).ok()?;
    let kind = found.text("content_type").unwrap_or_default();
    let media = match kind.as_str() {
        "image_asset_pointer" => Some(MediaKind::Image),
        "audio_asset_pointer" => Some(MediaKind::Audio),
        "video_container_asset_pointer" => Some(MediaKind::Video),
        _ => None,
    };
    let pointer = media.and_then(|kind| Some((kind, found.text("asset_pointer")?)));
    if let Some((kind, uri)) = pointer {
        let mime_type = "application/octet-stream".to_owned();
        return Some(Block::Media(Media {
            kind,
            mime_type,
            data: None,
            uri: Some(uri),
            extra: found.rest(),
        }));
    }
    text(&mut found).or_else(|| Some(other(kind, &found)))
}

/// Code, its output, a quoted page or a transcript: text with additional fields.
fn text(found: &mut RawObject<'_>) -> Option<Block> {
    let text = found.text("text").or_else(|| found.text("result"))?;
    Some(Block::Text(Text { text, extra: found.rest() }))
}

fn thought(raw: &RawValue) -> Option<Block> {
    let mut found: RawObject<'_> = serde_json::from_str(raw.get()).ok()?;
    let text = found.text("content").filter(|text| !text.is_empty()).or_else(|| found.text("summary"))?;
    Some(Block::Thinking(Thinking { text, signature: None, extra: found.rest() }))
}

fn other(kind: String, found: &RawObject<'_>) -> Block {
    let mut fields = found.all();
    fields.remove("content_type");
    Block::Other(Other { kind, fields })
}

/// A message to a tool is a call: its first text is the input, parsed as JSON if possible.
pub(super) fn call(blocks: Vec<Block>, make: impl Fn(Json, Fields) -> Block) -> Result<Vec<Block>> {
    let mut call = None;
    let mut others = Vec::new();
    for block in blocks {
        match block {
            Block::Text(Text { text, extra }) if call.is_none() => {
                let object = Json::parse(text.as_str()).ok().filter(|json| json.as_str().starts_with('{'));
                call = Some(make(object.map_or_else(|| Json::of(&text), Ok)?, extra));
            }
            other => others.push(other),
        }
    }
    let call = match call {
        Some(call) => call,
        None => make(Json::parse("{}")?, Fields::new()),
    };
    others.push(call);
    Ok(others)
}

/// The output of a tool: a text, or blocks.
pub(super) fn output(blocks: Vec<Block>) -> Result<Json> {
    match blocks.as_slice() {
        [Block::Text(Text { text, .. })] => Json::of(text),
        blocks => Json::of(&blocks),
    }
}
