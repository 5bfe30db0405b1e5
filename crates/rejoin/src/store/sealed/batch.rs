//! What a commit stores, encrypted: it owns the bytes that the backend is handed.

use std::cell::OnceCell;

use crate::model::{Branch, ConversationId, Digest, MessageId, Time};
use crate::store::backend::{
    Amend, Amendment, Append, Batch, Edit, LogEntry, NewBody, NewConversation, NewMessage, Node, Removal,
};
use crate::store::sealed::records::blob::SealedPut;
use crate::store::{Anchor, Facets, Version};

/// A batch, encrypted.
pub(crate) struct SealedBatch {
    pub(crate) edit: SealedEdit,
    pub(crate) blobs: Vec<SealedPut>,
    pub(crate) change: Option<LogEntry>,
}

/// An edit, encrypted.
pub(crate) enum SealedEdit {
    None,
    Confirm(ConversationId),
    Append(SealedAppend),
    Amend { conversation: ConversationId, version: Version, change: SealedChange, trailer: Vec<u8> },
    Remove(SealedRemoval),
    Delete(ConversationId),
}

/// How a conversation grows, encrypted.
pub(crate) struct SealedAppend {
    pub(crate) conversation: ConversationId,
    /// The header of one that is made.
    pub(crate) header: Option<Vec<u8>>,
    pub(crate) messages: Vec<SealedMessage>,
    pub(crate) first: Option<Vec<u8>>,
    pub(crate) last: Vec<u8>,
    pub(crate) branch: Option<MessageId>,
    facets: Facets,
}

/// A message, encrypted.
pub(crate) struct SealedMessage {
    pub(crate) id: MessageId,
    pub(crate) seq: u32,
    pub(crate) parent: Option<(Anchor, u32)>,
    pub(crate) depth: u32,
    pub(crate) turn: u32,
    pub(crate) forked: bool,
    pub(crate) link: Digest,
    pub(crate) label: Option<Vec<u8>>,
    pub(crate) body: Vec<u8>,
}

/// A change of what is known about a conversation, encrypted.
pub(crate) enum SealedChange {
    Header(Facets, Vec<u8>),
    Head(Option<(MessageId, u32)>),
    Note(MessageId, u32, Option<Vec<u8>>),
    Branch(Branch, u32),
    Unbranch(MessageId),
    Rewrite(Vec<SealedBody>, Vec<u8>),
}

/// What takes the place of a message's body, encrypted.
pub(crate) struct SealedBody {
    pub(crate) id: MessageId,
    pub(crate) seq: u32,
    pub(crate) link: Digest,
    pub(crate) body: Vec<u8>,
}

/// A removal of messages, encrypted.
pub(crate) struct SealedRemoval {
    pub(crate) conversation: ConversationId,
    pub(crate) version: Version,
    pub(crate) going: Vec<Node>,
    pub(crate) named: Vec<MessageId>,
    pub(crate) head: Option<(MessageId, u32)>,
    pub(crate) branches: Vec<(Branch, u32)>,
    pub(crate) first: Vec<u8>,
    pub(crate) last: Vec<u8>,
    pub(crate) at: Time,
    pub(crate) reason: String,
}

impl SealedAppend {
    pub(crate) fn new(conversation: ConversationId, header: Option<Vec<u8>>) -> Self {
        let (messages, facets) = (Vec::new(), Facets::default());
        Self { conversation, header, messages, first: None, last: Vec::new(), branch: None, facets }
    }

    fn as_append(&self) -> Append<'_> {
        // The times are encrypted with the last preview. The backend needs some, and gets the same for all.
        let no_time = Time::default();
        Append {
            conversation: self.conversation,
            opening: self.header.as_ref().map(|header| NewConversation {
                facets: &self.facets,
                header,
                created: no_time,
            }),
            messages: self.messages.iter().map(SealedMessage::as_message).collect(),
            said: no_time,
            active: no_time,
            first: self.first.as_deref(),
            last: Some(&self.last),
            branch: self.branch,
        }
    }
}

impl SealedMessage {
    fn as_message(&self) -> NewMessage<'_> {
        NewMessage {
            id: self.id,
            seq: self.seq,
            parent: self.parent,
            depth: self.depth,
            turn: self.turn,
            forked: self.forked,
            link: self.link,
            label: self.label.as_deref(),
            is_pinned: false,
            body: &self.body,
        }
    }
}

impl SealedChange {
    /// The change as the backend takes it, with this trailer where it says both previews.
    pub(crate) fn as_amendment<'a>(&'a self, trailer: &'a [u8]) -> Amendment<'a> {
        match self {
            Self::Header(facets, header) => Amendment::Header(facets, header),
            Self::Head(head) => Amendment::Head(*head),
            Self::Note(id, seq, label) => Amendment::Note(*id, *seq, label.as_deref(), false),
            Self::Branch(branch, head) => Amendment::Branch(branch, *head),
            Self::Unbranch(branch) => Amendment::Unbranch(*branch),
            Self::Rewrite(bodies, first) => {
                let bodies = bodies.iter().map(SealedBody::as_body).collect();
                Amendment::Rewrite(bodies, first, trailer)
            }
        }
    }
}

impl SealedBody {
    fn as_body(&self) -> NewBody<'_> {
        NewBody { id: self.id, seq: self.seq, link: self.link, body: &self.body }
    }
}

impl SealedRemoval {
    pub(crate) fn as_removal(&self) -> Removal<'_> {
        Removal {
            conversation: self.conversation,
            version: self.version,
            going: self.going.clone(),
            named: &self.named,
            head: self.head,
            branches: self.branches.clone(),
            first: self.first.clone(),
            last: self.last.clone(),
            at: self.at,
            reason: &self.reason,
        }
    }
}

impl SealedBatch {
    /// The batch as the backend takes it.
    pub(crate) fn as_batch(&self) -> Batch<'_> {
        let blobs = self.blobs.iter().map(SealedPut::as_put).collect();
        Batch { edit: self.as_edit(), blobs, change: self.change.clone() }
    }

    fn as_edit(&self) -> Edit<'_> {
        match &self.edit {
            SealedEdit::None => Edit::None,
            SealedEdit::Confirm(id) => Edit::Confirm(*id),
            SealedEdit::Append(append) => Edit::Append(append.as_append()),
            SealedEdit::Amend { conversation, version, change, trailer } => Edit::Amend(Amend {
                conversation: *conversation,
                version: *version,
                change: change.as_amendment(trailer),
                last: Some(trailer),
            }),
            SealedEdit::Remove(removal) => Edit::Remove(removal.as_removal()),
            SealedEdit::Delete(id) => Edit::Delete(*id),
        }
    }
}

/// What the attempts of one commit encrypted. A backend may ask for the decision
/// again while it borrows the one before.
pub(crate) struct Attempts<T> {
    own: OnceCell<T>,
    next: OnceCell<Box<Attempts<T>>>,
}

impl<T> Attempts<T> {
    /// None yet.
    pub(crate) const fn new() -> Self {
        Self { own: OnceCell::new(), next: OnceCell::new() }
    }

    /// Keeps what an attempt encrypted as long as the commit takes.
    pub(crate) fn keep(&self, attempt: T) -> &T {
        let mut place = self;
        while place.own.get().is_some() {
            place = place.next.get_or_init(|| Box::new(Self::new()));
        }
        place.own.get_or_init(|| attempt)
    }
}
