//! The store contract: where conversations are kept, and what every place that keeps them promises.
//!
//! Every sentence of a method's documentation is a rule, and every rule is a test in [`crate::testing`] that runs
//! against every store. There are no default bodies: a wrapper that forgets a method must not compile.
//!
//! Policy lives above: titles, previews, retention, ids and digests come in as arguments.

mod durable;
mod memory;
pub(crate) mod place;
mod query;
mod sqlite;
mod tip;
mod turn;

use std::time::Duration;

pub use memory::MemoryStore;
pub use query::{
    Changed, Cursor, Found, Hit, ListQuery, Order, Page, Row, SearchOrder, SearchQuery, Selection, Stamp,
    What,
};
#[cfg(test)]
pub(crate) use sqlite::Opened;
pub use sqlite::SqliteStore;
pub(crate) use sqlite::{Examination, WAIT};
pub use turn::{
    Anchor, Appended, Capabilities, Change, Children, Entry, Facets, Fault, Note, Opening, Outcome, Progress,
    Put, Safety, Seen, Space, Stale, Target, Task, Tip, Turn, Version,
};

use crate::error::Result;
use crate::model::ConversationId;

/// Called with each message that was read, in order; what it borrows is valid during the call only.
pub type Visit<'a> = dyn FnMut(Seen<'_>) -> Result<()> + 'a;

/// Called with the name and bytes of each blob that was found, in order of name.
pub type VisitBlob<'a> = dyn FnMut(&[u8], &[u8]) -> Result<()> + 'a;

/// The reading side of a store.
pub trait Read: Send + Sync {
    /// What this store can do. It is constant while the store is open.
    fn capabilities(&self) -> Capabilities;

    /// Visits messages of one conversation.
    ///
    /// A path runs from the root to its target and never includes the target's children. A path without a target
    /// ends at the head, and is empty when there is none. All messages come in order of arrival, or newest first,
    /// with an offset and a limit. Messages asked for by id come in the order asked, twice if asked twice. A missing
    /// id is not found, and nothing is visited. An unknown conversation is not found. Bodies come back byte for byte.
    /// One read sees one moment: what is appended meanwhile is not visited.
    fn read(&self, id: ConversationId, what: Selection<'_>, visit: &mut Visit<'_>) -> Result<()>;

    /// Lists conversations.
    ///
    /// The newest activity comes first, ties by id. A cursor continues after the last row of a page, and never skips
    /// or repeats a row that did not change. Filters are by project, by status, by kind and by id, and all must hold.
    /// Conversations past their expiry are left out unless asked for. A total counts all rows that match, on whatever page.
    fn list(&self, query: &ListQuery<'_>) -> Result<Page<Row>>;

    /// Finds conversations and messages by what a person may type.
    ///
    /// A conversation is found by the beginning of its id, by the beginning of its short id, and by its whole slug.
    /// A message is found by the beginning of its id. At most `limit` are returned, conversations first.
    fn find(&self, text: &str, limit: usize) -> Result<Vec<Found>>;

    /// Searches the words of messages.
    ///
    /// Every word must be in the message, the last may be a beginning. The newest message comes first, ties by
    /// conversation and sequence. Everything that was appended before the call is found. Removed messages are not
    /// found. A cursor continues where a page ended. Filters are by conversation, by project and by time.
    fn search(&self, query: &SearchQuery<'_>) -> Result<Page<Hit>>;

    /// Tells what changed after a stamp, oldest first, waiting up to `wait` for a first change.
    ///
    /// Every change is told, possibly more than once, never skipped. A removal is told with its reason. Without a
    /// change the answer is empty after the wait. A stamp taken before the store was reopened stays good.
    fn changes(&self, after: Stamp, wait: Duration) -> Result<Vec<Changed>>;

    /// Visits the blobs of a space and owner whose names begin with `prefix`, in order of name.
    ///
    /// Blobs of another space or owner are not visited.
    fn get(
        &self,
        space: Space,
        owner: Option<ConversationId>,
        prefix: &[u8],
        visit: &mut VisitBlob<'_>,
    ) -> Result<()>;
}

/// The writing side of a store.
pub trait Store: Read {
    /// Adds the messages of one turn and returns once they would survive a crash.
    ///
    /// All of them are stored or none. A turn that opens a conversation creates it, even without messages; opening
    /// one that exists is a conflict. Appending to an unknown conversation is not found. Each entry names its parent:
    /// a message of this conversation, or an earlier entry of the turn; any other is not found. A parent whose link is
    /// not the one named is a conflict. The head becomes the last entry. If a parent already has a child, the
    /// answer says forked; a second root is a fork too. With [`Stale::Refuse`] a parent that is not the head is a
    /// conflict. An id that the conversation already has is a conflict; the same ids with the same links again give
    /// the first answer as replayed and change nothing. Sequences start at one and have no gaps. Counts, bytes, tip
    /// and last activity follow, and last activity never goes back. Blobs of the turn are stored with it or not at all.
    fn append(&self, turn: &Turn<'_>) -> Result<Appended>;

    /// Changes what is known about a conversation and returns its new version.
    ///
    /// A version other than the expected one is a conflict, and nothing changes. An append does not change the
    /// version. A head or a branch must name a message of the conversation. A note replaces the label and pin of a
    /// message, and leaves its body and link alone. An unknown conversation or message is not found.
    fn amend(&self, id: ConversationId, expected: Version, change: &Change<'_>) -> Result<Version>;

    /// Removes conversations or messages, with one outcome per target in the order given.
    ///
    /// A removed conversation takes its messages, branches and blobs along. A missing conversation is an outcome, not
    /// an error. Messages of one target go together or not at all. A missing message is a success. A message with
    /// children that are not also removed is refused unless the whole subtree is asked for. A head that goes falls
    /// back to its nearest remaining ancestor; a branch without one goes too. Sequences of removed messages are not
    /// used again. What is removed is gone from lists, search and lookups at once.
    fn remove(&self, targets: &[Target<'_>], reason: &str) -> Result<Vec<Outcome>>;

    /// Stores, replaces or erases named blobs, all or none.
    ///
    /// A blob without bytes is erased; erasing what is not there succeeds. A blob owned by an unknown conversation is
    /// not found. With [`Safety::Synced`] it survives a crash on return.
    fn put(&self, blobs: &[Put<'_>], safety: Safety) -> Result<()>;

    /// Does a piece of background work for about `budget` and says whether any is left.
    ///
    /// Nothing a reader can see changes. Repeating it until it is done always ends.
    fn maintain(&self, task: Task, budget: Duration) -> Result<Progress>;
}
