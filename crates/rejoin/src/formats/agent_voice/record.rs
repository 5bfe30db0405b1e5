//! The header of a record: everything except the frames.

use serde::Deserialize;

use crate::error::{Error, ErrorKind, Result};
use crate::formats::agent_voice::VERSION;
use crate::formats::agent_voice::frame::{rest, set_rest};
use crate::formats::agent_voice::schema::{
    AttachmentRef, ConversationMetrics, ConversationRecord, ConversationSummary, MessageFrame,
    ParticipantRef, PrivacyEnvelope, RetentionInfo, StorageEnvelope,
};
use crate::formats::agent_voice::string_enum::{
    AttachmentType, Classification, ParticipantRole, RetentionPolicy, StringEnum, with_given_type,
    with_known_type,
};
use crate::formats::raw_object::RawObject;
use crate::formats::tag::{self, ConversationTag};
use crate::formats::{SourceConversation, SourceMessage};
use crate::model::{
    Attachment, Conversation, Fields, Hold, Json, Metrics, Participant, Privacy, Role, Synopsis, Time,
    preview,
};

/// The program's default retention, in microseconds: 30 days.
const RETENTION: i64 = 30 * 86_400_000_000;

/// Where a header keeps a record's attachments, for which it has no field of its own.
const ATTACHMENTS: &str = "attachments";

/// The fields of a record. Unknown fields cannot have these names.
const OWN: [&str; 13] = [
    "conversationId",
    "version",
    "title",
    "createdAt",
    "lastInteractionAt",
    "summary",
    "participants",
    "messages",
    "attachments",
    "metrics",
    "retention",
    "privacy",
    "storage",
];

/// Removes fields with the name of a record's own field.
pub(crate) fn without_own(fields: &mut Fields) {
    OWN.iter().for_each(|name| drop(fields.remove(name)));
}

/// Rejects records of a newer version.
pub(crate) fn check_version(version: Option<u64>) -> Result<()> {
    match version {
        Some(version) if version > VERSION => Err(Error::new(
            ErrorKind::Unsupported,
            format!("the record has the version {version}; {VERSION} is the newest known"),
        )),
        _ => Ok(()),
    }
}

/// What a store knows about a conversation besides its header.
pub(crate) struct StoredContext {
    /// Its id.
    pub(crate) id: String,
    pub(crate) created_at: Time,
    pub(crate) last_interaction_at: Time,
    /// When it expires, unless it has an expiry of its own.
    pub(crate) expires_at: Option<Time>,
    /// Message counts, for a conversation without metrics.
    pub(crate) counted: Metrics,
}

/// Returns the record of a conversation, without its location in a store.
pub(crate) fn of_header(
    header: &Conversation,
    around: StoredContext,
    messages: Vec<MessageFrame>,
) -> ConversationRecord {
    let (attachments, extra) = kept(header);
    ConversationRecord {
        conversation_id: around.id,
        version: VERSION,
        title: header.title.clone().unwrap_or_default(),
        created_at: around.created_at,
        last_interaction_at: around.last_interaction_at,
        summary: header.synopsis.clone().map(ConversationSummary::from),
        participants: header.participants.iter().cloned().map(ParticipantRef::from).collect(),
        messages,
        attachments,
        metrics: header.metrics.clone().unwrap_or(around.counted).into(),
        retention: retention(header, around.expires_at),
        privacy: header.privacy.clone().into(),
        storage: StorageEnvelope::default(),
        extra,
    }
}

/// Returns how long a conversation is kept. Its own expiry takes precedence over the policy's.
pub(crate) fn retention(header: &Conversation, by_policy: Option<Time>) -> RetentionInfo {
    let custom = header.expires_at.map(|_| RetentionPolicy::Custom);
    RetentionInfo {
        retention_expires_at: header.expires_at.or(by_policy),
        retention_policy: custom.unwrap_or_default(),
        manual_hold: (header.hold == Hold::User).then_some(true),
    }
}

/// Returns what a header keeps for this program: attachments and unknown fields.
fn kept(header: &Conversation) -> (Vec<AttachmentRef>, Fields) {
    let mut kept = rest(&header.extra);
    let list: Vec<Fields> = kept.remove(ATTACHMENTS).and_then(|list| list.to().ok()).unwrap_or_default();
    let named = |mut fields: Fields| {
        with_known_type(&mut fields);
        Json::of(&fields).ok()?.to().ok()
    };
    without_own(&mut kept);
    (list.into_iter().filter_map(named).collect(), kept)
}

/// Stores attachments and unknown fields in a header.
pub(crate) fn keep(header: &mut Conversation, attachments: &[AttachmentRef], extra: &Fields) {
    let fields = |named: &AttachmentRef| {
        let mut fields: Fields =
            Json::of(named).and_then(|named| named.to()).expect("an attachment is plain data");
        with_given_type(&mut fields);
        fields
    };
    keep_fields(header, &attachments.iter().map(fields).collect::<Vec<_>>(), extra);
}

fn keep_fields(header: &mut Conversation, attachments: &[Fields], extra: &Fields) {
    let mut kept = extra.clone();
    without_own(&mut kept);
    if !attachments.is_empty() {
        kept.set(ATTACHMENTS, Json::of(&attachments).expect("attachments are plain data"));
    }
    set_rest(&mut header.extra, &kept);
}

/// Counts messages by role.
pub(crate) fn counted(roles: impl Iterator<Item = Role>) -> Metrics {
    roles.fold(Metrics::default(), |mut metrics, role| {
        metrics.user_messages += u64::from(role == Role::User);
        metrics.assistant_messages += u64::from(role == Role::Assistant);
        metrics
    })
}

/// Returns the record of a conversation for a file with this name.
pub(super) fn write(
    conversation: &SourceConversation,
    name: &str,
    path: &[&SourceMessage],
    messages: Vec<MessageFrame>,
) -> ConversationRecord {
    let header = &conversation.header;
    let last = path.iter().filter_map(|found| found.message.created_at).max();
    let last = last.unwrap_or(conversation.created_at);
    let around = StoredContext {
        id: name.to_owned(),
        created_at: conversation.created_at,
        last_interaction_at: last,
        expires_at: Some(last.plus_micros(RETENTION)),
        counted: counted(path.iter().map(|found| found.message.role)),
    };
    let mut record = of_header(header, around, messages);
    if header.title.is_none() {
        record.title = first_words(path);
    }
    if record.participants.is_empty() {
        record.participants = usual_participants(header);
    }
    let tag = Json::of(&ConversationTag::of(conversation)).expect("a tag is plain data");
    record.extra.set(tag::FIELD, tag);
    record
}

fn first_words(path: &[&SourceMessage]) -> String {
    let asked = path.iter().find(|found| found.message.role == Role::User);
    asked.map(|found| preview(&found.message.text())).unwrap_or_default()
}

fn usual_participants(header: &Conversation) -> Vec<ParticipantRef> {
    let taking = |id: &str, role: ParticipantRole, name: &str| ParticipantRef {
        id: id.to_owned(),
        role,
        display_name: Some(name.to_owned()),
        given_role: None,
    };
    let model = header.settings.model.as_deref().unwrap_or("Assistant");
    vec![
        taking("user-default", ParticipantRole::User, "You"),
        taking("assistant-default", ParticipantRole::Assistant, model),
    ]
}

/// Returns the conversation of a record. Fails for a newer version.
pub(super) fn read(found: &mut RawObject<'_>, stem: &str) -> Result<SourceConversation> {
    check_version(tag::read(found.raw("version")))?;
    let id = found.text("conversationId").filter(|id| !id.is_empty()).unwrap_or_else(|| stem.to_owned());
    let title = found.text("title").filter(|title| !title.trim().is_empty());
    let synopsis = tag::read::<ConversationSummary>(found.raw("summary")).map(Synopsis::from);
    if let Some(tagged) = tag::read::<ConversationTag>(found.raw(tag::FIELD)) {
        let mut conversation = tagged.into_conversation();
        let header = &mut conversation.header;
        // The program may have renamed and continued it.
        if header.title.is_some() && title.is_some() {
            header.title = title;
        }
        header.synopsis = synopsis.or(header.synopsis.take());
        return Ok(conversation);
    }
    let created = tag::read(found.raw("createdAt")).unwrap_or_default();
    let mut conversation = SourceConversation::new(id, created);
    let header = &mut conversation.header;
    header.title = title;
    header.synopsis = synopsis;
    let taking = tag::read::<Vec<FoundParticipant>>(found.raw("participants")).unwrap_or_default();
    header.participants = taking.into_iter().map(Participant::from).collect();
    header.metrics = tag::read::<ConversationMetrics>(found.raw("metrics")).map(Metrics::from);
    if let Some(retention) = tag::read::<FoundRetention>(found.raw("retention")) {
        let policy = retention.retention_policy.as_deref().and_then(RetentionPolicy::named);
        let is_custom = policy == Some(RetentionPolicy::Custom);
        header.expires_at = retention.retention_expires_at.filter(|_| is_custom);
        if retention.manual_hold == Some(true) {
            header.hold = Hold::User;
        }
    }
    if let Some(privacy) = tag::read::<FoundPrivacy>(found.raw("privacy")) {
        header.privacy = privacy.into();
    }
    let mut attachments = tag::read::<Vec<Fields>>(found.raw("attachments")).unwrap_or_default();
    attachments.iter_mut().for_each(with_given_type);
    keep_fields(header, &attachments, &Fields::new());
    Ok(conversation)
}

/// A participant in a file, with any role.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FoundParticipant {
    id: String,
    role: String,
    display_name: Option<String>,
    given_role: Option<String>,
}

/// The retention of a record in a file, with any policy.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FoundRetention {
    retention_expires_at: Option<Time>,
    retention_policy: Option<String>,
    manual_hold: Option<bool>,
}

/// The privacy of a record in a file, with any classification.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FoundPrivacy {
    classification: Option<String>,
    exportable: bool,
    consent_capture: Option<String>,
    given_classification: Option<String>,
}

impl From<FoundParticipant> for Participant {
    fn from(found: FoundParticipant) -> Self {
        let FoundParticipant { id, role, display_name, given_role } = found;
        Self { id, role: given_role.unwrap_or(role), name: display_name }
    }
}

impl From<FoundPrivacy> for Privacy {
    fn from(found: FoundPrivacy) -> Self {
        let other = found.classification.filter(|name| Classification::named(name).is_none());
        let FoundPrivacy { exportable, consent_capture, given_classification, .. } = found;
        Self { exportable, consent: consent_capture, given_classification: given_classification.or(other) }
    }
}

impl From<Attachment> for AttachmentRef {
    fn from(attachment: Attachment) -> Self {
        let (attachment_id, uri) = (attachment.id(), attachment.uri());
        Self {
            checksum: attachment_id.clone(),
            attachment_id,
            // The program treats images and videos like any other file.
            kind: AttachmentType::named(attachment.kind.as_str()).unwrap_or_default(),
            uri,
            byte_length: attachment.byte_length,
            extra: Fields::new(),
        }
    }
}

impl From<Synopsis> for ConversationSummary {
    fn from(synopsis: Synopsis) -> Self {
        let Synopsis { text, keywords, action_items, updated_at } = synopsis;
        Self { synopsis: text, last_updated_at: updated_at, keywords, action_items }
    }
}

impl From<ConversationSummary> for Synopsis {
    fn from(summary: ConversationSummary) -> Self {
        let ConversationSummary { synopsis, last_updated_at, keywords, action_items } = summary;
        Self { text: synopsis, keywords, action_items, updated_at: last_updated_at }
    }
}

impl From<Participant> for ParticipantRef {
    fn from(Participant { id, role, name }: Participant) -> Self {
        match ParticipantRole::named(&role) {
            Some(known) => Self { id, role: known, display_name: name, given_role: None },
            None => Self { id, role: ParticipantRole::System, display_name: name, given_role: Some(role) },
        }
    }
}

impl From<ParticipantRef> for Participant {
    fn from(ParticipantRef { id, role, display_name, given_role }: ParticipantRef) -> Self {
        let given = given_role.filter(|_| role == ParticipantRole::System);
        Self { id, role: given.unwrap_or_else(|| role.name().to_owned()), name: display_name }
    }
}

impl From<Metrics> for ConversationMetrics {
    fn from(metrics: Metrics) -> Self {
        Self {
            user_utterance_count: metrics.user_messages,
            assistant_utterance_count: metrics.assistant_messages,
            duration_ms: metrics.duration_ms,
            average_latency_ms: metrics.average_latency_ms,
        }
    }
}

impl From<ConversationMetrics> for Metrics {
    fn from(metrics: ConversationMetrics) -> Self {
        Self {
            user_messages: metrics.user_utterance_count,
            assistant_messages: metrics.assistant_utterance_count,
            duration_ms: metrics.duration_ms,
            average_latency_ms: metrics.average_latency_ms,
        }
    }
}

impl From<Privacy> for PrivacyEnvelope {
    fn from(Privacy { exportable, consent, given_classification }: Privacy) -> Self {
        let classification = Classification::Confidential;
        Self { classification, exportable, consent_capture: consent, given_classification }
    }
}

impl From<PrivacyEnvelope> for Privacy {
    fn from(envelope: PrivacyEnvelope) -> Self {
        let PrivacyEnvelope { classification: _, exportable, consent_capture, given_classification } =
            envelope;
        Self { exportable, consent: consent_capture, given_classification }
    }
}
