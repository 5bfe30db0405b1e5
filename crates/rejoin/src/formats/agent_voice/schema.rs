//! The record of Agent Voice as plain data, with its field names. Unknown fields are kept in `extra`.

use std::fmt;

use serde::de::{Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::formats::agent_voice::string_enum::{
    AttachmentType, AudioFormat, Classification, ParticipantRole, RetentionPolicy,
};
use crate::model::{Fields, Json, Role, Time};

/// A conversation with everything known about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversationRecord {
    /// Its id, a UUID.
    pub conversation_id: String,
    /// The version of this schema.
    pub version: u64,
    /// Its title.
    pub title: String,
    /// When it was started.
    pub created_at: Time,
    /// When the last message was sent.
    pub last_interaction_at: Time,
    /// A summary of where it stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<ConversationSummary>,
    /// The participants.
    pub participants: Vec<ParticipantRef>,
    /// The messages, in order.
    pub messages: Vec<MessageFrame>,
    /// Files that belong to the whole conversation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<AttachmentRef>,
    /// Its metrics.
    pub metrics: ConversationMetrics,
    /// Its retention.
    pub retention: RetentionInfo,
    /// Its privacy settings.
    pub privacy: PrivacyEnvelope,
    /// Where it is stored, and in which revision.
    pub storage: StorageEnvelope,
    /// Fields this version does not know.
    #[serde(flatten, deserialize_with = "kept")]
    pub extra: Fields,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageFrame {
    /// Its id, unique in its conversation.
    pub frame_id: String,
    /// Its number; the first is 1.
    pub sequence: u64,
    /// Who said it: the user or the assistant.
    pub role: Role,
    /// The text, without what must not be stored.
    pub content: String,
    /// When.
    pub created_at: Time,
    /// Files that belong to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<AttachmentRef>,
    /// What was redacted in it.
    #[serde(default)]
    pub privacy: FramePrivacy,
    /// Its audio recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audio: Option<AudioArtifactRef>,
    /// Fields this version does not know.
    #[serde(flatten, deserialize_with = "kept")]
    pub extra: Fields,
}

/// What was redacted in a frame; never the removed values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct FramePrivacy {
    /// True when a secret was found and removed.
    pub contains_secrets: bool,
    /// The rules that changed the text.
    pub redaction_rules_applied: Vec<String>,
    /// Hashes of the removed values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pii_tokens: Vec<String>,
}

/// A reference to a file whose contents are stored elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AttachmentRef {
    /// Its id.
    pub attachment_id: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: AttachmentType,
    /// Where it is.
    pub uri: String,
    /// The SHA-256 of its contents.
    pub checksum: String,
    /// Its size in bytes.
    #[serde(deserialize_with = "rounded")]
    pub byte_length: u64,
    /// Fields this version does not know.
    #[serde(flatten, deserialize_with = "kept")]
    pub extra: Fields,
}

/// A reference to the audio of a frame.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AudioArtifactRef {
    /// Where it is.
    pub uri: String,
    /// Its encoding.
    pub format: AudioFormat,
    /// Its duration.
    #[serde(deserialize_with = "rounded")]
    pub duration_ms: u64,
    /// Fields this version does not know.
    #[serde(flatten, deserialize_with = "kept")]
    pub extra: Fields,
}

/// A participant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ParticipantRef {
    /// The id of the participant.
    pub id: String,
    /// The role.
    pub role: ParticipantRole,
    /// The name to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// The role in the store, if a record cannot have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_role: Option<String>,
}

/// A short summary of where a conversation stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversationSummary {
    /// What happened.
    pub synopsis: String,
    /// When this was written.
    #[serde(default)]
    pub last_updated_at: Time,
    /// Search keywords.
    #[serde(default)]
    pub keywords: Vec<String>,
    /// Open action items.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub action_items: Vec<String>,
}

/// Metrics of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ConversationMetrics {
    /// How many messages the user sent.
    #[serde(deserialize_with = "rounded")]
    pub user_utterance_count: u64,
    /// How many messages the assistant sent.
    #[serde(deserialize_with = "rounded")]
    pub assistant_utterance_count: u64,
    /// How long the conversation lasted.
    #[serde(deserialize_with = "rounded")]
    pub duration_ms: u64,
    /// The average latency of a reply.
    #[serde(deserialize_with = "rounded")]
    pub average_latency_ms: u64,
}

/// How long a record is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RetentionInfo {
    /// When it expires; none for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retention_expires_at: Option<Time>,
    /// Who decides that.
    pub retention_policy: RetentionPolicy,
    /// True when it is kept whatever its age.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manual_hold: Option<bool>,
}

/// How private a record is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PrivacyEnvelope {
    /// Always the same.
    pub classification: Classification,
    /// False when it must not leave the store.
    pub exportable: bool,
    /// How consent was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consent_capture: Option<String>,
    /// Its original classification, if that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_classification: Option<String>,
}

/// Where a record is stored, and in which revision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct StorageEnvelope {
    /// Its name there.
    pub blob_uri: String,
    /// Increases with each change.
    pub blob_version: u64,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// A checksum of its contents.
    pub checksum: String,
    /// When the history of earlier updates was last discarded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_compacted_at: Option<Time>,
}

/// Fields that no other name took. Flattened fields are parsed into values first, so their text is not
/// preserved.
pub(crate) fn kept<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Fields, D::Error> {
    let values = serde_json::Map::<String, serde_json::Value>::deserialize(deserializer)?;
    let mut fields = Fields::new();
    for (name, value) in values {
        fields.set(name, Json::of(&value).map_err(serde::de::Error::custom)?);
    }
    Ok(fields)
}

/// Reads a count or a measurement. Programs whose numbers are floats sometimes write a fraction: it is
/// rounded.
pub(crate) fn rounded<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    struct Rounded;

    impl Visitor<'_> for Rounded {
        type Value = u64;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a number from 0")
        }

        fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<u64, E> {
            Ok(number)
        }

        fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<u64, E> {
            u64::try_from(number).map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
        }

        fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<u64, E> {
            if number < 0.0 {
                return Err(E::invalid_value(Unexpected::Float(number), &self));
            }
            Ok(number.round() as u64)
        }
    }

    deserializer.deserialize_any(Rounded)
}

/// The same for an optional field.
pub(crate) fn rounded_if_given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    struct Number(#[serde(deserialize_with = "rounded")] u64);

    Ok(Option::<Number>::deserialize(deserializer)?.map(|Number(number)| number))
}
