//! The store contract: the traits of a store, and the rules that every store follows.
//!
//! Every sentence of a method's documentation is a rule, and every rule is a test in [`crate::testing`] that
//! runs against every store. There are no default bodies: a wrapper that forgets a method must not compile.
//!
//! Policy lives above: titles, previews, retention, ids and digests come in as arguments.
//!
//! ```text
//!    the contract          Read and Store, here; what they take and answer in turn.rs and query.rs
//!    its rules             keeper/
//!    where rows are        backend/, and what implements it: memory.rs  sqlite/  jsonl/  postgres/  sealed/
//!    shared by backends    tree.rs  body.rs  hits.rs  index/  durable.rs  reserve.rs  content_hash.rs
//!    the place on disk     place.rs  owner.rs  displaced.rs  examination.rs
//!    over any store        notice.rs  newest.rs
//! ```

pub mod backend;
pub(crate) mod body;
mod content_hash;
mod displaced;
pub(crate) mod durable;
mod examination;
mod hits;
pub(crate) mod index;
#[cfg(feature = "jsonl")]
mod jsonl;
pub(crate) mod keeper;
mod memory;
mod newest;
mod notice;
mod owner;
pub(crate) mod place;
#[cfg(feature = "postgres")]
mod postgres;
mod postgres_url;
mod query;
mod reserve;
#[cfg(feature = "vault")]
pub(crate) mod sealed;
#[cfg(feature = "sqlite")]
mod sqlite;
mod tree;
mod turn;

use std::time::Duration;

pub use crate::model::WordQuery;
pub(crate) use content_hash::{ContentHash, ContentHasher};
pub use displaced::Displaced;
pub(crate) use durable::beside;
pub(crate) use examination::{Examination, Holders, StoreCondition};
#[cfg(feature = "jsonl")]
pub use jsonl::{JsonlOptions, JsonlStore};
pub use keeper::Keeper;
pub use memory::MemoryStore;
pub(crate) use newest::newest_stamp;
pub(crate) use notice::{Notice, NoticeName, notices, put_notice};
pub use owner::{Foreign, User};
#[cfg(feature = "postgres")]
pub use postgres::PostgresStore;
pub use postgres_url::PostgresUrl;
pub(crate) use query::Stamp;
pub use query::{
    Changed, Cursor, Found, Hit, ListQuery, Order, Page, Row, SearchOrder, SearchQuery, Selection, What,
};
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteStore;
pub use tree::ConversationTree;
pub(in crate::store) use turn::BlobKey;
pub(crate) use turn::Version;
pub use turn::{
    Anchor, Appended, BlobNames, Capabilities, Change, Children, Entry, Facets, Fault, Note, Opening,
    Outcome, PreviewUpdate, Progress, Put, Rewritten, Safety, Seen, Space, Stale, Target, Task, Turn,
};

use crate::error::Result;
use crate::model::{ConversationId, Time};

/// How long a writer waits for another process by default.
pub(crate) const WAIT: Duration = Duration::from_secs(10);

/// So many changes are collected before a file of a conversation is written anew for them.
pub(crate) const REPACK_EVERY: u32 = 5;

/// Called with each message that was read, in order; what it borrows is valid during the call only.
pub(crate) type Visit<'a> = dyn FnMut(Seen<'_>) -> Result<()> + 'a;

/// Called with the name and bytes of each blob that was found, in order of name.
pub(crate) type VisitBlob<'a> = dyn FnMut(&[u8], &[u8]) -> Result<()> + 'a;

/// The reading side of a store.
///
/// The first paragraph of a method says what it is for; every sentence after it is a rule.
pub trait Read: Send + Sync {
    /// Returns what this store can do.
    ///
    /// The answer is the same while the store is open.
    fn capabilities(&self) -> Capabilities;

    /// Visits messages of one conversation.
    ///
    /// A path runs from the root to its target. It never includes the target's children. Without a target it
    /// ends at the head. Without a head it is empty. All messages come in order of arrival. They come newest
    /// first when that is asked for. An offset passes over as many, and a limit ends the answer. Messages
    /// asked for by id come in the order asked. One that is asked for twice comes twice. If an id does not
    /// exist, the read fails with not found and visits nothing. Reading an unknown conversation is not found.
    /// Bodies come back byte for byte. A read sees one snapshot: messages that are appended meanwhile are not
    /// visited. An error of the visitor ends the read and is its answer.
    fn read(
        &self,
        id: ConversationId,
        what: Selection<'_>,
        visit: &mut dyn FnMut(Seen<'_>) -> Result<()>,
    ) -> Result<()>;

    /// Lists conversations.
    ///
    /// A row tells everything that is known. The newest activity comes first. Of equal activity the greater
    /// id comes first. A cursor continues after the last row of a page. It never skips or repeats a row that
    /// did not change. A list can be filtered by project. It can be filtered by status. When a time is given,
    /// an active conversation that was last active by then counts as paused. It can be filtered by kind. A
    /// list can leave out a kind, and then says how many it left out. It can be filtered by id. All filters
    /// must hold. When a time is given, conversations that expired by then are left out. A total counts all
    /// rows that match, on whatever page.
    fn list(&self, query: &ListQuery<'_>) -> Result<Page<Row>>;

    /// Finds conversations and messages by what a person may type.
    ///
    /// A conversation is found by the beginning of its id, in either case, with or without hyphens. It is
    /// found by the beginning of its short id. It is found by its whole slug. A message is found by the
    /// beginning of its id. At most `limit` are found. Conversations are found before messages.
    fn find(&self, text: &str, limit: usize) -> Result<Vec<Found>>;

    /// Searches the words of messages.
    ///
    /// Every word must be in the message. The last may be the beginning of one. Case and accents do not
    /// matter. The newest message comes first. Of one time, the greater conversation comes first, then the
    /// greater sequence. Everything that was appended before the call is found. Removed messages are not
    /// found. A search cursor continues where a page ended. A search can be limited to a conversation. It
    /// can be limited to a project. It can be limited to a role. It can be limited to a time and later.
    /// Another order finds the same messages.
    fn search(&self, query: &SearchQuery<'_>) -> Result<Page<Hit>>;

    /// Returns what changed after a stamp, waiting up to `wait` for a first change.
    ///
    /// Changes are reported oldest first. Every change is reported, possibly more than once, never skipped.
    /// An answer of fewer than ten changes has all of them. A removal is reported with its reason. A rewrite
    /// is reported as one. A change is reported with the time it was made at. Without a change the answer is
    /// empty after the wait. A change ends the wait. A stamp taken before the store was reopened stays good.
    fn changes(&self, after: Stamp, wait: Duration) -> Result<Vec<Changed>>;

    /// Visits blobs of a space and owner.
    ///
    /// Blobs come in order of name. Only names that begin with the prefix are visited. One
    /// that is asked for by its name comes alone. Blobs of another space are not visited.
    /// Blobs of another owner are not visited.
    fn get(
        &self,
        space: Space,
        owner: Option<ConversationId>,
        named: BlobNames<'_>,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()>;
}

/// The writing side of a store.
pub trait Store: Read {
    /// Adds the messages of one turn and returns once they would survive a crash.
    ///
    /// What was appended is there when the store is opened again. All messages of a turn are stored or none.
    /// A turn that opens a conversation creates it. It may do so without messages. Opening a conversation
    /// that exists is a conflict. A turn that opens nothing and brings no messages is invalid. Appending to
    /// an unknown conversation is not found. A parent may be any message of the conversation. A parent may be
    /// an earlier entry of the turn. Any other parent is not found. A parent whose link is not the one named
    /// is a conflict. The head becomes the last entry. So does the head of the branch that the turn names. A
    /// branch that is gone stays gone. If a parent already has a child, the answer says forked. A second root
    /// is a fork too. With `Stale::Refuse`, a first parent that is not the head is a conflict. An id that the
    /// conversation already has is a conflict. So is an id that stands twice in one turn. Another
    /// conversation may have the same ids. The same ids with the same links again give the first answer as
    /// replayed. A replay changes nothing. Sequences start at one and have no gaps. Messages of one turn
    /// share the sequence of its first. Counts and bytes follow. The first preview is kept, the last one is
    /// replaced unless it is empty. Last activity follows the turn, and never moves back from a plausible
    /// time. A time more than a day ahead of the turn's clock is not plausible, and is replaced. Blobs of a
    /// turn are stored with it or not at all.
    fn append(&self, turn: &Turn<'_>) -> Result<Appended>;

    /// Adds several turns, each as [`Store::append`] does, and returns once all of them would survive a
    /// crash. A store that can combine commits makes one for all of them.
    ///
    /// There is one answer per turn, in the order given. A turn may go on from one before it. A turn that is
    /// refused ends it: what comes before it is stored, and what comes after it is not.
    fn append_all(&self, turns: &[Turn<'_>]) -> Result<Vec<Appended>>;

    /// Changes what is known about a conversation.
    ///
    /// The answer is the new version, which the next change has to name. A version other than the expected
    /// one is a conflict, and nothing changes. Without an expected version, any will do. An append does not
    /// change the version. A header is replaced together with its facets. A head can be moved to any message,
    /// and the next root needs none. A head that names no message of the conversation is not found. A branch
    /// is added, or replaced where it stands. A branch whose head is no message of the conversation is not
    /// found. A branch that is taken away leaves its messages, and may be gone already. A note replaces the
    /// label and pin of a message, and leaves its body and link alone. A note on an unknown message is not
    /// found. A rewrite replaces the bodies and links of messages, and leaves everything else about them
    /// alone. All of them are replaced or none. Rewriting an unknown message is not found. A message that
    /// stands twice in one rewrite is a conflict. So is one that gets another link while a child of it does
    /// not get one. Both previews are replaced by those of the rewrite. The link of the head follows a
    /// rewrite. So do the bytes. What was written against a link that is gone is a conflict. A search finds
    /// what messages say since they were rewritten, and nothing of what they said. Changing an unknown
    /// conversation is not found.
    fn amend(
        &self,
        id: ConversationId,
        expected: Option<Version>,
        change: &Change<'_>,
        at: Time,
    ) -> Result<Version>;

    /// Removes conversations or messages.
    ///
    /// There is one outcome per target, in the order given. A removed conversation takes its messages,
    /// branches and blobs along. A missing conversation is an outcome, not an error. Messages of one target
    /// go together or not at all. A missing message is a success. A message with children that stay is
    /// refused. It goes when its children are also named. It goes with its whole subtree when that is asked
    /// for. A head that goes falls back to its nearest remaining ancestor. So does the head of a branch. A
    /// branch without one goes too. Sequences of removed messages are not used again. Removing messages
    /// raises the version by one more than went. Counts and bytes are of what is left. What is removed is
    /// gone from lists and previews at once. It is gone from lookups at once.
    fn remove(&self, targets: &[Target<'_>], reason: &str, at: Time) -> Result<Vec<Outcome>>;

    /// Stores, replaces or erases named blobs.
    ///
    /// Blobs are stored all or none. A blob of the same name is replaced. A blob without bytes is erased.
    /// What a turn stored and was erased stays erased when a later turn erases another. Erasing what is not
    /// there succeeds. A blob owned by an unknown conversation is not found. With [`Safety::Synced`] a blob
    /// survives a crash, with [`Safety::Unsynced`] the end of the process.
    fn put(&self, blobs: &[Put<'_>], safety: Safety) -> Result<()>;

    /// Does background work for about `budget` and returns whether any is left.
    ///
    /// Nothing a reader can see changes. Repeating it until nothing is left ends, whatever the
    /// budget. A sound store has no faults.
    fn maintain(&self, task: Task, budget: Duration) -> Result<Progress>;
}
