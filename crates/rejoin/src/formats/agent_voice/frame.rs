//! Converts frames to messages and back.

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::formats::agent_voice::schema::{AttachmentRef, AudioArtifactRef, FramePrivacy, MessageFrame};
use crate::formats::agent_voice::string_enum::{is_known_sound, with_given_type, with_known_type};
use crate::formats::raw_object::RawObject;
use crate::formats::tag::{self, MessageTag};
use crate::formats::{SourceMessage, content};
use crate::model::{Block, Fields, Json, Media, MediaKind, Message, PrivacyNotes, Role, Time};

/// The field of `extra`, in a message or a header, with what only this program knows.
pub(super) const REST: &str = "agent_voice";

/// The part of that which identifies a frame, so that its id and number are kept.
const FRAME_ID: &str = "frameId";
const SEQUENCE: &str = "sequence";

/// Audio in a format that a frame cannot have, stored next to the frame.
const GIVEN_AUDIO: &str = "givenAudio";

/// The name of an attachment's type in a block, which has a type of its own.
const ATTACHMENT_TYPE: &str = "attachmentType";

/// Returns the frame of a message for a file, with a tag for what a frame cannot hold.
pub(super) fn write(found: &SourceMessage, place: u64, created_at: Time) -> MessageFrame {
    let mut frame = of_message(&found.message, &found.id, place, created_at);
    let text = serde_json::to_string(&frame).expect("a frame is plain data");
    let plain = serde_json::from_str(&text).ok().and_then(|fields| read(fields, 0)).map(|read| read.message);
    let tag = MessageTag::of(found, &frame.content, plain.as_ref());
    frame.extra.set(tag::FIELD, Json::of(&tag).expect("a tag is plain data"));
    frame
}

/// Returns what a frame can hold of a message. The message's own frame id and number take precedence.
pub(crate) fn of_message(message: &Message, id: &str, place: u64, created_at: Time) -> MessageFrame {
    let role = if message.role == Role::User { Role::User } else { Role::Assistant };
    let mut spoken = message.clone();
    let (mut attachments, mut audio, mut given_audio) = (Vec::new(), None, None);
    spoken.blocks.retain(|block| match named(block) {
        Some(FileReference::Attachment(attachment)) => {
            attachments.push(attachment);
            false
        }
        Some(FileReference::Sound(sound)) if audio.is_none() => {
            audio = Some(sound);
            false
        }
        Some(FileReference::OtherSound(sound)) if given_audio.is_none() => {
            given_audio = Some(sound);
            false
        }
        _ => true,
    });
    let notes = message.privacy.clone().unwrap_or_default();
    let mut extra = rest(&message.extra);
    let own_id = extra.remove(FRAME_ID).and_then(|id| id.to().ok());
    if let Some(sound) = given_audio {
        extra.set(GIVEN_AUDIO, Json::of(&sound).expect("fields are JSON"));
    }
    let own_place = extra.remove(SEQUENCE).and_then(|place| place.to().ok());
    MessageFrame {
        frame_id: own_id.unwrap_or_else(|| id.to_owned()),
        sequence: own_place.unwrap_or(place),
        role,
        content: content::spoken(&spoken),
        created_at,
        attachments,
        privacy: FramePrivacy {
            contains_secrets: notes.contains_secrets,
            redaction_rules_applied: notes.redaction_rules,
            pii_tokens: notes.tokens,
        },
        audio,
        extra,
    }
}

/// Returns the message of a frame. It keeps the frame's id, and the number if that differs from the frame's
/// place.
pub(crate) fn to_message(frame: &MessageFrame, place: u64) -> Message {
    let text = serde_json::to_string(frame).expect("a frame is plain data");
    let spoken = serde_json::from_str(&text).ok().and_then(|fields| read(fields, 0));
    let mut message = spoken.expect("a frame has a role").message;
    let mut kept = rest(&message.extra);
    kept.set(FRAME_ID, Json::of(&frame.frame_id).expect("a text is JSON"));
    if frame.sequence != place {
        kept.set(SEQUENCE, Json::of(&frame.sequence).expect("a number is JSON"));
    }
    set_rest(&mut message.extra, &kept);
    message
}

/// Returns the frame id of a message.
pub(crate) fn frame_id(message: &Message) -> Option<String> {
    rest(&message.extra).remove(FRAME_ID)?.to().ok()
}

/// Returns what only this program knows.
pub(super) fn rest(extra: &Fields) -> Fields {
    extra.field(REST).and_then(|rest| rest.to().ok()).unwrap_or_default()
}

/// Stores what only this program knows; removes the field if that is empty.
pub(super) fn set_rest(extra: &mut Fields, rest: &Fields) {
    if rest.is_empty() {
        extra.remove(REST);
    } else {
        extra.set(REST, Json::of(rest).expect("fields are JSON"));
    }
}

/// A frame that was read.
pub(super) struct ParsedFrame {
    pub(super) id: String,
    pub(super) content: String,
    pub(super) message: Message,
    pub(super) tag: Option<MessageTag>,
}

/// Parses a frame; none if its role is unknown.
pub(super) fn read(mut found: RawObject<'_>, place: usize) -> Option<ParsedFrame> {
    let role = found.text("role").as_deref().and_then(content::role)?;
    let said = found.raw("content");
    let mut message = Message::new(role, said.map(content::blocks).unwrap_or_default());
    message.created_at = tag::read(found.raw("createdAt"));
    let attachments: Vec<Fields> = tag::read(found.raw("attachments")).unwrap_or_default();
    message.blocks.extend(attachments.into_iter().map(attachment));
    message.blocks.extend(tag::read(found.raw("audio")).map(sound));
    message.blocks.extend(tag::read(found.raw(GIVEN_AUDIO)).map(sound));
    message.privacy = found.raw("privacy").and_then(notes);
    let id = found.text("frameId").filter(|id| !id.is_empty()).unwrap_or_else(|| format!("f{place}"));
    let tag = tag::read::<MessageTag>(found.raw(tag::FIELD)).filter(|tag| tag.id.is_some());
    // The order of the list counts, not the numbers.
    let _ = found.raw("sequence");
    set_rest(&mut message.extra, &found.rest());
    let content = said.and_then(|said| serde_json::from_str(said.get()).ok()).unwrap_or_default();
    Some(ParsedFrame { id, content, message, tag })
}

fn notes(raw: &RawValue) -> Option<PrivacyNotes> {
    let mut found: RawObject<'_> = serde_json::from_str(raw.get()).ok()?;
    let notes = PrivacyNotes {
        contains_secrets: tag::read(found.raw("containsSecrets")).unwrap_or_default(),
        redaction_rules: tag::read(found.raw("redactionRulesApplied")).unwrap_or_default(),
        tokens: tag::read(found.raw("piiTokens")).unwrap_or_default(),
    };
    (notes != PrivacyNotes::default()).then_some(notes)
}

/// A block that is written next to the text of a frame.
enum FileReference {
    Attachment(AttachmentRef),
    Sound(AudioArtifactRef),
    /// Audio in a format that no frame has.
    OtherSound(Fields),
}

/// Returns a block that refers to a file, in the program's own terms.
fn named(block: &Block) -> Option<FileReference> {
    let Block::Media(media) = block else { return None };
    let mut fields = media.extra.clone();
    fields.set("uri", Json::of(media.uri.as_ref()?).expect("a text is JSON"));
    if let Some(kind) = fields.remove(ATTACHMENT_TYPE) {
        fields.set("type", kind);
    }
    if fields.field("attachmentId").is_some() {
        with_known_type(&mut fields);
        return read_as(&fields).map(FileReference::Attachment);
    }
    fields.field("durationMs")?;
    let sound = if is_known_sound(&fields) { read_as(&fields) } else { None };
    Some(sound.map_or(FileReference::OtherSound(fields), FileReference::Sound))
}

fn read_as<T: DeserializeOwned>(fields: &Fields) -> Option<T> {
    Json::of(fields).ok()?.to().ok()
}

fn attachment(mut fields: Fields) -> Block {
    with_given_type(&mut fields);
    let kind = fields.remove("type");
    let (media_kind, mime_type) = match kind.as_ref().and_then(|kind| kind.to::<String>().ok()).as_deref() {
        Some("audio") => (MediaKind::Audio, "audio/*"),
        Some("transcript" | "code") => (MediaKind::File, "text/plain"),
        _ => (MediaKind::File, "application/octet-stream"),
    };
    if let Some(kind) = kind {
        fields.set(ATTACHMENT_TYPE, kind);
    }
    media(media_kind, mime_type, fields)
}

fn sound(fields: Fields) -> Block {
    media(MediaKind::Audio, "audio/*", fields)
}

fn media(kind: MediaKind, mime_type: &str, mut extra: Fields) -> Block {
    let uri = extra.remove("uri").and_then(|uri| uri.to().ok());
    Block::Media(Media { kind, mime_type: mime_type.to_owned(), data: None, uri, extra })
}
