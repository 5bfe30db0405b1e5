//! What a commit stores: changes that were decided, never whole rows.

use std::borrow::Cow;

use crate::model::{Branch, ConversationId, Digest, MessageId, Time};
use crate::store::backend::Node;
use crate::store::{Anchor, Facets, Put, Version, What};

/// What a commit stores.
#[derive(Debug)]
pub struct Batch<'a> {
    /// What becomes of a conversation.
    pub edit: Edit<'a>,
    /// Blobs to store or erase in the same commit. Set only with [`Edit::Append`], or alone with
    /// [`Edit::None`].
    pub blobs: Cow<'a, [Put<'a>]>,
    /// The entry of the change log; the backend assigns its stamp. None when nothing visible changes.
    ///
    /// An append, an amendment and a deletion always have one. [`Edit::None`] and [`Edit::Confirm`] never do,
    /// and a removal only if messages go.
    pub change: Option<LogEntry>,
}

impl<'a> Batch<'a> {
    /// Stores nothing.
    pub const NOTHING: Self = Self { edit: Edit::None, blobs: Cow::Borrowed(&[]), change: None };

    /// Changes a conversation, and notes it.
    pub const fn of(edit: Edit<'a>, change: Option<LogEntry>) -> Self {
        Self { edit, blobs: Cow::Borrowed(&[]), change }
    }
}

/// An entry of the log of changes. The backend assigns its stamp.
#[derive(Clone, Debug)]
pub struct LogEntry {
    /// The conversation that changes.
    pub conversation: ConversationId,
    /// When.
    pub at: Time,
    /// What happens to it.
    pub what: What,
}

/// What becomes of a conversation: changes, never whole rows.
///
/// Everything is decided. A backend derives only the counters that follow from messages: how
/// many, how many bytes, roots and children.
#[derive(Debug)]
pub enum Edit<'a> {
    /// Nothing.
    None,
    /// Nothing, but what is visible of this conversation is durable when the commit returns.
    Confirm(ConversationId),
    /// It is created or grows.
    Append(Append<'a>),
    /// Something about it changes.
    Amend(Amend<'a>),
    /// Messages are removed.
    Remove(Removal<'a>),
    /// It is removed with its messages, branches and blobs.
    Delete(ConversationId),
}

impl Edit<'_> {
    /// The conversation that is made, changed or removed.
    pub const fn conversation(&self) -> Option<ConversationId> {
        match self {
            Self::None | Self::Confirm(_) => None,
            Self::Append(append) => Some(append.conversation),
            Self::Amend(amend) => Some(amend.conversation),
            Self::Remove(removal) => Some(removal.conversation),
            Self::Delete(id) => Some(*id),
        }
    }
}

/// How a conversation grows.
#[derive(Debug)]
pub struct Append<'a> {
    /// Which.
    pub conversation: ConversationId,
    /// Set when it is created.
    pub opening: Option<NewConversation<'a>>,
    /// New messages, in order of sequence. The last becomes the head.
    pub messages: Vec<NewMessage<'a>>,
    /// The activity time of this turn alone.
    pub said: Time,
    /// The conversation's last activity after the turn.
    pub active: Time,
    /// The first preview; set only if the conversation has none.
    pub first: Option<&'a [u8]>,
    /// The last preview, which replaces the stored one.
    pub last: Option<&'a [u8]>,
    /// The named branch whose head moves to the last message; ignored if it does not exist.
    pub branch: Option<MessageId>,
}

/// How a conversation starts. Its version is 1, and its next sequence too.
#[derive(Clone, Copy, Debug)]
pub struct NewConversation<'a> {
    /// What to filter by.
    pub facets: &'a Facets,
    /// The header's bytes.
    pub header: &'a [u8],
    /// When it was started.
    pub created: Time,
}

/// A message to insert.
#[derive(Clone, Copy, Debug)]
pub struct NewMessage<'a> {
    /// Its id.
    pub id: MessageId,
    /// Its sequence.
    pub seq: u32,
    /// Its parent, which may be in the same batch, and the parent's sequence.
    pub parent: Option<(Anchor, u32)>,
    /// How many ancestors it has.
    pub depth: u32,
    /// The sequence of the first message of its turn.
    pub turn: u32,
    /// True when its parent already has a child.
    pub forked: bool,
    /// What it vouches for.
    pub link: Digest,
    /// Its label.
    pub label: Option<&'a [u8]>,
    /// True when it survives compaction.
    pub is_pinned: bool,
    /// Its bytes.
    pub body: &'a [u8],
}

/// A change of what is known about a conversation.
#[derive(Debug)]
pub struct Amend<'a> {
    /// Which.
    pub conversation: ConversationId,
    /// Its version from now on.
    pub version: Version,
    /// What changes.
    pub change: Amendment<'a>,
    /// If set, the stored last preview after the change. A backend sets it after it applied `change`. Only
    /// `sealed` gives one, because it encrypts other fields with the preview; a change of the previews then
    /// says the same.
    pub last: Option<&'a [u8]>,
}

/// What changes about a conversation.
#[derive(Debug)]
pub enum Amendment<'a> {
    /// Its header and facets.
    Header(&'a Facets, &'a [u8]),
    /// Its head, by id and sequence.
    Head(Option<(MessageId, u32)>),
    /// The label and pin of the message with this id and sequence.
    Note(MessageId, u32, Option<&'a [u8]>, bool),
    /// A branch, whose head has this sequence: one with the same id is
    /// replaced, any other is added after the rest.
    Branch(&'a Branch, u32),
    /// The branch with this id is taken away, if it is there.
    Unbranch(MessageId),
    /// What messages say, and both previews.
    Rewrite(Vec<NewBody<'a>>, &'a [u8], &'a [u8]),
}

/// What takes the place of a message's body.
#[derive(Clone, Copy, Debug)]
pub struct NewBody<'a> {
    /// The message's id.
    pub id: MessageId,
    /// Its sequence.
    pub seq: u32,
    /// What it vouches for from now on.
    pub link: Digest,
    /// Its bytes.
    pub body: &'a [u8],
}

/// Messages that are removed, and how the conversation is left.
#[derive(Debug)]
pub struct Removal<'a> {
    /// Which conversation.
    pub conversation: ConversationId,
    /// Its version from now on.
    pub version: Version,
    /// The messages, in order of sequence. Every child of one of them is one of them. May be empty.
    ///
    /// An empty removal changes no row. It asks a backend to erase what earlier removals of `named` left in
    /// its files.
    pub going: Vec<Node>,
    /// The ids that were requested, including missing ones.
    pub named: &'a [MessageId],
    /// The id and sequence of the head from now on.
    pub head: Option<(MessageId, u32)>,
    /// The branches that are left, with the sequences of their heads, in order.
    pub branches: Vec<(Branch, u32)>,
    /// The first preview from now on.
    pub first: Vec<u8>,
    /// The last preview from now on.
    pub last: Vec<u8>,
    /// When.
    pub at: Time,
    /// Why.
    pub reason: &'a str,
}
