//! The vault: a store around another, which sees hashed names, sealed bytes, sizes and order, and nothing else.
//!
//! docs/vault-format.md has every byte. Everything is sealed with a key of its conversation, and bound to its place, so that
//! a record that was changed, moved or swapped does not open. Then it is copied to quarantine, and whoever asked for it is
//! told; the rest stays readable.

mod ahead;
mod amend;
mod anew;
mod append;
mod blob;
mod changes;
mod check;
mod data_key;
mod envelope;
mod failed;
mod find;
mod grown;
mod held;
mod index;
mod key;
mod lost;
mod message;
mod named;
mod names;
mod preview;
mod quarantine;
mod read;
mod rewrite;
mod row;
mod rows;
mod scan;
mod search;
mod segments;
mod shard;
pub(crate) mod slots;
mod spread;
mod stone;
mod text;
mod unlock;
#[cfg(test)]
mod vectors;
mod workspace;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use key::{Key, KeyId};
pub use unlock::Unlock;
pub use workspace::Workspace;

use crate::error::{Error, Result};
use crate::model::{ConversationId, Time};
use crate::store::vault::data_key::DataKey;
use crate::store::vault::grown::Growth;
use crate::store::vault::held::{DATA, Held, blob};
use crate::store::vault::index::Backlog;
use crate::store::vault::rows::Rows;
use crate::store::vault::slots::Keys;
use crate::store::{
    Appended, Capabilities, Change, Changed, Found, Hit, ListQuery, Named, Outcome, Page, Progress, Put,
    Read, Row, Safety, SearchQuery, Selection, Space, Stamp, Store, TOKEN_KEY, Target, Task, Turn, Version,
    Visit, VisitBlob,
};

/// Keeps conversations in another store, sealed.
pub struct VaultStore {
    inner: Arc<dyn Store>,
    held: Held,
    rows: Mutex<Rows>,
    /// Held by whoever brings the list of all conversations up to date.
    refreshing: Mutex<()>,
    /// The newest sequence that was seen of each conversation, by inner name.
    newest: Mutex<HashMap<ConversationId, u32>>,
    /// How this handle left the conversations it appended to.
    growth: Mutex<Growth>,
    /// What a check has still to look at; none between checks.
    checking: Mutex<Option<Vec<ConversationId>>>,
    /// How many records were found that do not open.
    quarantined: AtomicU32,
    /// What the search index has still to take in.
    backlog: Mutex<Backlog>,
    /// What replaces keys; none where somebody else looks after them.
    keys: Option<Keys>,
}

impl VaultStore {
    /// Opens the vault in a store.
    pub fn open(inner: Arc<dyn Store>, unlock: Arc<dyn Unlock>) -> Result<Self> {
        let held = Held::unlock(Arc::clone(&inner), unlock)?;
        if blob(inner.as_ref(), None, DATA)?.is_none() {
            return Err(Error::corrupt("the vault has no key for what belongs to no conversation"));
        }
        Ok(Self {
            inner,
            held,
            rows: Mutex::default(),
            refreshing: Mutex::default(),
            newest: Mutex::default(),
            growth: Mutex::default(),
            checking: Mutex::default(),
            quarantined: AtomicU32::new(0),
            backlog: Mutex::default(),
            keys: None,
        })
    }

    /// The same, which can replace its keys: those that are given are of the same store.
    #[must_use]
    pub fn with_keys(mut self, keys: Keys) -> Self {
        self.held.wait_with(keys.clone());
        self.keys = Some(keys);
        self
    }

    /// Makes a vault of an empty store: stores the key of what belongs to no conversation, wrapped with this workspace's.
    ///
    /// The keys of the workspace itself are not stored by this.
    pub fn found(inner: &dyn Store, workspace: &Workspace) -> Result<()> {
        let wrapped = workspace.wrap(&DataKey::random(), None);
        inner
            .put(&[Put { space: Space::Key, owner: None, name: DATA, bytes: Some(&wrapped) }], Safety::Synced)
    }

    fn newest(&self) -> MutexGuard<'_, HashMap<ConversationId, u32>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for VaultStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VaultStore").field("workspace", &self.held.workspace()).finish_non_exhaustive()
    }
}

impl Read for VaultStore {
    fn capabilities(&self) -> Capabilities {
        let renews_keys = self.keys.is_some();
        Capabilities {
            ranks: false,
            is_sealed: true,
            renews_keys,
            reads_past_damage: true,
            ..self.inner.capabilities()
        }
    }

    fn read(&self, id: ConversationId, what: Selection<'_>, visit: &mut Visit<'_>) -> Result<()> {
        self.read_opened(id, what, visit)
    }

    fn list(&self, query: &ListQuery<'_>) -> Result<Page<Row>> {
        self.list_opened(query)
    }

    fn find(&self, text: &str, limit: usize) -> Result<Vec<Found>> {
        self.find_opened(text, limit)
    }

    fn search(&self, query: &SearchQuery<'_>) -> Result<Page<Hit>> {
        self.search_opened(query)
    }

    fn changes(&self, after: Stamp, wait: Duration) -> Result<Vec<Changed>> {
        self.changes_opened(after, wait)
    }

    fn get(
        &self,
        space: Space,
        owner: Option<ConversationId>,
        named: Named<'_>,
        visit: &mut VisitBlob<'_>,
    ) -> Result<()> {
        if space == Space::Key && owner.is_none() && named == Named::One(TOKEN_KEY) {
            return visit(TOKEN_KEY, self.held.workspace().token_key().expose());
        }
        self.get_opened(space, owner, named, visit)
    }
}

impl Store for VaultStore {
    fn append(&self, turn: &Turn<'_>) -> Result<Appended> {
        self.append_sealed(turn)
    }

    fn amend(
        &self,
        id: ConversationId,
        expected: Option<Version>,
        change: &Change<'_>,
        at: Time,
    ) -> Result<Version> {
        self.amend_sealed(id, expected, change, at)
    }

    fn remove(&self, targets: &[Target<'_>], reason: &str, at: Time) -> Result<Vec<Outcome>> {
        self.remove_sealed(targets, reason, at)
    }

    fn put(&self, blobs: &[Put<'_>], safety: Safety) -> Result<()> {
        let staying = self.erase_lost(blobs)?;
        if staying.is_empty() {
            return self.put_sealed(blobs, safety);
        }
        // A copy stays as long as its original does.
        let other = blobs.iter().enumerate().filter(|(place, _)| !staying.contains(place));
        self.put_sealed(&other.map(|(_, blob)| *blob).collect::<Vec<_>>(), safety)
    }

    fn maintain(&self, task: Task, budget: Duration) -> Result<Progress> {
        self.maintain_opened(task, budget)
    }
}
