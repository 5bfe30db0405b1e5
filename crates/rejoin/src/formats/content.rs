//! The content of a line, a text or a list of parts, as blocks and back.
//!
//! Reads the part forms of the AI SDK and Rejoin's own. Unknown kinds are kept unchanged.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::value::RawValue;

use crate::formats::raw_object::{RawObject, is_text};
use crate::model::{
    Block, Json, Media, MediaKind, Message, Other, Role, Summary, Text, Thinking, ToolCall, ToolResult,
};

/// How many characters of a call or a result are written as text; the tag has all of it.
const SHOWN: usize = 2_000;

/// Returns the role for any of the names that programs use.
pub(super) fn role(name: &str) -> Option<Role> {
    Some(match name {
        "user" | "human" => Role::User,
        "assistant" | "model" | "ai" => Role::Assistant,
        "system" | "developer" => Role::System,
        "tool" | "tool_result" | "function" => Role::Tool,
        _ => return None,
    })
}

/// Returns the blocks of a content: a text, a part, or a list of these.
pub(super) fn blocks(content: &RawValue) -> Vec<Block> {
    match content.get().as_bytes().first() {
        Some(b'[') => {
            let parts: Vec<&RawValue> = serde_json::from_str(content.get()).unwrap_or_default();
            parts.into_iter().map(part).collect()
        }
        Some(b'n') => Vec::new(),
        _ => vec![part(content)],
    }
}

fn part(raw: &RawValue) -> Block {
    if is_text(raw) {
        return Block::text(serde_json::from_str::<String>(raw.get()).unwrap_or_default());
    }
    let Ok(mut found) = serde_json::from_str::<RawObject<'_>>(raw.get()) else {
        return Block::text(raw.get());
    };
    let kind = found.text("type").unwrap_or_default();
    let known = match kind.as_str() {
        "reasoning" => reasoning(&mut found),
        "tool-call" => tool_call(&mut found),
        "tool-result" => tool_result(&mut found),
        "image" | "file" => media(&kind, &mut found).or_else(|| serde_json::from_str(raw.get()).ok()),
        _ => serde_json::from_str(raw.get()).ok(),
    };
    known.unwrap_or_else(|| Block::Other(Other { kind, fields: found.all() }))
}

fn reasoning(found: &mut RawObject<'_>) -> Option<Block> {
    let text = found.text("text")?;
    Some(Block::Thinking(Thinking { text, signature: None, extra: found.rest() }))
}

fn tool_call(found: &mut RawObject<'_>) -> Option<Block> {
    let (id, name) = (found.text("toolCallId")?, found.text("toolName")?);
    let input = found.raw("input").or_else(|| found.raw("args")).map(Json::from_raw).unwrap_or_default();
    Some(Block::ToolCall(ToolCall { id, name, input, extra: found.rest() }))
}

/// An output is wrapped in an object with its type; older versions have it bare in `result`.
fn tool_result(found: &mut RawObject<'_>) -> Option<Block> {
    let call_id = found.text("toolCallId")?;
    let mut is_error = found.raw("isError").is_some_and(|raw| raw.get() == "true");
    let output = match found.raw("output") {
        Some(wrapped) => {
            let mut inner: Option<RawObject<'_>> = serde_json::from_str(wrapped.get()).ok();
            let kind = inner.as_mut().and_then(|inner| inner.text("type")).unwrap_or_default();
            is_error |= kind.starts_with("error");
            inner.and_then(|mut inner| inner.raw("value")).unwrap_or(wrapped)
        }
        None => found.raw("result")?,
    };
    let extra = found.rest();
    Some(Block::ToolResult(ToolResult { call_id, output: Json::from_raw(output), is_error, extra }))
}

/// A part in the SDK's form; one without the SDK's fields may be in another form.
fn media(kind: &str, found: &mut RawObject<'_>) -> Option<Block> {
    let mime_type = found.text("mediaType").or_else(|| found.text("mimeType"));
    let bytes = match &mime_type {
        Some(_) => found.text("image").or_else(|| found.text("data"))?,
        None => found.text("image")?,
    };
    let is_address = ["http:", "https:", "data:"].iter().any(|scheme| bytes.starts_with(scheme));
    let (data, uri) = if is_address { (None, Some(bytes)) } else { (Some(bytes), None) };
    let mime_type = mime_type.unwrap_or_else(|| "application/octet-stream".to_owned());
    let kind = if kind == "image" { MediaKind::Image } else { MediaKind::File };
    Some(Block::Media(Media { kind, mime_type, data, uri, extra: found.rest() }))
}

/// Returns the media kind of a MIME type.
pub(super) fn kind_of(mime_type: &str) -> MediaKind {
    match mime_type.split('/').next() {
        Some("image") => MediaKind::Image,
        Some("audio") => MediaKind::Audio,
        Some("video") => MediaKind::Video,
        _ => MediaKind::File,
    }
}

/// Renders a message as text for a program that knows nothing else, with actions in brackets.
pub(super) fn spoken(message: &Message) -> String {
    let mut text = String::new();
    for block in &message.blocks {
        let words: Cow<'_, str> = match block {
            Block::Text(said) => Cow::Borrowed(&said.text),
            Block::Summary(summary) => Cow::Borrowed(&summary.text),
            Block::ToolCall(call) => {
                Cow::Owned(format!("[calls {}: {}]", call.name, cut(call.input.as_str())))
            }
            Block::ToolResult(result) => {
                let failed = if result.is_error { "failed" } else { "result" };
                let output =
                    result.output.to::<String>().unwrap_or_else(|_| result.output.as_str().to_owned());
                Cow::Owned(format!("[{failed}: {}]", cut(&output)))
            }
            Block::Media(media) => Cow::Owned(format!("[{}, {}]", media.kind.as_str(), media.mime_type)),
            Block::Thinking(_) | Block::Snapshot(_) | Block::Other(_) => continue,
        };
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&words);
    }
    text
}

/// Turns the first text of a message into a summary.
pub(super) fn summarize_first_text(message: &mut Message) {
    let first = message.blocks.iter_mut().find(|block| matches!(block, Block::Text(_)));
    if let Some(block) = first
        && let Block::Text(Text { text, extra }) = block
    {
        *block = Block::Summary(Summary { text: text.clone(), extra: extra.clone() });
    }
}

/// Returns the beginning of a long text.
fn cut(text: &str) -> String {
    let Some((end, _)) = text.char_indices().nth(SHOWN) else { return text.to_owned() };
    let mut shown = text[..end].to_owned();
    let left = text[end..].chars().count();
    write!(shown, " … {left} more characters").expect("a string takes every text");
    shown
}
