//! The interface of a storage backend: snapshots, atomic commits, change log, optional indexes.
//!
//! A backend applies batches that were decided elsewhere. [`Keeper`](crate::store::Keeper) makes a
//! [`Store`](crate::store::Store) of it: it decides appends, changes and removals, once for all backends.
//! Where a backend has an index of its own, it also answers lists, lookups or searches.
//!
//! To write one:
//!
//! - Store what an [`Edit`] says, together with its blobs and its entry in the log of changes, all or
//!   nothing. [`ConversationTree`](crate::store::ConversationTree) makes edits of a conversation in memory
//!   and shows its rows, if the backend holds it there.
//! - Answer [`Rows`] from one snapshot. Rows are plain: bodies, headers and
//!   previews are bytes that came with an edit.
//! - Return none from [`Backend::list_indexed`], [`Backend::search_indexed`] and [`Backend::find_indexed`]
//!   where there is no index. The keeper then filters, orders and pages, and finds the words of messages
//!   itself, from the rows. With an index, answer as [`Read`](crate::store::Read) does;
//!   [`PlainText`](crate::PlainText) has the words that a search goes by.
//! - Test it with one line of [`conformance!`](crate::conformance). The example
//!   `own_store` is a complete one.

mod edit;
mod forward;
mod listing;
mod text;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use edit::{
    Amend, Amendment, Append, Batch, Edit, LogEntry, NewBody, NewConversation, NewMessage, Removal,
};
pub(crate) use forward::{forward, forward_but_commits};
pub(in crate::store) use text::text;

pub use crate::store::body::Searchable;

use crate::error::{Error, Result};
use crate::model::{Branch, ConversationId, Digest, Head, MessageId, Time};
use crate::store::{
    BlobNames, Capabilities, Changed, Cursor, Facets, Found, Hit, ListQuery, Order, Page, Progress, Row,
    Safety, SearchQuery, Space, Stamp, Task, Version,
};

/// A place to store rows.
pub trait Backend: Send + Sync {
    /// Returns what the backend can do. The answer is the same while it is open.
    fn capabilities(&self) -> Capabilities;

    /// Calls `work` with a consistent snapshot. Later commits to a conversation are not visible.
    ///
    /// A backend with one file per conversation guarantees this for one conversation at a time. A caller that
    /// reads several must tolerate one that changed or vanished in between.
    fn snapshot(&self, work: &mut dyn FnMut(&dyn Rows) -> Result<()>) -> Result<()>;

    /// Calls `decide` with the newest rows and stores the batch it returns, atomically.
    ///
    /// No other commit changes what `decide` reads before its batch is stored; the backends here serialize
    /// all commits of a store. `decide` has no side effects, may be called more than once, and may call the
    /// read methods of this backend, which must not wait for the commit. If it fails, its error is returned
    /// and nothing is stored. With [`Safety::Synced`], the batch survives a power cut once this returns. An
    /// append of a message id that the conversation already has is a [conflict](crate::ErrorKind::Conflict).
    fn commit<'a>(
        &self,
        hint: &CommitHint<'_>,
        safety: Safety,
        decide: &mut dyn FnMut(&dyn Rows) -> Result<Batch<'a>>,
    ) -> Result<()>;

    /// Calls `decide` once for each hint, in order, with its index and the newest rows, and stores the
    /// batches it returns.
    ///
    /// Each batch is stored as by [`Self::commit`] and is visible to the next decision. A backend that can
    /// combine them stores all of them or, if one fails, none. A backend that cannot combine commits calls
    /// `commit` for each; batches before the one that fails stay.
    fn commit_each<'a>(
        &self,
        hints: &[CommitHint<'_>],
        safety: Safety,
        decide: &mut dyn FnMut(usize, &dyn Rows) -> Result<Batch<'a>>,
    ) -> Result<()>;

    /// Runs `work`, which calls [`Self::commit`], then erases the removed bytes from the backend's files.
    ///
    /// It must not hold a lock that `commit` takes.
    fn erasing(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()>;

    /// Makes sure that a conversation can be deleted in one commit. If there is no disk space for that, it
    /// calls `trim` to remove the newest messages, some at a time.
    ///
    /// `trim` calls [`Self::commit`], so this must not hold a lock that `commit` takes.
    fn make_room(&self, id: ConversationId, trim: &mut dyn FnMut(&[MessageId]) -> Result<()>) -> Result<()>;

    /// Returns one blob as it is now. The rules of [`Read::get`](crate::store::Read::get) apply.
    fn blob(&self, space: Space, owner: Option<ConversationId>, name: &[u8]) -> Result<Option<Vec<u8>>>;

    /// Returns what was committed after a stamp, oldest first, and waits up to `wait` for a first change. The
    /// rules of [`Read::changes`](crate::store::Read::changes) apply.
    fn changes(&self, after: Stamp, wait: Duration) -> Result<Vec<Changed>>;

    /// Does background work for about `budget`. The rules of
    /// [`Store::maintain`](crate::store::Store::maintain) apply.
    ///
    /// [`Task::Checkpoint`] reports something left as long as removed bytes are in the files: the report of a
    /// purge relies on it.
    fn upkeep(&self, task: Task, budget: Duration) -> Result<Progress>;

    /// Returns a page of the list from an index; none, where there is no index, makes the keeper visit every
    /// conversation. The rules of [`Read::list`](crate::store::Read::list) apply.
    fn list_indexed(&self, query: &ListQuery<'_>) -> Result<Option<Page<ConversationRow>>>;

    /// Returns a page of hits from an index; none makes the keeper scan every message. The rules of
    /// [`Read::search`](crate::store::Read::search) apply.
    fn search_indexed(&self, query: &SearchQuery<'_>) -> Result<Option<Page<Hit>>>;

    /// Returns what begins with a text from an index of ids and slugs; none makes the keeper visit every
    /// conversation and message. The rules of [`Read::find`](crate::store::Read::find) apply.
    fn find_indexed(&self, text: &str, limit: usize) -> Result<Option<Vec<Found>>>;
}

/// Decides what to store.
pub(crate) type Decide<'d, 'a> = dyn FnMut(&dyn Rows) -> Result<Batch<'a>> + 'd;

/// Decides what to store for each of several hints, by its index.
pub(crate) type DecideEach<'d, 'a> = dyn FnMut(usize, &dyn Rows) -> Result<Batch<'a>> + 'd;

/// Implements [`Backend::commit_each`] for a backend that cannot combine commits: one commit for each hint.
pub(in crate::store) fn one_by_one(
    backend: &dyn Backend,
    hints: &[CommitHint<'_>],
    safety: Safety,
    decide: &mut DecideEach<'_, '_>,
) -> Result<()> {
    let mut hints = hints.iter().enumerate();
    hints.try_for_each(|(place, hint)| backend.commit(hint, safety, &mut |rows| decide(place, rows)))
}

/// Removes messages of a conversation.
pub(crate) type Trim<'t> = dyn FnMut(&[MessageId]) -> Result<()> + 't;

/// What a decision will mostly read, so that a backend can prefetch it. The decision may read other rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct CommitHint<'a> {
    /// What is attempted, for the message of an error, such as `append a turn`.
    pub attempt: &'static str,
    /// The conversation it is about.
    pub conversation: Option<ConversationId>,
    /// True when the conversation is about to be created. An earlier one that is [lost](Presence::Lost) may
    /// then be reported as absent, where it takes long to tell the two apart.
    pub is_made: bool,
    /// Messages of that conversation.
    pub messages: &'a [MessageId],
    /// True when message bodies are about to be removed or replaced.
    pub is_erasing: bool,
}

/// The rows of one snapshot.
///
/// An unknown conversation, message or sequence yields no rows, not an error. Only the target of
/// [`Which::Path`] must exist.
pub trait Rows {
    /// Returns whether a conversation exists. It takes no longer than [`Self::state`], and may take much
    /// less.
    fn has(&self, id: ConversationId) -> Result<bool>;

    /// Returns what decisions need to know of a conversation.
    fn state(&self, id: ConversationId) -> Result<Presence>;

    /// Returns when a conversation with this state was last active. It is a method of its own because the
    /// time may be encrypted.
    fn active(&self, id: ConversationId, state: &State) -> Result<Time>;

    /// Returns a message of a conversation without its body.
    fn node(&self, id: ConversationId, message: MessageId) -> Result<Option<Node>>;

    /// Tells whether a message vouches for this. What it vouches for may be stored as a keyed hash.
    fn vouches(&self, node: &Node, link: Digest) -> bool;

    /// Visits every message of a conversation without its body, in order of sequence.
    fn nodes(&self, id: ConversationId, visit: &mut dyn FnMut(&Node) -> Result<()>) -> Result<()>;

    /// Visits messages of a conversation.
    ///
    /// Where the backend [reads past damage](Capabilities::reads_past_damage), it visits all that can be read
    /// and then answers with what cannot. It may visit a body before it looks whether that is damaged: an
    /// error of the visitor then makes it look, and does not end the visit if it is.
    fn messages(
        &self,
        id: ConversationId,
        which: Which<'_>,
        visit: &mut dyn FnMut(&MessageRow<'_>) -> Result<()>,
    ) -> Result<()>;

    /// Returns all that is known of a conversation but its messages.
    fn conversation(&self, id: ConversationId) -> Result<Option<ConversationRow>>;

    /// Visits every conversation, in no particular order, and goes on past damage like [`Self::messages`].
    fn conversations(&self, visit: &mut dyn FnMut(ConversationRow) -> Result<()>) -> Result<()>;

    /// Visits blobs in order of name.
    fn blobs(
        &self,
        space: Space,
        owner: Option<ConversationId>,
        named: BlobNames<'_>,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()>;
}

/// The answer to an id that no conversation has.
pub(crate) fn unknown(id: ConversationId) -> Error {
    Error::not_found(format!("no conversation `{id}`"))
}

/// The answer to a message id that the conversation already has.
pub(crate) fn taken(id: MessageId) -> Error {
    Error::conflict(format!("message id `{id}` is taken"))
}

/// Called with each message; what it borrows is valid during the call only.
pub(crate) type VisitMessage<'a> = dyn FnMut(&MessageRow<'_>) -> Result<()> + 'a;

/// Whether a conversation is there.
#[derive(Debug)]
pub enum Presence {
    /// It was never stored, or was deleted.
    Absent,
    /// It was stored and cannot be read; the error says why.
    Lost(Error),
    /// It is there.
    Stored(State),
}

/// What decisions need to know of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Counts changes of the header and removals.
    pub version: Version,
    /// The sequence of the next message.
    pub next: u32,
    /// How many messages there are.
    pub messages: u64,
    /// How many of them have no parent.
    pub roots: u32,
    /// How many bytes their bodies take.
    pub bytes: u64,
    /// The sequence of the head.
    pub head: Option<u32>,
    /// When it was last active, as it is stored.
    pub active: Time,
    /// True when it has a preview of its first message.
    pub has_first: bool,
}

/// A message without its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its id.
    pub id: MessageId,
    /// Its place in order of arrival, from 1.
    pub seq: u32,
    /// The sequence of its parent.
    pub parent: Option<u32>,
    /// How many ancestors it has.
    pub depth: u32,
    /// How many messages name it as their parent.
    pub children: u32,
    /// True when its parent already had a child.
    pub forked: bool,
    /// What it vouches for, as it is stored.
    pub link: Digest,
    /// How many bytes its body takes.
    pub size: u64,
}

/// Which messages to visit.
#[derive(Clone, Copy, Debug)]
pub enum Which<'a> {
    /// From the root to this sequence.
    Path(u32),
    /// All, in this order, after so many and at most so many.
    Range(Order, u64, u64),
    /// Those with these sequences, in this order.
    These(&'a [u32]),
}

/// A message.
#[derive(Clone, Copy, Debug)]
pub struct MessageRow<'a> {
    /// Its id.
    pub id: MessageId,
    /// Its parent.
    pub parent: Option<MessageId>,
    /// Its place in order of arrival.
    pub seq: u32,
    /// The sequence of the first message of its turn.
    pub turn: u32,
    /// True when its parent already had a child.
    pub forked: bool,
    /// What it vouches for.
    pub link: Digest,
    /// Its label.
    pub label: Option<&'a [u8]>,
    /// True when it survives compaction.
    pub is_pinned: bool,
    /// Its bytes.
    pub body: &'a [u8],
    /// How many bytes are counted for it.
    pub size: u64,
}

/// All that is known of a conversation but its messages.
#[derive(Clone, Debug, PartialEq)]
pub struct ConversationRow {
    /// Its id.
    pub id: ConversationId,
    /// The header's version.
    pub version: Version,
    /// What it can be filtered by.
    pub facets: Facets,
    /// The header's bytes.
    pub header: Vec<u8>,
    /// The head and its link.
    pub head: Option<Head>,
    /// Named branches, in order of creation.
    pub branches: Vec<Branch>,
    /// When it was started.
    pub created: Time,
    /// When it was last active.
    pub active: Time,
    /// How many messages.
    pub messages: u64,
    /// How many bytes their bodies take.
    pub bytes: u64,
    /// The preview of the first message.
    pub first: Vec<u8>,
    /// The preview of the newest assistant message.
    pub last: Vec<u8>,
}

impl ConversationRow {
    /// Where the next page begins after this row.
    pub(crate) const fn cursor(&self) -> Cursor {
        Cursor { time: self.active, conversation: self.id, seq: 0 }
    }

    /// The row as those who list get it.
    pub(crate) fn into_row(self) -> Row {
        // Damaged bytes do not match their digest, like other letters would not.
        let text = |bytes: Vec<u8>| {
            String::from_utf8(bytes)
                .unwrap_or_else(|damaged| String::from_utf8_lossy(damaged.as_bytes()).into_owned())
        };
        Row {
            id: self.id,
            version: self.version,
            facets: self.facets,
            header: text(self.header),
            head: self.head,
            branches: self.branches,
            created: self.created,
            active: self.active,
            messages: self.messages,
            bytes: self.bytes,
            first: text(self.first),
            last: text(self.last),
        }
    }
}
