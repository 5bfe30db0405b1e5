//! What a record says of its conversation, apart from the frames.

use serde::{Deserialize, Serialize};

use crate::formats::agent_voice::VERSION;
use crate::formats::agent_voice::frame::Frame;
use crate::formats::found::Found;
use crate::formats::tag::{self, ConversationTag};
use crate::formats::{SourceConversation, SourceMessage};
use crate::model::{Conversation, Hold, Metrics, Participant, Privacy, Role, Synopsis, Time, preview};

/// How long the program keeps a record unless it is told otherwise, in microseconds: 30 days.
const RETENTION: i64 = 30 * 86_400_000_000;

/// The names of who decided how long.
const DEFAULT: &str = "workspace-default";
const CUSTOM: &str = "custom";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record<'a> {
    conversation_id: &'a str,
    version: u64,
    title: String,
    created_at: Time,
    last_interaction_at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<Summary>,
    participants: Vec<Taking>,
    messages: Vec<Frame>,
    metrics: Measured,
    retention: Retention,
    privacy: Private,
    pub(super) storage: Storage,
    rejoin: ConversationTag,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    synopsis: String,
    #[serde(default)]
    last_updated_at: Time,
    #[serde(default)]
    keywords: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    action_items: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Taking {
    id: String,
    role: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    display_name: Option<String>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Measured {
    user_utterance_count: u64,
    assistant_utterance_count: u64,
    duration_ms: u64,
    average_latency_ms: u64,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Retention {
    retention_expires_at: Option<Time>,
    retention_policy: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    manual_hold: Option<bool>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Private {
    classification: String,
    exportable: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    consent_capture: Option<String>,
}

/// Where the record is, and how large it is without this.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Storage {
    pub(super) blob_uri: String,
    pub(super) blob_version: u64,
    pub(super) size_bytes: usize,
    pub(super) checksum: String,
}

impl<'a> Record<'a> {
    /// The record of a conversation under a name.
    pub(super) fn of(
        conversation: &'a SourceConversation,
        name: &'a str,
        path: &[&SourceMessage],
        messages: Vec<Frame>,
    ) -> Self {
        let header = &conversation.header;
        let last = path.iter().filter_map(|found| found.message.created_at).max();
        let last = last.unwrap_or(conversation.created_at);
        Self {
            conversation_id: name,
            version: VERSION,
            title: header.title.clone().unwrap_or_else(|| first_words(path)),
            created_at: conversation.created_at,
            last_interaction_at: last,
            summary: header.synopsis.clone().map(|synopsis| Summary {
                synopsis: synopsis.text,
                last_updated_at: synopsis.updated_at,
                keywords: synopsis.keywords,
                action_items: synopsis.action_items,
            }),
            participants: participants(header),
            messages,
            metrics: measured(header, path),
            retention: Retention {
                retention_expires_at: header.expires_at.or(Some(last.plus_micros(RETENTION))),
                retention_policy: header.expires_at.map_or(DEFAULT, |_| CUSTOM).to_owned(),
                manual_hold: (header.hold == Hold::User).then_some(true),
            },
            privacy: Private {
                classification: header.privacy.classification.clone(),
                exportable: header.privacy.exportable,
                consent_capture: header.privacy.consent.clone(),
            },
            storage: Storage::default(),
            rejoin: ConversationTag::of(conversation),
        }
    }
}

fn first_words(path: &[&SourceMessage]) -> String {
    let asked = path.iter().find(|found| found.message.role == Role::User);
    asked.map(|found| preview(&found.message.text())).unwrap_or_default()
}

fn participants(header: &Conversation) -> Vec<Taking> {
    let taking = |id: &str, role: &str, name: &str| Taking {
        id: id.to_owned(),
        role: role.to_owned(),
        display_name: Some(name.to_owned()),
    };
    if header.participants.is_empty() {
        let model = header.settings.model.as_deref().unwrap_or("Assistant");
        return vec![taking("user-default", "user", "You"), taking("assistant-default", "assistant", model)];
    }
    let known = header.participants.iter().cloned();
    known.map(|Participant { id, role, name }| Taking { id, role, display_name: name }).collect()
}

fn measured(header: &Conversation, path: &[&SourceMessage]) -> Measured {
    let count = |role: Role| path.iter().filter(|found| found.message.role == role).count() as u64;
    let metrics = header.metrics.clone().unwrap_or_else(|| Metrics {
        user_messages: count(Role::User),
        assistant_messages: count(Role::Assistant),
        ..Metrics::default()
    });
    Measured {
        user_utterance_count: metrics.user_messages,
        assistant_utterance_count: metrics.assistant_messages,
        duration_ms: metrics.duration_ms,
        average_latency_ms: metrics.average_latency_ms,
    }
}

/// The conversation of a record.
pub(super) fn read(found: &mut Found<'_>, stem: &str) -> SourceConversation {
    let id = found.text("conversationId").filter(|id| !id.is_empty()).unwrap_or_else(|| stem.to_owned());
    let title = found.text("title").filter(|title| !title.trim().is_empty());
    let synopsis = tag::read::<Summary>(found.raw("summary")).map(|summary| Synopsis {
        text: summary.synopsis,
        keywords: summary.keywords,
        action_items: summary.action_items,
        updated_at: summary.last_updated_at,
    });
    if let Some(tagged) = tag::read::<ConversationTag>(found.raw(tag::FIELD)) {
        let mut conversation = tagged.into_conversation();
        let header = &mut conversation.header;
        // The program may have given it another title and gone on with it.
        if header.title.is_some() && title.is_some() {
            header.title = title;
        }
        header.synopsis = synopsis.or(header.synopsis.take());
        return conversation;
    }
    let created = tag::read(found.raw("createdAt")).unwrap_or_default();
    let mut conversation = SourceConversation::new(id, created);
    let header = &mut conversation.header;
    header.title = title;
    header.synopsis = synopsis;
    let taking = tag::read::<Vec<Taking>>(found.raw("participants")).unwrap_or_default();
    header.participants = taking
        .into_iter()
        .map(|taking| Participant { id: taking.id, role: taking.role, name: taking.display_name })
        .collect();
    header.metrics = tag::read::<Measured>(found.raw("metrics")).map(|metrics| Metrics {
        user_messages: metrics.user_utterance_count,
        assistant_messages: metrics.assistant_utterance_count,
        duration_ms: metrics.duration_ms,
        average_latency_ms: metrics.average_latency_ms,
    });
    if let Some(retention) = tag::read::<Retention>(found.raw("retention")) {
        header.expires_at = retention.retention_expires_at.filter(|_| retention.retention_policy == CUSTOM);
        if retention.manual_hold == Some(true) {
            header.hold = Hold::User;
        }
    }
    if let Some(privacy) = tag::read::<Private>(found.raw("privacy")) {
        header.privacy = Privacy {
            classification: privacy.classification,
            exportable: privacy.exportable,
            consent: privacy.consent_capture,
        };
    }
    conversation
}
