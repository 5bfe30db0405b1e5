//! Images and other files: sent where the recipient takes them, described elsewhere.

use crate::model::{Block, Media, MediaKind, MessageId};
use crate::ops::view::{MediaRule, Recipient, Repair};

/// The images that every API takes.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

const PDF: &str = "application/pdf";

/// Where media stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MediaPlace {
    /// In what a user says, or beside the results of tools.
    Heard,
    /// In the output of a tool.
    Output,
    /// In what a model or the system says, where no API takes it.
    Elsewhere,
}

/// The text that describes media which is not sent.
pub(super) fn fit(
    media: &Media,
    recipient: &Recipient,
    place: MediaPlace,
    id: Option<MessageId>,
    repairs: &mut Vec<Repair>,
) -> Option<Block> {
    let rule = match place {
        MediaPlace::Heard => recipient.media,
        MediaPlace::Output => recipient.output_media,
        MediaPlace::Elsewhere => MediaRule::Described,
    };
    if is_sent(media, rule) {
        return None;
    }
    repairs.push(Repair::DescribedMedia { message: id, mime_type: media.mime_type.clone() });
    Some(Block::text(described(media)))
}

/// What is said of media that is not sent.
pub(super) fn described(media: &Media) -> String {
    let kind = media.kind.as_str();
    match media.uri.as_deref().filter(|uri| !uri.starts_with("data:")) {
        Some(uri) => format!("[{kind} of type `{}` at `{uri}`, not sent]", media.mime_type),
        None => format!("[{kind} of type `{}`, not sent]", media.mime_type),
    }
}

fn is_sent(media: &Media, rule: MediaRule) -> bool {
    let is_image = match rule {
        MediaRule::Described => return false,
        MediaRule::Images | MediaRule::ImagesAndPdfs => media.kind == MediaKind::Image,
    };
    let is_pdf = rule == MediaRule::ImagesAndPdfs && media.kind == MediaKind::File && media.mime_type == PDF;
    let is_type = |mime_type: &str| if is_image { IMAGES.contains(&mime_type) } else { mime_type == PDF };
    (is_image || is_pdf) && has_bytes(media, is_type)
}

/// True when the bytes are here and of a type that is taken, or where the provider can fetch them.
fn has_bytes(media: &Media, is_type: impl Fn(&str) -> bool) -> bool {
    if let Some(data) = media.data.as_ref().filter(|data| !data.is_empty()) {
        return is_type(&media.mime_type) && is_base64(data);
    }
    let uri = media.uri.as_deref().unwrap_or_default();
    let inline = uri.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    match inline {
        Some((mime_type, data)) => is_type(mime_type) && is_base64(data),
        None => uri.starts_with("https://") || uri.starts_with("http://"),
    }
}

/// True for bytes in base64 as providers read it: padded, without line ends.
fn is_base64(data: &str) -> bool {
    let body = data.trim_end_matches('=');
    let is_letter = |letter: u8| letter.is_ascii_alphanumeric() || matches!(letter, b'+' | b'/');
    let padding = data.len() - body.len();
    !body.is_empty() && data.len().is_multiple_of(4) && padding <= 2 && body.bytes().all(is_letter)
}
