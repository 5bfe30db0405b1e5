//! Contents of a message, as blocks.

use serde_json::value::RawValue;

use crate::formats::raw_object::{RawObject, is_text};
use crate::model::{
    Block, Fields, Json, Media, MediaKind, Other, Role, Text, Thinking, ToolCall, ToolResult,
};

/// Returns the blocks of a list of contents; none if it is not a list.
pub(super) fn blocks(contents: &str) -> Option<Vec<Block>> {
    let contents: Vec<RawObject<'_>> = serde_json::from_str(contents).ok()?;
    Some(contents.into_iter().map(block).collect())
}

/// Returns the role of a message: tool if it has results.
pub(super) fn role_of(role: &str, blocks: &[Block]) -> Role {
    if blocks.iter().any(|block| matches!(block, Block::ToolResult(_))) {
        return Role::Tool;
    }
    role.parse().unwrap_or(Role::System)
}

fn block(mut found: RawObject<'_>) -> Block {
    let kind = found.text("type").unwrap_or_default();
    let known = match kind.as_str() {
        "text" => found.text("text").map(|text| Block::Text(Text { text, extra: found.rest() })),
        "image" => image(&mut found),
        "thinking" => thinking(&mut found),
        "reasoning" => found
            .text("text")
            .map(|text| Block::Thinking(Thinking { text, signature: None, extra: found.rest() })),
        "toolRequest" | "frontendToolRequest" => request(&mut found),
        "toolResponse" => response(&mut found),
        _ => None,
    };
    known.unwrap_or_else(|| Block::Other(Other { kind, fields: found.all() }))
}

fn image(found: &mut RawObject<'_>) -> Option<Block> {
    let (data, mime_type) = (Some(found.text("data")?), found.text("mimeType")?);
    let extra = found.rest();
    Some(Block::Media(Media { kind: MediaKind::Image, mime_type, data, uri: None, extra }))
}

fn thinking(found: &mut RawObject<'_>) -> Option<Block> {
    let text = found.text("thinking")?;
    let signature = found.text("signature").filter(|signature| !signature.is_empty());
    Some(Block::Thinking(Thinking { text, signature, extra: found.rest() }))
}

/// A valid call by the model. Any other is kept unchanged.
fn request(found: &mut RawObject<'_>) -> Option<Block> {
    let id = found.text("id")?;
    let mut outcome: RawObject<'_> = serde_json::from_str(found.raw("toolCall")?.get()).ok()?;
    let mut call: RawObject<'_> = serde_json::from_str(outcome.raw("value")?.get()).ok()?;
    let name = call.text("name")?;
    let input = call.raw("arguments").map(Json::from_raw).unwrap_or_default();
    Some(Block::ToolCall(ToolCall { id, name, input, extra: found.rest() }))
}

fn response(found: &mut RawObject<'_>) -> Option<Block> {
    let call_id = found.text("id")?;
    let mut outcome: RawObject<'_> = serde_json::from_str(found.raw("toolResult")?.get()).ok()?;
    let (output, is_error) = match (outcome.raw("value"), outcome.raw("error")) {
        (Some(value), _) => answer(value)?,
        (None, Some(error)) => (Json::from_raw(error), true),
        (None, None) => return None,
    };
    Some(Block::ToolResult(ToolResult { call_id, output, is_error, extra: found.rest() }))
}

/// The output of a tool: a list of contents, with or without a failure flag.
fn answer(value: &RawValue) -> Option<(Json, bool)> {
    let (contents, is_error) = if value.get().starts_with('[') {
        (value, false)
    } else {
        let mut result: RawObject<'_> = serde_json::from_str(value.get()).ok()?;
        let is_error = result.raw("isError").is_some_and(|is_error| is_error.get() == "true");
        (result.raw("content")?, is_error)
    };
    if is_text(contents) {
        return Some((Json::from_raw(contents), is_error));
    }
    let blocks = blocks(contents.get())?;
    let output = match blocks.as_slice() {
        [Block::Text(only)] if only.extra == Fields::new() => Json::of(&only.text),
        several => Json::of(&several),
    };
    Some((output.ok()?, is_error))
}
