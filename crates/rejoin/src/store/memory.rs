//! The memory backend: rows that end with the process, for tests and incognito chats.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::error::Result;
use crate::model::{ConversationId, Digest, MessageId, Time};
use crate::store::backend::{
    Append, Backend, Batch, CommitHint, ConversationRow, Decide, DecideEach, Edit, Node, Presence, Rows,
    State, Trim, VisitMessage, Which, one_by_one, taken,
};
use crate::store::tree::ConversationTree;
use crate::store::{
    BlobKey, BlobNames, Capabilities, Changed, Found, Hit, Keeper, ListQuery, Page, Progress, Put, Safety,
    SearchQuery, Space, Stamp, Task, VisitBlob,
};

/// Keeps conversations in memory. A clone is another handle on the same memory.
pub type MemoryStore = Keeper<Memory>;

/// Stores rows in memory. A clone is another handle on the same memory.
#[derive(Clone, Default)]
pub struct Memory {
    shared: Arc<SharedMemory>,
}

#[derive(Default)]
struct SharedMemory {
    /// Whoever reads holds the snapshot that it reads.
    tables: Mutex<Arc<Tables>>,
    /// Held by whoever commits, who reads like anybody else until there is something to store.
    writing: Mutex<()>,
    changed: Condvar,
}

#[derive(Clone, Default)]
struct Tables {
    conversations: BTreeMap<ConversationId, Arc<ConversationTree<Arc<[u8]>>>>,
    blobs: BTreeMap<BlobKey, Arc<[u8]>>,
    log: Vec<Changed>,
}

impl Keeper<Memory> {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Default for Keeper<Memory> {
    fn default() -> Self {
        Self::over(Memory::default())
    }
}

impl Memory {
    fn tables(&self) -> MutexGuard<'_, Arc<Tables>> {
        // What a panicking caller leaves behind is what was there before its commit.
        self.shared.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("conversations", &self.tables().conversations.len()).finish()
    }
}

impl Backend for Memory {
    fn capabilities(&self) -> Capabilities {
        Capabilities::NONE
    }

    fn snapshot(&self, work: &mut dyn FnMut(&dyn Rows) -> Result<()>) -> Result<()> {
        let snapshot = Arc::clone(&self.tables());
        work(&*snapshot)
    }

    fn commit<'a>(&self, _: &CommitHint<'_>, _: Safety, decide: &mut Decide<'_, 'a>) -> Result<()> {
        let _writing = self.shared.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let snapshot = Arc::clone(&self.tables());
        let batch = decide(&*snapshot)?;
        if let Edit::Append(append) = &batch.edit {
            snapshot.refuse_taken_ids(append)?;
        }
        // Nobody else has this snapshot, unless somebody reads it.
        drop(snapshot);
        Arc::make_mut(&mut self.tables()).apply(batch);
        self.shared.changed.notify_all();
        Ok(())
    }

    fn commit_each<'a>(
        &self,
        hints: &[CommitHint<'_>],
        safety: Safety,
        decide: &mut DecideEach<'_, 'a>,
    ) -> Result<()> {
        one_by_one(self, hints, safety, decide)
    }

    fn erasing(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        work()
    }

    fn make_room(&self, _: ConversationId, _: &mut Trim<'_>) -> Result<()> {
        Ok(())
    }

    fn blob(&self, space: Space, owner: Option<ConversationId>, name: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.tables().blobs.get(&(space, owner, name.to_vec())).map(|bytes| bytes.to_vec()))
    }

    fn changes(&self, after: Stamp, wait: Duration) -> Result<Vec<Changed>> {
        let seen = usize::try_from(after).unwrap_or(usize::MAX);
        let waited =
            self.shared.changed.wait_timeout_while(self.tables(), wait, |tables| tables.log.len() <= seen);
        let (tables, _) = waited.unwrap_or_else(PoisonError::into_inner);
        Ok(tables.log.get(seen..).map(<[_]>::to_vec).unwrap_or_default())
    }

    fn upkeep(&self, _: Task, _: Duration) -> Result<Progress> {
        Ok(Progress::default())
    }

    fn list_indexed(&self, _: &ListQuery<'_>) -> Result<Option<Page<ConversationRow>>> {
        Ok(None)
    }

    fn search_indexed(&self, _: &SearchQuery<'_>) -> Result<Option<Page<Hit>>> {
        Ok(None)
    }

    fn find_indexed(&self, _: &str, _: usize) -> Result<Option<Vec<Found>>> {
        Ok(None)
    }
}

impl Tables {
    fn refuse_taken_ids(&self, append: &Append<'_>) -> Result<()> {
        let Some(tree) = self.conversations.get(&append.conversation) else { return Ok(()) };
        match append.messages.iter().find(|message| tree.seq_of(message.id).is_some()) {
            Some(message) => Err(taken(message.id)),
            None => Ok(()),
        }
    }

    fn apply(&mut self, batch: Batch<'_>) {
        if let Some(id) = batch.edit.conversation() {
            match &batch.edit {
                Edit::Delete(_) => {
                    self.conversations.remove(&id);
                    self.blobs.retain(|(_, owner, _), _| *owner != Some(id));
                }
                Edit::Append(Append { opening: Some(opening), active, .. }) => {
                    self.conversations.insert(id, Arc::new(ConversationTree::new(opening, *active)));
                }
                _ => {}
            }
            if let Some(tree) = self.conversations.get_mut(&id).map(Arc::make_mut) {
                tree.apply(&batch.edit);
            }
        }
        self.put(&batch.blobs);
        if let Some(entry) = batch.change {
            let stamp = self.log.len() as Stamp + 1;
            let (at, conversation, what) = (entry.at, entry.conversation, entry.what);
            self.log.push(Changed { stamp, at, conversation, what });
        }
    }

    fn put(&mut self, blobs: &[Put<'_>]) {
        for blob in blobs {
            let key = (blob.space, blob.owner, blob.name.to_vec());
            match blob.bytes {
                Some(bytes) => self.blobs.insert(key, bytes.into()),
                None => self.blobs.remove(&key),
            };
        }
    }
}

impl Rows for Tables {
    fn has(&self, id: ConversationId) -> Result<bool> {
        Ok(self.conversations.contains_key(&id))
    }

    fn state(&self, id: ConversationId) -> Result<Presence> {
        Ok(match self.conversations.get(&id) {
            Some(tree) => Presence::Stored(tree.state()),
            None => Presence::Absent,
        })
    }

    fn active(&self, _: ConversationId, state: &State) -> Result<Time> {
        Ok(state.active)
    }

    fn node(&self, id: ConversationId, message: MessageId) -> Result<Option<Node>> {
        let Some(tree) = self.conversations.get(&id) else { return Ok(None) };
        Ok(tree.node_of(message).copied())
    }

    fn vouches(&self, node: &Node, link: Digest) -> bool {
        node.link == link
    }

    fn nodes(&self, id: ConversationId, visit: &mut dyn FnMut(&Node) -> Result<()>) -> Result<()> {
        let Some(tree) = self.conversations.get(&id) else { return Ok(()) };
        tree.nodes().try_for_each(visit)
    }

    fn messages(&self, id: ConversationId, which: Which<'_>, visit: &mut VisitMessage<'_>) -> Result<()> {
        let Some(tree) = self.conversations.get(&id) else { return Ok(()) };
        tree.visit(which, visit)
    }

    fn conversation(&self, id: ConversationId) -> Result<Option<ConversationRow>> {
        Ok(self.conversations.get(&id).map(|tree| tree.row(id)))
    }

    fn conversations(&self, visit: &mut dyn FnMut(ConversationRow) -> Result<()>) -> Result<()> {
        self.conversations.iter().try_for_each(|(id, tree)| visit(tree.row(*id)))
    }

    fn blobs(
        &self,
        space: Space,
        owner: Option<ConversationId>,
        named: BlobNames<'_>,
        visit: &mut VisitBlob<'_>,
    ) -> Result<()> {
        self.blobs
            .range((space, owner, named.start().to_vec())..)
            .take_while(|((own_space, own_owner, name), _)| {
                *own_space == space && *own_owner == owner && named.admit(name)
            })
            .try_for_each(|((_, _, name), bytes)| visit(name, bytes))
    }
}
