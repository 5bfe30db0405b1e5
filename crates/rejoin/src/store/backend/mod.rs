//! What a place to store rows has to do. It knows no rule of the contract.
//!
//! A backend reads rows of one moment and commits what was decided from them, all or nothing. [`Keeper`](crate::store::Keeper) makes a
//! [`Store`](crate::store::Store) of it: every rule of the contract is decided there, once for all backends.
//!
//! To write one:
//!
//! - Store what an [`Edit`] says, together with its blobs and its entry in the log of changes, all or nothing.
//!   [`ConversationTree`](crate::store::ConversationTree) makes edits of a conversation in memory and shows its rows, if the backend holds it there.
//! - Answer [`Rows`] from one moment. Rows are plain: bodies, headers and previews are bytes that came with an edit.
//! - Return none from [`Backend::lists`], [`Backend::words`] and [`Backend::prefixes`] where there is no index. The keeper then
//!   filters, orders and pages, and finds the words of messages itself, from the rows. With an index, answer as
//!   [`Read`](crate::store::Read) does; [`crate::text`] has the words that a search goes by.
//! - Use [`one_by_one`], [`taken`] and [`unknown`] for what every backend does alike.
//! - Test it with one line of [`conformance!`](crate::conformance). The example `own_store` is a complete one.

mod edit;
mod forward;
mod listing;
mod text;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use edit::{Amend, Amendment, Append, Batch, Edit, Entry, NewBody, NewMessage, Opening, Removal};
pub(crate) use forward::{forward, forward_but_commits};
pub(in crate::store) use text::text;

use crate::error::{Error, Result};
use crate::model::{Branch, ConversationId, Digest, Head, MessageId, Time};
use crate::store::{
    Capabilities, Changed, Cursor, Facets, Found, Hit, ListQuery, Named, Order, Page, Progress, Row, Safety,
    SearchQuery, Space, Stamp, Task, Version, VisitBlob,
};

/// A place to store rows.
pub trait Backend: Send + Sync {
    /// Tells what it can do. The answer is the same while it is open.
    fn capabilities(&self) -> Capabilities;

    /// Calls `work` with the rows of one moment: a commit that happens meanwhile is not seen.
    fn snapshot(&self, work: &mut dyn FnMut(&dyn Rows) -> Result<()>) -> Result<()>;

    /// Calls `decide` with the newest rows and stores what it returns, all or nothing.
    ///
    /// Nobody else commits to the same conversation in between. `decide` has no side effects and may be called again. It may read
    /// by other calls meanwhile, which do not wait for the commit. An
    /// error of `decide` is the answer, and nothing is stored. With [`Safety::Synced`], what was committed survives a power
    /// cut when this returns. A message id that the conversation already has is a [conflict](crate::ErrorKind::Conflict).
    fn commit<'a>(&self, ask: &Ask<'_>, safety: Safety, decide: &mut Decide<'_, 'a>) -> Result<()>;

    /// Calls `decide` for each of these, in order, with its place among them and the newest rows, and stores what it returns.
    ///
    /// Each is stored as [`Self::commit`] does, before the next is decided. A backend that can stores all of them in one
    /// commit, and then nothing when one fails. Otherwise those before the one that fails stay.
    fn commit_each<'a>(
        &self,
        asks: &[Ask<'_>],
        safety: Safety,
        decide: &mut DecideEach<'_, 'a>,
    ) -> Result<()>;

    /// Calls `work`, which commits removals, and erases what they leave in the backend's own files before it returns.
    fn erasing(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()>;

    /// Makes sure that a conversation can be deleted in one commit. Where there is no room for that, it has `trim` remove
    /// the newest messages, piece by piece.
    fn make_room(&self, id: ConversationId, trim: &mut Trim<'_>) -> Result<()>;

    /// Returns one blob as it is now.
    fn blob(&self, space: Space, owner: Option<ConversationId>, name: &[u8]) -> Result<Option<Vec<u8>>>;

    /// Returns what was committed after a stamp, oldest first, and waits up to `wait` for a first change.
    fn changes(&self, after: Stamp, wait: Duration) -> Result<Vec<Changed>>;

    /// Does a piece of background work for about `budget`.
    fn upkeep(&self, task: Task, budget: Duration) -> Result<Progress>;

    /// Lists from an index of its own, if it has one.
    fn lists(&self) -> Option<&dyn Lists>;

    /// Searches an index of its own, if it has one.
    fn words(&self) -> Option<&dyn Words>;

    /// Looks up beginnings of names in an index of its own, if it has one.
    fn prefixes(&self) -> Option<&dyn Prefixes>;
}

/// Decides what to store.
pub type Decide<'d, 'a> = dyn FnMut(&dyn Rows) -> Result<Batch<'a>> + 'd;

/// Decides what to store for each of several, by its place.
pub type DecideEach<'d, 'a> = dyn FnMut(usize, &dyn Rows) -> Result<Batch<'a>> + 'd;

/// Commits one after the other, where several cannot be committed together.
pub fn one_by_one(
    backend: &dyn Backend,
    asks: &[Ask<'_>],
    safety: Safety,
    decide: &mut DecideEach<'_, '_>,
) -> Result<()> {
    let mut asks = asks.iter().enumerate();
    asks.try_for_each(|(place, ask)| backend.commit(ask, safety, &mut |rows| decide(place, rows)))
}

/// Removes messages of a conversation.
pub type Trim<'t> = dyn FnMut(&[MessageId]) -> Result<()> + 't;

/// What a decision is going to read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ask<'a> {
    /// What is attempted, for the message of an error, such as `append a turn`.
    pub attempt: &'static str,
    /// The conversation it is about.
    pub conversation: Option<ConversationId>,
    /// True when it is going to be made. What became of an earlier one does not matter then: one that is
    /// [lost](Presence::Lost) may be told as absent, where it takes long to find out.
    pub is_made: bool,
    /// Messages of it.
    pub messages: &'a [MessageId],
    /// True when what messages say is going to be removed or replaced.
    pub is_erasing: bool,
}

/// Rows of one moment.
pub trait Rows {
    /// Tells whether a conversation is there. It takes no longer than its state, and may take much less.
    fn has(&self, id: ConversationId) -> Result<bool>;

    /// Returns what decisions need to know of a conversation.
    fn state(&self, id: ConversationId) -> Result<Presence>;

    /// Returns when a conversation with this state was last active. It is asked for apart, because it may be encrypted.
    fn active(&self, id: ConversationId, state: &State) -> Result<Time>;

    /// Returns a message of a conversation without its body; none when it has no such message.
    fn node(&self, id: ConversationId, message: MessageId) -> Result<Option<Node>>;

    /// Tells whether a message vouches for this. What it vouches for may be stored as a keyed hash.
    fn vouches(&self, node: &Node, link: Digest) -> bool;

    /// Visits every message of a conversation without its body, in order of sequence.
    fn nodes(&self, id: ConversationId, visit: &mut dyn FnMut(&Node) -> Result<()>) -> Result<()>;

    /// Visits messages of a conversation.
    ///
    /// Where the backend [reads past damage](Capabilities::reads_past_damage), it visits all that can be read and then
    /// answers with what cannot. It may visit a body before it looks whether that is damaged: an error of the visitor then
    /// makes it look, and does not end the visit if it is.
    fn messages(&self, id: ConversationId, which: Which<'_>, visit: &mut VisitMessage<'_>) -> Result<()>;

    /// Returns all that is known of a conversation but its messages.
    fn conversation(&self, id: ConversationId) -> Result<Option<ConversationRow>>;

    /// Visits every conversation, in no particular order, and goes on past damage like [`Self::messages`].
    fn conversations(&self, visit: &mut dyn FnMut(ConversationRow) -> Result<()>) -> Result<()>;

    /// Visits blobs in order of name.
    fn blobs(
        &self,
        space: Space,
        owner: Option<ConversationId>,
        named: Named<'_>,
        visit: &mut VisitBlob<'_>,
    ) -> Result<()>;
}

/// The answer to an id that no conversation has.
pub fn unknown(id: ConversationId) -> Error {
    Error::not_found(format!("there is no conversation `{id}`"))
}

/// The answer to a message id that the conversation already has.
pub fn taken(id: MessageId) -> Error {
    Error::conflict(format!("message id `{id}` is taken"))
}

/// Called with each message; what it borrows is valid during the call only.
pub type VisitMessage<'a> = dyn FnMut(&MessageRow<'_>) -> Result<()> + 'a;

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

/// Lists conversations in order.
pub trait Lists {
    /// Answers as [`Read::list`](crate::store::Read::list) does.
    fn list(&self, query: &ListQuery<'_>) -> Result<Page<ConversationRow>>;
}

/// Searches messages.
pub trait Words {
    /// Answers as [`Read::search`](crate::store::Read::search) does.
    fn search(&self, query: &SearchQuery<'_>) -> Result<Page<Hit>>;
}

/// Looks up names.
pub trait Prefixes {
    /// Answers as [`Read::find`](crate::store::Read::find) does.
    fn find(&self, text: &str, limit: usize) -> Result<Vec<Found>>;
}
