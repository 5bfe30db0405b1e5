//! The JSON that scripts rely on: conversations and messages, the same in every command.

use rejoin::view::Repair;
use rejoin::{
    Block, Branch, ConversationId, Digest, Fields, Hold, MessageId, Role, ShortId, Status,
    StoredConversation, StoredMessage, Time, Usage,
};
use serde::Serialize;

use crate::ui::json::JsonText;

/// A conversation without its messages.
#[derive(Debug, Serialize)]
pub(crate) struct ConversationShape<'a> {
    #[serde(flatten)]
    itself: Itself,
    title: Option<&'a str>,
    kind: &'a str,
    status: Status,
    provider: Option<&'a str>,
    model: Option<&'a str>,
    project: Option<&'a str>,
    messages: u64,
    bytes: u64,
    first: &'a str,
    last: &'a str,
    created_at: Time,
    last_active_at: Time,
    expires_at: Option<Time>,
    hold: Hold,
    /// The format that it was imported from.
    source: Option<&'a str>,
    /// Whether it is the project's active one.
    active: bool,
    head: Option<MessageId>,
    branches: &'a [Branch],
}

impl<'a> ConversationShape<'a> {
    pub(crate) fn of(stored: &'a StoredConversation, active: Option<ConversationId>) -> Self {
        let header = &stored.conversation;
        Self {
            itself: stored.id.into(),
            title: header.title.as_deref(),
            kind: &header.kind,
            status: header.status,
            provider: header.settings.provider.as_deref(),
            model: header.settings.model.as_deref(),
            project: header.project.as_deref(),
            messages: stored.messages,
            bytes: stored.bytes,
            first: &stored.first,
            last: &stored.last,
            created_at: stored.created_at,
            last_active_at: stored.last_active_at,
            expires_at: header.expires_at,
            hold: header.hold,
            source: header.origin.as_ref().map(|origin| origin.format.as_str()),
            active: active == Some(stored.id),
            head: stored.head.map(|head| head.id),
            branches: &stored.branches,
        }
    }
}

/// A message with everything that was said in it.
#[derive(Debug, Serialize)]
pub(crate) struct MessageShape<'a> {
    id: MessageId,
    parent: Option<MessageId>,
    role: Role,
    label: Option<&'a str>,
    created_at: Option<Time>,
    text: String,
    blocks: &'a [Block],
    seq: u32,
    digest: Digest,
    pinned: bool,
    is_error: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<&'a Usage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finish: Option<&'a str>,
    #[serde(skip_serializing_if = "Fields::is_empty")]
    extra: &'a Fields,
}

impl<'a> From<&'a StoredMessage> for MessageShape<'a> {
    fn from(stored: &'a StoredMessage) -> Self {
        let message = &stored.message;
        Self {
            id: stored.id,
            parent: stored.parent,
            role: message.role,
            label: message.label.as_deref(),
            created_at: message.created_at,
            text: message.text(),
            blocks: &message.blocks,
            seq: stored.seq,
            digest: stored.digest,
            pinned: stored.is_pinned,
            is_error: message.is_error,
            usage: message.usage.as_ref(),
            finish: message.finish.as_deref(),
            extra: &message.extra,
        }
    }
}

/// All that there is of something.
#[derive(Debug, Serialize)]
pub(crate) struct Items<T> {
    pub(crate) items: Vec<T>,
}

/// A page of a list.
#[derive(Debug, Serialize)]
pub(crate) struct PageShape<'a, T> {
    pub(crate) items: Vec<T>,
    pub(crate) next_cursor: Option<&'a str>,
    /// How many there are on all pages, when that is known.
    pub(crate) total: Option<u64>,
}

/// A conversation by its id, in an answer that is the conversation.
#[derive(Debug, Serialize)]
pub(crate) struct Itself {
    id: ConversationId,
    short: JsonText<ShortId>,
}

impl From<ConversationId> for Itself {
    fn from(id: ConversationId) -> Self {
        Self { id, short: JsonText(id.short()) }
    }
}

/// A conversation by its id, in an answer about something in it.
#[derive(Debug, Serialize)]
pub(crate) struct Within {
    conversation: ConversationId,
    short: JsonText<ShortId>,
}

impl From<ConversationId> for Within {
    fn from(conversation: ConversationId) -> Self {
        Self { conversation, short: JsonText(conversation.short()) }
    }
}

/// What was changed so that a model takes what it is sent.
#[derive(Debug, Serialize)]
pub(crate) struct RepairShape {
    pub(crate) message: Option<MessageId>,
    /// The sentence that tells it, without the message.
    pub(crate) repair: String,
}

impl From<&Repair> for RepairShape {
    fn from(repair: &Repair) -> Self {
        let message = repair.message();
        let told = repair.to_string();
        let suffix = message.map(|id| format!(" {id}")).unwrap_or_default();
        Self { message, repair: told.strip_suffix(&suffix).unwrap_or(&told).to_owned() }
    }
}
