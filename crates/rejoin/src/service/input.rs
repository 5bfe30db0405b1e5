//! What a caller hands over: a whole record, or what changes of one.

use std::collections::HashSet;

use serde::{Deserialize, Deserializer, Serialize};

use crate::error::{Error, Result};
use crate::formats::agent_voice::schema::{kept, rounded_if_given};
use crate::formats::agent_voice::{frame, record};
use crate::model::{Conversation, Fields, Hold, Message, Metrics, Participant, Role, Time};
use crate::ops::check_title;
use crate::service::{
    AttachmentRef, ConversationMetrics, ConversationRecord, ConversationSummary, MessageFrame,
    ParticipantRef, PrivacyEnvelope, RetentionPolicy,
};

/// A record as a caller has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversationRecordInput {
    /// Its id, a UUID.
    pub conversation_id: String,
    /// Its title.
    pub title: String,
    /// When it was started.
    pub created_at: Time,
    /// Who takes part.
    pub participants: Vec<ParticipantRef>,
    /// What was said, in order.
    pub messages: Vec<MessageFrame>,
    /// Where it stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<ConversationSummary>,
    /// What was measured; what is missing is counted, or 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<PartialMetrics>,
    /// How private it is; none takes what the store has for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub privacy: Option<PrivacyEnvelope>,
    /// Files that belong to the whole, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<AttachmentRef>,
    /// Fields this version does not know. Names that a record has are passed over here.
    #[serde(flatten, deserialize_with = "beside")]
    pub extra: Fields,
}

/// What changes of a record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ConversationRecordMutation {
    /// The version that the caller has seen. If the record is of another one, the change is a conflict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blob_version: Option<u64>,
    /// Its title from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What was said since. A frame whose id is there already is passed over.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub append_messages: Vec<MessageFrame>,
    /// Where it stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<ConversationSummary>,
    /// How long it is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retention: Option<PartialRetention>,
    /// What was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<PartialMetrics>,
    /// How private it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub privacy: Option<PrivacyEnvelope>,
}

/// Some of what was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PartialMetrics {
    /// How often the user spoke.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "rounded_if_given")]
    pub user_utterance_count: Option<u64>,
    /// How often the assistant spoke.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "rounded_if_given")]
    pub assistant_utterance_count: Option<u64>,
    /// How long it lasted.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "rounded_if_given")]
    pub duration_ms: Option<u64>,
    /// How long a reply took on average.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "rounded_if_given")]
    pub average_latency_ms: Option<u64>,
}

/// Some of how long a record is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PartialRetention {
    /// When it expires, which makes the policy its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retention_expires_at: Option<Time>,
    /// Who decides that; the workspace takes an expiry of its own away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retention_policy: Option<RetentionPolicy>,
    /// Whether it stays whatever its age.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manual_hold: Option<bool>,
}

/// Fields that no record has. A whole record may be read as an input; then what
/// only the service says is passed over.
fn beside<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Fields, D::Error> {
    let mut fields = kept(deserializer)?;
    let version = fields.field("version").and_then(|version| version.to().ok());
    record::check_version(version).map_err(serde::de::Error::custom)?;
    record::without_own(&mut fields);
    Ok(fields)
}

impl From<ConversationMetrics> for PartialMetrics {
    fn from(metrics: ConversationMetrics) -> Self {
        Self {
            user_utterance_count: Some(metrics.user_utterance_count),
            assistant_utterance_count: Some(metrics.assistant_utterance_count),
            duration_ms: Some(metrics.duration_ms),
            average_latency_ms: Some(metrics.average_latency_ms),
        }
    }
}

impl From<ConversationRecord> for ConversationRecordInput {
    fn from(record: ConversationRecord) -> Self {
        Self {
            conversation_id: record.conversation_id,
            title: record.title,
            created_at: record.created_at,
            participants: record.participants,
            messages: record.messages,
            summary: record.summary,
            metrics: Some(record.metrics.into()),
            privacy: Some(record.privacy),
            attachments: record.attachments,
            extra: record.extra,
        }
    }
}

impl PartialMetrics {
    fn over(self, metrics: Metrics) -> Metrics {
        Metrics {
            user_messages: self.user_utterance_count.unwrap_or(metrics.user_messages),
            assistant_messages: self.assistant_utterance_count.unwrap_or(metrics.assistant_messages),
            duration_ms: self.duration_ms.unwrap_or(metrics.duration_ms),
            average_latency_ms: self.average_latency_ms.unwrap_or(metrics.average_latency_ms),
        }
    }
}

impl ConversationRecordInput {
    /// The header of the conversation.
    pub(super) fn header(&self) -> Result<Conversation> {
        check_title(&self.title)?;
        let mut header = Conversation { follows_retention: true, ..Conversation::titled(&self.title) };
        self.complete(&mut header);
        header.synopsis = self.summary.clone().map(Into::into);
        header.metrics = self.metrics.map(|metrics| metrics.over(record::counted(roles(&self.messages))));
        if let Some(privacy) = self.privacy.clone() {
            header.privacy = privacy.into();
        }
        Ok(header)
    }

    /// Brings a header what only a whole record has: who takes part, files, and fields that are not known.
    pub(super) fn complete(&self, header: &mut Conversation) {
        if !self.participants.is_empty() {
            header.participants = self.participants.iter().cloned().map(Participant::from).collect();
        }
        record::keep(header, &self.attachments, &self.extra);
    }

    /// The rest as a change of the record that is there.
    pub(super) fn as_mutation(&self) -> ConversationRecordMutation {
        ConversationRecordMutation {
            blob_version: None,
            title: Some(self.title.clone()),
            append_messages: self.messages.clone(),
            summary: self.summary.clone(),
            retention: None,
            metrics: self.metrics,
            privacy: self.privacy.clone(),
        }
    }
}

impl ConversationRecordMutation {
    /// Refuses what cannot be stored.
    pub(super) fn check(&self) -> Result<()> {
        self.title.as_deref().map_or(Ok(()), check_title)?;
        check_frames(&self.append_messages)
    }

    /// Refuses an expiry of its own that neither the caller nor the record has.
    pub(super) fn check_retention(&self, header: &Conversation) -> Result<()> {
        let Some(retention) = self.retention else { return Ok(()) };
        let is_custom = retention.retention_policy == Some(RetentionPolicy::Custom);
        if is_custom && retention.retention_expires_at.or(header.expires_at).is_none() {
            return Err(Error::invalid(
                "`retentionPolicy` is `custom`, and there is no `retentionExpiresAt`",
            ));
        }
        Ok(())
    }

    /// True when it changes more than what was said.
    pub(super) const fn changes_header(&self) -> bool {
        self.title.is_some()
            || self.summary.is_some()
            || self.retention.is_some()
            || self.metrics.is_some()
            || self.privacy.is_some()
    }

    /// Changes a header. `said` are the frames that were added, of `all` there are now.
    pub(super) fn apply(&self, header: &mut Conversation, said: &Metrics, all: &Metrics) {
        if let Some(title) = &self.title {
            header.title = Some(title.clone());
        }
        if let Some(summary) = &self.summary {
            header.synopsis = Some(summary.clone().into());
        }
        count(header, said);
        if let Some(metrics) = self.metrics {
            header.metrics = Some(metrics.over(header.metrics.take().unwrap_or_else(|| all.clone())));
        }
        if let Some(privacy) = &self.privacy {
            header.privacy = privacy.clone().into();
        }
        if let Some(retention) = self.retention {
            retention.apply(header);
        }
    }
}

impl PartialRetention {
    fn apply(self, header: &mut Conversation) {
        if self.retention_policy == Some(RetentionPolicy::WorkspaceDefault) {
            header.expires_at = None;
            header.follows_retention = true;
        }
        if let Some(expiry) = self.retention_expires_at
            && self.retention_policy != Some(RetentionPolicy::WorkspaceDefault)
        {
            header.expires_at = Some(expiry);
        }
        match self.manual_hold {
            Some(true) => header.hold = Hold::User,
            // What an import holds is not the caller's to release.
            Some(false) if header.hold == Hold::User => header.hold = Hold::None,
            Some(false) | None => {}
        }
    }
}

/// Counts frames that were added, where somebody measures.
pub(super) const fn count(header: &mut Conversation, said: &Metrics) {
    if let Some(metrics) = &mut header.metrics {
        metrics.user_messages += said.user_messages;
        metrics.assistant_messages += said.assistant_messages;
    }
}

/// Refuses frames that a record cannot hold.
pub(super) fn check_frames(frames: &[MessageFrame]) -> Result<()> {
    let mut ids = HashSet::with_capacity(frames.len());
    for frame in frames {
        if !ids.insert(frame.frame_id.as_str()) {
            return Err(Error::invalid(format!("frame `{}` appears twice in one call", frame.frame_id)));
        }
        if frame.frame_id.is_empty() {
            return Err(Error::invalid(format!("frame {} has no id", frame.sequence)));
        }
        if !matches!(frame.role, Role::User | Role::Assistant) {
            let role = frame.role.as_str();
            return Err(Error::invalid(format!(
                "frame `{}` is by `{role}`, not by the user or the assistant",
                frame.frame_id
            )));
        }
    }
    Ok(())
}

/// The messages of frames that follow so many others.
pub(super) fn messages<'f>(frames: impl IntoIterator<Item = &'f MessageFrame>, after: u64) -> Vec<Message> {
    frames.into_iter().zip(after + 1..).map(|(given, place)| frame::to_message(given, place)).collect()
}

pub(super) fn roles(frames: &[MessageFrame]) -> impl Iterator<Item = Role> {
    frames.iter().map(|frame| frame.role)
}
