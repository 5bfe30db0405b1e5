//! Enums that are strings in a record. An unknown string from a caller is rejected.
//!
//! A store or a file may have other strings. Such a string is replaced by a known one and stored next to it
//! in a field of its own; both survive a round trip.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::model::{Fields, Json};

/// The role of a participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParticipantRole {
    /// A person.
    User,
    /// A model.
    Assistant,
    /// Neither.
    System,
}

/// The type of an attachment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AttachmentType {
    /// Audio.
    Audio,
    /// The transcript of a recording.
    Transcript,
    /// Source code.
    Code,
    /// Anything else.
    #[default]
    Document,
}

/// The encoding of audio.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AudioFormat {
    /// PCM with 16-bit samples.
    #[default]
    Pcm16,
    /// Opus.
    Opus,
}

/// How private a record is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Classification {
    /// The only class.
    #[default]
    Confidential,
}

/// Who decides when a record expires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RetentionPolicy {
    /// The workspace.
    #[default]
    WorkspaceDefault,
    /// The record itself.
    Custom,
}

/// An enum that is a string in a record.
pub(crate) trait StringEnum: Copy + PartialEq + Sized + 'static {
    /// The field that holds it.
    const FIELD: &'static str;

    /// Every value with its string.
    const ALL: &'static [(Self, &'static str)];

    /// Returns the string of a value.
    fn name(self) -> &'static str {
        let named = Self::ALL.iter().find(|(word, _)| *word == self);
        named.map(|(_, name)| *name).expect("every word is in its list")
    }

    /// Returns the value of a string.
    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, own)| *own == name).map(|(word, _)| *word)
    }
}

impl StringEnum for ParticipantRole {
    const FIELD: &'static str = "role";
    const ALL: &'static [(Self, &'static str)] =
        &[(Self::User, "user"), (Self::Assistant, "assistant"), (Self::System, "system")];
}

impl StringEnum for AttachmentType {
    const FIELD: &'static str = "type";
    const ALL: &'static [(Self, &'static str)] = &[
        (Self::Audio, "audio"),
        (Self::Transcript, "transcript"),
        (Self::Code, "code"),
        (Self::Document, "document"),
    ];
}

impl StringEnum for AudioFormat {
    const FIELD: &'static str = "format";
    const ALL: &'static [(Self, &'static str)] = &[(Self::Pcm16, "pcm16"), (Self::Opus, "opus")];
}

impl StringEnum for Classification {
    const FIELD: &'static str = "classification";
    const ALL: &'static [(Self, &'static str)] = &[(Self::Confidential, "Confidential")];
}

impl StringEnum for RetentionPolicy {
    const FIELD: &'static str = "retentionPolicy";
    const ALL: &'static [(Self, &'static str)] =
        &[(Self::WorkspaceDefault, "workspace-default"), (Self::Custom, "custom")];
}

/// Parses a value. The error for an unknown string names the field and all values.
fn read<'de, W: StringEnum, D: Deserializer<'de>>(deserializer: D) -> Result<W, D::Error> {
    let name = String::deserialize(deserializer)?;
    W::named(&name).ok_or_else(|| {
        let shown: String = name.chars().take(40).collect();
        let all: Vec<String> = W::ALL.iter().map(|(_, name)| format!("`{name}`")).collect();
        serde::de::Error::custom(format!("`{}` is `{shown}`; it can be {}", W::FIELD, all.join(", ")))
    })
}

/// Implements serde with strings.
macro_rules! spelled {
    ($($word:ty),+) => {$(
        impl<'de> Deserialize<'de> for $word {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                read(deserializer)
            }
        }

        impl Serialize for $word {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }
    )+};
}

spelled!(ParticipantRole, AttachmentType, AudioFormat, Classification, RetentionPolicy);

/// The field with an attachment's original type, if a record cannot have it.
const GIVEN_TYPE: &str = "givenType";

/// Replaces a type that a record cannot have, and keeps the original next to it.
pub(super) fn with_known_type(fields: &mut Fields) {
    let field = AttachmentType::FIELD;
    let Some(given) = fields.field(field).cloned() else { return };
    if given.to::<String>().ok().and_then(|name| AttachmentType::named(&name)).is_none() {
        fields.set(field, Json::of(&AttachmentType::default()).expect("a word is JSON"));
        fields.set(GIVEN_TYPE, given);
    }
}

/// Restores the original type of an attachment, unless the caller has changed the type.
pub(super) fn with_given_type(fields: &mut Fields) {
    let Some(given) = fields.remove(GIVEN_TYPE) else { return };
    let field = AttachmentType::FIELD;
    let current = fields.field(field).and_then(|name| name.to::<AttachmentType>().ok());
    if current.is_none_or(|current| current == AttachmentType::default()) {
        fields.set(field, given);
    }
}

/// True for audio in a format that a record can have.
pub(super) fn is_known_sound(fields: &Fields) -> bool {
    let format = fields.field(AudioFormat::FIELD).and_then(|name| name.to::<String>().ok());
    format.is_some_and(|name| AudioFormat::named(&name).is_some())
}
