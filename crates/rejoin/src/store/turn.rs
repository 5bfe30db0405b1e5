//! What goes into a store: turns, changes, targets and blobs.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::model::{Branch, Conversation, ConversationId, Digest, Hold, MessageId, Status, Time, slug};

/// What a store can do.
///
/// Start from [`Capabilities::NONE`] and set what is true, so that a capability that is added later is not
/// claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// True when what was acknowledged survives closing, a crash and a power cut.
    pub is_durable: bool,
    /// True when the place can be opened by several processes at once.
    pub is_shared: bool,
    /// True when `SearchOrder::Best` ranks; otherwise it is newest first.
    pub ranks: bool,
    /// True when everything is sealed before it is stored, so that what leaves
    /// the store leaves its protection.
    pub is_sealed: bool,
    /// True when a read visits all that can be read before it answers that something
    /// cannot. Otherwise a read ends there.
    pub reads_past_damage: bool,
    /// True when its backend stores any bytes as bodies, headers, previews and
    /// labels. Otherwise they have to be text.
    pub stores_bytes: bool,
}

impl Capabilities {
    /// A store that can do none of this, such as one in memory.
    pub const NONE: Self = Self {
        is_durable: false,
        is_shared: false,
        ranks: false,
        is_sealed: false,
        reads_past_damage: false,
        stores_bytes: false,
    };

    /// Marks a conversation that begins in an encrypted store as not exportable: what leaves the store leaves
    /// its protection, so the user has to allow it.
    pub(crate) fn restrict(self, conversation: &mut Conversation) {
        if self.is_sealed {
            conversation.privacy.exportable = false;
        }
    }
}

/// Counts the changes of a conversation's header, and what was removed of it. It never falls, nor does
/// its sum with the number of messages.
pub(crate) type Version = u64;

/// A message as it is read.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Its id.
    pub id: MessageId,
    /// Its parent.
    pub parent: Option<MessageId>,
    /// Its place in order of arrival, from 1.
    pub seq: u32,
    /// The sequence of the first message of its turn.
    pub turn: u32,
    /// What it vouches for, as the archive computed it.
    pub link: Digest,
    /// Its label and pin.
    pub note: Note<'a>,
    /// Its bytes.
    pub body: &'a str,
    /// How many bytes the store counts for it; more than it has where they are sealed.
    pub size: u64,
}

/// What can change about a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Note<'a> {
    /// Its label.
    pub label: Option<&'a str>,
    /// True when it survives compaction.
    pub is_pinned: bool,
}

/// A message to store.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Its id, made by the caller.
    pub id: MessageId,
    /// The message it follows; none for a root.
    pub parent: Option<Anchor>,
    /// What it vouches for.
    pub link: Digest,
    /// Its label and pin.
    pub note: Note<'a>,
    /// Its bytes.
    pub body: &'a str,
}

/// The message an entry was written against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// Its id.
    pub id: MessageId,
    /// Its link, which the entry's own link was computed from.
    pub link: Digest,
}

/// What to do when a turn was written against something that is not the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stale {
    /// Store the turn under the parent it names; a branch begins where the parent has a child.
    Branch,
    /// Refuse, so that a linear client can read again.
    Refuse,
}

/// What a list can filter by; the store keeps it beside the header.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facets {
    /// The project's key.
    pub project: String,
    /// The kind.
    pub kind: String,
    /// The title as a name to type.
    pub slug: String,
    /// Where it stands.
    pub status: Status,
    /// What holds it.
    pub hold: Hold,
    /// A custom expiry.
    pub expires: Option<Time>,
}

impl Facets {
    /// The facets of a conversation.
    pub(crate) fn of(conversation: &Conversation) -> Self {
        Self {
            project: conversation.project.clone().unwrap_or_default(),
            kind: conversation.kind.clone(),
            slug: conversation.title.as_deref().map(slug).unwrap_or_default(),
            status: conversation.status,
            hold: conversation.hold,
            // What is held does not expire, so no list may leave it out.
            expires: conversation.expires_at.filter(|_| conversation.hold == Hold::None),
        }
    }
}

/// What a turn that creates its conversation brings along.
#[derive(Clone, Copy, Debug)]
pub struct Opening<'a> {
    /// What to filter by.
    pub facets: &'a Facets,
    /// The header's bytes.
    pub header: &'a str,
    /// When it was started.
    pub created: Time,
}

/// The previews that a turn sets.
#[derive(Clone, Copy, Debug, Default)]
pub struct PreviewUpdate<'a> {
    /// The preview of the first message; used only if the conversation has none.
    pub first: &'a str,
    /// The preview of the newest assistant message; an empty one keeps the stored one.
    pub last: &'a str,
}

/// The messages saved together by one append.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    /// The conversation that grows.
    pub conversation: ConversationId,
    /// Set when the turn creates the conversation.
    pub opening: Option<Opening<'a>>,
    /// What to do when the first entry's parent is not the head.
    pub stale: Stale,
    /// The messages.
    pub entries: &'a [Entry<'a>],
    /// The previews that a list shows.
    pub previews: PreviewUpdate<'a>,
    /// The named branch that the turn goes on with.
    pub branch: Option<MessageId>,
    /// When something was last said in it.
    pub active: Time,
    /// What the clock shows; a stored activity far ahead of it is from a clock that was wrong.
    pub now: Time,
    /// Blobs that land in the same sync.
    pub blobs: &'a [Put<'a>],
}

/// What became of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The sequence of the last message; 0 when the turn had none.
    pub seq: u32,
    /// True when a parent already had a child, so that a branch began.
    pub forked: bool,
    /// True when the messages were already there and nothing was written.
    pub replayed: bool,
}

/// A change of what is known about a conversation.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    /// Replaces the header.
    Header {
        /// What to filter by.
        facets: &'a Facets,
        /// The header's bytes.
        header: &'a str,
    },
    /// Moves the head; none means that the next message is a root.
    Head(Option<MessageId>),
    /// Replaces a message's label and pin.
    Note(MessageId, Note<'a>),
    /// Adds a branch, or replaces the one with the same id.
    Branch(&'a Branch),
    /// Takes a branch's name away; its messages stay.
    Unbranch(MessageId),
    /// Replaces what messages say.
    Rewrite {
        /// The messages, with what they say from now on.
        messages: &'a [Rewritten<'a>],
        /// The previews; both replace the stored ones, even if empty.
        previews: PreviewUpdate<'a>,
    },
}

/// What takes the place of a stored message.
#[derive(Clone, Copy, Debug)]
pub struct Rewritten<'a> {
    /// Which message.
    pub id: MessageId,
    /// What it vouches for.
    pub link: Digest,
    /// Its bytes.
    pub body: &'a str,
}

/// What becomes of a removed message's children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Children {
    /// A message with children is refused.
    Refuse,
    /// The whole subtree goes.
    Remove,
}

/// What to remove.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// A conversation with everything in it.
    Conversation(ConversationId),
    /// Messages of one conversation.
    Messages {
        /// Whose messages.
        conversation: ConversationId,
        /// Which.
        ids: &'a [MessageId],
        /// And their children.
        children: Children,
    },
}

/// What became of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It is gone.
    Removed {
        /// How many messages went.
        messages: u64,
        /// How many bytes they took.
        bytes: u64,
    },
    /// There was no such conversation.
    NotFound,
    /// This message has children; nothing of the target was removed.
    HasChildren(MessageId),
}

/// What a blob is for; spaces do not see each other's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Space {
    /// What a program remembers between runs: the active conversation, notices that were seen.
    State,
    /// Known projects.
    Project,
    /// Replies that are still arriving, by the program that receives them.
    OpenTurn,
    /// What imported messages were read from, by message.
    Source,
    /// How the sources of imports looked, by their paths.
    Import,
    /// What was deleted, purged, redacted, rotated and exported, without content.
    Audit,
    /// Attachments in pieces, by digest and number.
    Attachment,
    /// What those who follow the events are told besides changes.
    Notice,
    /// What a backend that wraps another stores beside each conversation, and replaces for many of them in
    /// one commit. Nobody above the wrapper uses it.
    Companion,
    /// What such a backend makes of a conversation, and can make again.
    Derived,
    /// Copies that such a backend takes.
    Copy,
}

/// Whose blob, in which space, by which name.
pub(in crate::store) type BlobKey = (Space, Option<ConversationId>, Vec<u8>);

impl Space {
    /// Every space.
    pub const ALL: [Self; 11] = [
        Self::State,
        Self::Project,
        Self::OpenTurn,
        Self::Source,
        Self::Import,
        Self::Audit,
        Self::Attachment,
        Self::Notice,
        Self::Companion,
        Self::Derived,
        Self::Copy,
    ];

    /// The number a store writes for it; never reused.
    pub const fn number(self) -> i64 {
        match self {
            Self::State => 1,
            Self::Project => 2,
            Self::OpenTurn => 3,
            Self::Source => 4,
            Self::Import => 5,
            Self::Companion => 6,
            Self::Derived => 7,
            Self::Audit => 8,
            Self::Attachment => 9,
            Self::Copy => 10,
            Self::Notice => 11,
        }
    }

    /// True when blobs of many conversations are replaced in one commit. A backend that has a
    /// file for each conversation stores them in one file, so that such a commit does not
    /// take as long as there are conversations.
    pub const fn is_replaced_together(self) -> bool {
        matches!(self, Self::Companion)
    }
}

/// Which blobs of a space and owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlobNames<'a> {
    /// The one of this name.
    One(&'a [u8]),
    /// Those whose names begin with this.
    Prefix(&'a [u8]),
}

impl<'a> BlobNames<'a> {
    /// All of them.
    pub const ALL: Self = Self::Prefix(b"");

    /// True for a name that is meant.
    pub fn admit(&self, name: &[u8]) -> bool {
        match self {
            Self::One(own) => name == *own,
            Self::Prefix(prefix) => name.starts_with(prefix),
        }
    }

    /// Where those that are meant begin, in order of name.
    pub const fn start(&self) -> &'a [u8] {
        match self {
            Self::One(start) | Self::Prefix(start) => start,
        }
    }
}

/// A named blob to store or erase.
#[derive(Clone, Copy, Debug)]
pub struct Put<'a> {
    /// What it is for.
    pub space: Space,
    /// The conversation it goes with.
    pub owner: Option<ConversationId>,
    /// Its name.
    pub name: &'a [u8],
    /// Its bytes; none erases it.
    pub bytes: Option<&'a [u8]>,
}

/// How safe a blob must be on return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Safety {
    /// It survives a power cut.
    Synced,
    /// It survives the process; a power cut may lose the newest.
    Unsynced,
}

/// Background work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Task {
    /// Bring the search index up to date.
    Index,
    /// Fold the log into the main file.
    Checkpoint,
    /// Give freed space back and erase what deletion left behind.
    Repack,
    /// Discard what later changes of one conversation made void, unless it is
    /// little beside the rest; then that is left.
    RepackOne(ConversationId),
    /// Look for damage.
    Check,
}

/// How far background work got.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// How many items were done in this call.
    pub done: u64,
    /// How many are left; none when it is finished.
    pub left: u64,
    /// What a check found.
    pub faults: Vec<Fault>,
    /// What a check found that was never acknowledged: nothing is lost, and the next write removes it.
    pub unfinished: Vec<Fault>,
}

/// Damage that a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where, when it is known.
    pub conversation: Option<ConversationId>,
    /// What is wrong.
    pub what: String,
}

impl Change<'_> {
    /// Checks what needs no look at the store.
    pub(crate) fn check(&self) -> Result<()> {
        let Self::Rewrite { messages, .. } = self else { return Ok(()) };
        let mut named = HashSet::new();
        match messages.iter().find(|message| !named.insert(message.id)) {
            Some(twice) => {
                Err(Error::conflict(format!("message id `{}` appears twice in one rewrite", twice.id)))
            }
            None => Ok(()),
        }
    }
}

impl Turn<'_> {
    /// Checks what needs no look at the store.
    pub(crate) fn check(&self) -> Result<()> {
        if self.entries.is_empty() && self.opening.is_none() {
            return Err(Error::invalid("append a turn without messages"));
        }
        let mut ids = HashSet::with_capacity(self.entries.len());
        for entry in self.entries {
            if !ids.insert(entry.id) {
                return Err(Error::conflict(format!("message id `{}` appears twice in one turn", entry.id)));
            }
        }
        Ok(())
    }
}
