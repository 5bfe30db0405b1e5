//! A record as Agent Voice has it: plain data, named as it is named there. What is not known here is kept in `extra`.

use std::fmt;

use serde::de::{Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::formats::agent_voice::string_enum::{
    AttachmentType, AudioFormat, Classification, ParticipantRole, RetentionPolicy,
};
use crate::model::{Fields, Json, Role, Time};

/// A conversation with everything that is known of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversationRecord {
    /// Its id, a UUID.
    pub conversation_id: String,
    /// The version of this form.
    pub version: u64,
    /// Its title.
    pub title: String,
    /// When it was started.
    pub created_at: Time,
    /// When something was last said.
    pub last_interaction_at: Time,
    /// Where it stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<ConversationSummary>,
    /// Who takes part.
    pub participants: Vec<ParticipantRef>,
    /// What was said, in order.
    pub messages: Vec<MessageFrame>,
    /// Files that belong to the whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<AttachmentRef>,
    /// What was measured.
    pub metrics: ConversationMetrics,
    /// How long it is kept.
    pub retention: RetentionInfo,
    /// How private it is.
    pub privacy: PrivacyEnvelope,
    /// Where it is, and in which version.
    pub storage: StorageEnvelope,
    /// Fields this version does not know.
    #[serde(flatten, deserialize_with = "kept")]
    pub extra: Fields,
}

/// One thing that was said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageFrame {
    /// Its id, unique in its conversation.
    pub frame_id: String,
    /// Its number; the first is 1.
    pub sequence: u64,
    /// Who said it: the user or the assistant.
    pub role: Role,
    /// What was said, without what must not be stored.
    pub content: String,
    /// When.
    pub created_at: Time,
    /// Files that go with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<AttachmentRef>,
    /// What was done to it for privacy.
    #[serde(default)]
    pub privacy: FramePrivacy,
    /// How it sounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audio: Option<AudioArtifactRef>,
    /// Fields this version does not know.
    #[serde(flatten, deserialize_with = "kept")]
    pub extra: Fields,
}

/// What was done to a frame for privacy: never what was taken out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct FramePrivacy {
    /// True when a secret was found and taken out.
    pub contains_secrets: bool,
    /// The rules that changed the text.
    pub redaction_rules_applied: Vec<String>,
    /// Hashes of what was taken out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pii_tokens: Vec<String>,
}

/// A file, by its name. What is in it is kept elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AttachmentRef {
    /// Its id.
    pub attachment_id: String,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: AttachmentType,
    /// Where it is.
    pub uri: String,
    /// The SHA-256 of what is in it.
    pub checksum: String,
    /// How many bytes that is.
    #[serde(deserialize_with = "rounded")]
    pub byte_length: u64,
    /// Fields this version does not know.
    #[serde(flatten, deserialize_with = "kept")]
    pub extra: Fields,
}

/// The sound of a frame, by its name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AudioArtifactRef {
    /// Where it is.
    pub uri: String,
    /// How it is stored.
    pub format: AudioFormat,
    /// How long it lasts.
    #[serde(deserialize_with = "rounded")]
    pub duration_ms: u64,
    /// Fields this version does not know.
    #[serde(flatten, deserialize_with = "kept")]
    pub extra: Fields,
}

/// Someone or something that takes part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ParticipantRef {
    /// Who.
    pub id: String,
    /// As what.
    pub role: ParticipantRole,
    /// The name to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// As what the store has it, where that is none of a record's roles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_role: Option<String>,
}

/// Where a conversation stopped, in a few words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversationSummary {
    /// What happened.
    pub synopsis: String,
    /// When this was written.
    #[serde(default)]
    pub last_updated_at: Time,
    /// Words to find it by.
    #[serde(default)]
    pub keywords: Vec<String>,
    /// What is left to do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub action_items: Vec<String>,
}

/// What was measured while talking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ConversationMetrics {
    /// How often the user spoke.
    #[serde(deserialize_with = "rounded")]
    pub user_utterance_count: u64,
    /// How often the assistant spoke.
    #[serde(deserialize_with = "rounded")]
    pub assistant_utterance_count: u64,
    /// How long it lasted.
    #[serde(deserialize_with = "rounded")]
    pub duration_ms: u64,
    /// How long a reply took on average.
    #[serde(deserialize_with = "rounded")]
    pub average_latency_ms: u64,
}

/// How long a record is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RetentionInfo {
    /// When it expires; none when it never does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retention_expires_at: Option<Time>,
    /// Who decided that.
    pub retention_policy: RetentionPolicy,
    /// True when it stays whatever its age.
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
    /// What it was called where it came from, if that is something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_classification: Option<String>,
}

/// Where a record is, and in which version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct StorageEnvelope {
    /// Its name there.
    pub blob_uri: String,
    /// Grows with each change.
    pub blob_version: u64,
    /// How large it is.
    pub size_bytes: u64,
    /// What vouches for what it says.
    pub checksum: String,
    /// When what earlier updates said was last discarded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_compacted_at: Option<Time>,
}

/// Fields that no other name took. What is flattened was read into values before, so its text cannot be kept.
pub(crate) fn kept<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Fields, D::Error> {
    let values = serde_json::Map::<String, serde_json::Value>::deserialize(deserializer)?;
    let mut fields = Fields::new();
    for (name, value) in values {
        fields.set(name, Json::of(&value).map_err(serde::de::Error::custom)?);
    }
    Ok(fields)
}

/// Reads what was counted or measured. Programs in which every number may be a fraction write one now and then: it is rounded.
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

/// The same of what may be missing.
pub(crate) fn rounded_if_given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    struct Number(#[serde(deserialize_with = "rounded")] u64);

    Ok(Option::<Number>::deserialize(deserializer)?.map(|Number(number)| number))
}
