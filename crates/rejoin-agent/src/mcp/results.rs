//! What a server answered, as a result that models and archives understand.

use rejoin::{Block, Fields, Media, MediaKind};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;

use crate::tools::{Output, clip};

/// Text that is kept for the model.
const MOST_TEXT: usize = 100_000;

/// A larger picture, in base64, is described instead of kept.
const LARGEST_MEDIA: usize = 5_000_000;

/// What stands for content that came after this was written.
const UNKNOWN: &str = "[content of a kind that is not known]";

/// The result of a call. Text and structured content become the output, pictures and sounds stand beside it.
pub(super) fn output(result: CallToolResult) -> Output {
    let mut texts = Vec::new();
    let mut media = Vec::new();
    for block in result.content {
        match block {
            ContentBlock::Text(text) => texts.push(text.text),
            ContentBlock::Image(image) => {
                keep(MediaKind::Image, image.mime_type, image.data, &mut texts, &mut media);
            }
            ContentBlock::Audio(audio) => {
                keep(MediaKind::Audio, audio.mime_type, audio.data, &mut texts, &mut media);
            }
            ContentBlock::ResourceLink(link) => texts.push(format!("[resource {}: {}]", link.name, link.uri)),
            ContentBlock::Resource(embedded) => match embedded.resource {
                ResourceContents::TextResourceContents { uri, text, .. } => {
                    texts.push(format!("[{uri}]\n{text}"));
                }
                ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                    let mime_type = mime_type.unwrap_or_else(|| "application/octet-stream".to_owned());
                    texts.push(format!("[{uri}]"));
                    keep(MediaKind::File, mime_type, blob, &mut texts, &mut media);
                }
                _ => texts.push(UNKNOWN.to_owned()),
            },
            _ => texts.push(UNKNOWN.to_owned()),
        }
    }
    if let Some(structured) = result.structured_content.filter(|structured| !repeats(&texts, structured)) {
        texts.push(structured.to_string());
    }
    let text = if texts.is_empty() { "(no output)".to_owned() } else { texts.join("\n") };
    Output { is_error: result.is_error.unwrap_or(false), media, ..Output::text(clip(&text, MOST_TEXT)) }
}

/// Servers repeat structured content as text for clients that do not know it.
fn repeats(texts: &[String], structured: &Value) -> bool {
    let is_same = |text: &String| serde_json::from_str::<Value>(text).is_ok_and(|value| value == *structured);
    // What is not an object is wrapped in one by some servers.
    let wrapped =
        structured.get("result").filter(|_| structured.as_object().is_some_and(|object| object.len() == 1));
    let is_wrapped = |text: &String| {
        wrapped.is_some_and(|inner| {
            inner.as_str() == Some(text)
                || serde_json::from_str::<Value>(text).is_ok_and(|value| value == *inner)
        })
    };
    texts.iter().any(|text| is_same(text) || is_wrapped(text))
}

fn keep(kind: MediaKind, mime_type: String, data: String, texts: &mut Vec<String>, media: &mut Vec<Block>) {
    texts.push(format!("[{} {mime_type}, {} bytes]", kind.as_str(), data.len() / 4 * 3));
    if data.len() <= LARGEST_MEDIA {
        media.push(Block::Media(Media {
            kind,
            mime_type,
            data: Some(data),
            uri: None,
            extra: Fields::new(),
        }));
    }
}
