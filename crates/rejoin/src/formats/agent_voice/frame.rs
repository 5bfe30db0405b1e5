//! A frame: what a person or an assistant said, with its attachments.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::formats::found::Found;
use crate::formats::tag::{self, MessageTag};
use crate::formats::{SourceMessage, content};
use crate::model::{Block, Fields, Json, Media, MediaKind, Message, PrivacyNotes, Role, Time};

/// The field of a message's `extra` with fields that are no part of a frame.
const REST: &str = "agent_voice";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Frame {
    frame_id: String,
    sequence: usize,
    role: Role,
    content: String,
    created_at: Time,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attachments: Vec<Fields>,
    privacy: Privacy,
    #[serde(skip_serializing_if = "Option::is_none")]
    audio: Option<Fields>,
    rejoin: MessageTag,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Privacy {
    contains_secrets: bool,
    redaction_rules_applied: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pii_tokens: Vec<String>,
}

/// The frame of a message.
pub(super) fn write(found: &SourceMessage, sequence: usize, created_at: Time) -> Frame {
    let message = &found.message;
    let role = if message.role == Role::User { Role::User } else { Role::Assistant };
    let mut spoken = message.clone();
    let (mut attachments, mut audio) = (Vec::new(), None);
    spoken.blocks.retain(|block| match named(block) {
        Some(Named::Attachment(fields)) => {
            attachments.push(fields);
            false
        }
        Some(Named::Sound(fields)) if audio.is_none() => {
            audio = Some(fields);
            false
        }
        _ => true,
    });
    let content = content::spoken(&spoken);
    let notes = message.privacy.clone().unwrap_or_default();
    let mut frame = Frame {
        frame_id: found.id.clone(),
        sequence,
        role,
        content,
        created_at,
        attachments,
        privacy: Privacy {
            contains_secrets: notes.contains_secrets,
            redaction_rules_applied: notes.redaction_rules,
            pii_tokens: notes.tokens,
        },
        audio,
        rejoin: MessageTag::default(),
    };
    let text = serde_json::to_string(&frame).expect("a frame is plain data");
    let plain = serde_json::from_str(&text).ok().and_then(|fields| read(fields, 0)).map(|read| read.message);
    frame.rejoin = MessageTag::of(found, &frame.content, plain.as_ref());
    frame
}

/// A frame as it was read.
pub(super) struct Spoken {
    pub(super) id: String,
    pub(super) content: String,
    pub(super) message: Message,
    pub(super) tag: Option<MessageTag>,
}

/// What a frame says; none when nobody is known to have said it.
pub(super) fn read(mut found: Found<'_>, place: usize) -> Option<Spoken> {
    let role = found.text("role").as_deref().and_then(content::role)?;
    let said = found.raw("content");
    let mut message = Message::new(role, said.map(content::blocks).unwrap_or_default());
    message.created_at = tag::read(found.raw("createdAt"));
    let attachments: Vec<Fields> = tag::read(found.raw("attachments")).unwrap_or_default();
    message.blocks.extend(attachments.into_iter().map(attachment));
    message.blocks.extend(tag::read(found.raw("audio")).map(sound));
    message.privacy = found.raw("privacy").and_then(notes);
    let id = found.text("frameId").filter(|id| !id.is_empty()).unwrap_or_else(|| format!("f{place}"));
    let tag = tag::read::<MessageTag>(found.raw(tag::FIELD)).filter(|tag| tag.id.is_some());
    // The place in the list is the order.
    let _ = found.raw("sequence");
    let rest = found.rest();
    if !rest.is_empty() {
        message.extra.set(REST, Json::of(&rest).expect("fields are JSON"));
    }
    let content = said.and_then(|said| serde_json::from_str(said.get()).ok()).unwrap_or_default();
    Some(Spoken { id, content, message, tag })
}

fn notes(raw: &RawValue) -> Option<PrivacyNotes> {
    let mut found: Found<'_> = serde_json::from_str(raw.get()).ok()?;
    let notes = PrivacyNotes {
        contains_secrets: tag::read(found.raw("containsSecrets")).unwrap_or_default(),
        redaction_rules: tag::read(found.raw("redactionRulesApplied")).unwrap_or_default(),
        tokens: tag::read(found.raw("piiTokens")).unwrap_or_default(),
    };
    (notes != PrivacyNotes::default()).then_some(notes)
}

/// What a block is beside the text of a frame.
enum Named {
    Attachment(Fields),
    Sound(Fields),
}

/// A block that names a file of the program, as the program names it.
fn named(block: &Block) -> Option<Named> {
    let Block::Media(media) = block else { return None };
    let mut fields = media.extra.clone();
    fields.set("uri", Json::of(media.uri.as_ref()?).expect("a text is JSON"));
    if fields.field("attachmentId").is_some() {
        return Some(Named::Attachment(fields));
    }
    fields.field("durationMs").is_some().then_some(Named::Sound(fields))
}

fn attachment(fields: Fields) -> Block {
    let kind = fields.field("type").and_then(|kind| kind.to::<String>().ok());
    let (kind, mime_type) = match kind.as_deref() {
        Some("audio") => (MediaKind::Audio, "audio/*"),
        Some("transcript" | "code") => (MediaKind::File, "text/plain"),
        _ => (MediaKind::File, "application/octet-stream"),
    };
    media(kind, mime_type, fields)
}

fn sound(fields: Fields) -> Block {
    media(MediaKind::Audio, "audio/*", fields)
}

fn media(kind: MediaKind, mime_type: &str, mut extra: Fields) -> Block {
    let uri = extra.remove("uri").and_then(|uri| uri.to().ok());
    Block::Media(Media { kind, mime_type: mime_type.to_owned(), data: None, uri, extra })
}
