//! The backend of a vault. It wraps another backend, which sees hashed names, encrypted bytes, sizes,
//! and the shape and numbers of each tree.
//!
//! docs/vault-format.md defines every byte. Each record is encrypted with a key of its conversation and bound
//! to its place, so that one that was changed, moved or swapped does not decrypt. It is then copied to
//! quarantine and named in the error; the rest stays readable. As for every backend, the keeper decides.
//! Unlocking a vault and replacing its keys is not here but in `vault`.
//!
//! - `keys`: keys, envelopes and hashed names
//! - `records`: the layout of each kind of record
//! - `search`: the word index
//! - the files here: commits, reads, lists, changes and checks, in terms of these

pub(crate) mod batch;
pub(crate) mod changes;
mod check;
mod commit;
mod current;
mod decrypt_pipeline;
pub(crate) mod failed;
mod find;
pub(crate) mod keys;
pub(crate) mod quarantine;
pub(crate) mod records;
mod row_cache;
mod rows;
mod scan;
pub(crate) mod search;

use std::fmt;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) use keys::key::{KeyId, SealingKey};
pub use keys::unlock::Unlock;
pub use keys::workspace::Workspace;

use crate::error::{Error, Result};
use crate::model::ConversationId;
use crate::store::backend::{Backend, CommitHint, ConversationRow, Decide, DecideEach, Trim};
use crate::store::sealed::keys::data_key::DataKey;
use crate::store::sealed::keys::key_cache::{DATA, KeyCache, blob};
use crate::store::sealed::quarantine::BrokenRecord;
use crate::store::sealed::records::trailer_cache::TrailerCache;
use crate::store::sealed::row_cache::RowCache;
use crate::store::sealed::rows::SealedRows;
use crate::store::sealed::search::fill::Backlog;
use crate::store::{
    Capabilities, Changed, Found, Hit, Keeper, ListQuery, Page, Progress, Put, Safety, SearchQuery, Space,
    Stamp, Store, Task, backend,
};

/// Where it stores wrapped keys, and what goes with them.
pub(crate) const KEYS: Space = Space::Companion;

/// Where it stores the segments of its search index.
pub(crate) const SEGMENTS: Space = Space::Derived;

/// Where it stores copies of records that do not decrypt.
pub(crate) const QUARANTINE: Space = Space::Copy;

/// Stores conversations in a backend, encrypted.
pub type VaultStore = Keeper<Sealed>;

/// Encrypts rows, and stores them in another backend.
pub struct Sealed {
    pub(crate) backend: Arc<dyn Backend>,
    /// What the backend holds, as a store: hashed names and encrypted bytes.
    pub(crate) inner: Arc<dyn Store>,
    pub(crate) key_cache: KeyCache,
    row_cache: Mutex<RowCache>,
    /// Held by whoever brings the list of all conversations up to date.
    refreshing: Mutex<()>,
    /// Trailers of the conversations that this handle appended to.
    trailers: Mutex<TrailerCache>,
    /// What a check has still to look at; none between checks.
    checking: Mutex<Option<Vec<ConversationId>>>,
    /// How many records were found that do not open.
    quarantined: AtomicU32,
    /// Records that do not open, and are not copied yet: nothing can be written while a snapshot is read.
    lost: Mutex<Vec<BrokenRecord>>,
    /// What the search index has still to take in.
    backlog: Mutex<Backlog>,
    /// What replaces keys; none where somebody else looks after them.
    pub(crate) keys: Option<Box<dyn ReplaceKeys>>,
}

/// Replaces the keys of a vault. Who does it is above the store.
pub(crate) trait ReplaceKeys: Send + Sync {
    /// Replaces the keys of a workspace, and says what kept its key or secret.
    fn replace(&self, vault: &Sealed, patience: Duration) -> Result<Vec<String>>;

    /// Encrypts a conversation, which is named by its inner name, with a new key.
    fn replace_of(&self, vault: &Sealed, inner: ConversationId, patience: Duration) -> Result<()>;
}

impl VaultStore {
    /// Opens the vault in a backend.
    pub fn open(backend: Arc<dyn Backend>, unlock: Arc<dyn Unlock>) -> Result<Self> {
        Sealed::open(backend, unlock).map(Self::over)
    }

    /// Makes a vault of an empty store: stores the key of what belongs to no
    /// conversation, wrapped with this workspace's.
    ///
    /// The keys of the workspace itself are not stored by this.
    pub fn found(inner: &dyn Store, workspace: &Workspace) -> Result<()> {
        let wrapped = workspace.wrap(&DataKey::random(), None);
        inner.put(&[Put { space: KEYS, owner: None, name: DATA, bytes: Some(&wrapped) }], Safety::Synced)
    }
}

impl Sealed {
    pub(crate) fn open(backend: Arc<dyn Backend>, unlock: Arc<dyn Unlock>) -> Result<Self> {
        let inner: Arc<dyn Store> = Arc::new(Keeper::over(Arc::clone(&backend)));
        let key_cache = KeyCache::unlock(Arc::clone(&inner), unlock)?;
        if blob(inner.as_ref(), None, DATA)?.is_none() {
            return Err(Error::corrupt("the vault has no key for what belongs to no conversation"));
        }
        Ok(Self {
            backend,
            inner,
            key_cache,
            row_cache: Mutex::default(),
            refreshing: Mutex::default(),
            trailers: Mutex::default(),
            checking: Mutex::default(),
            quarantined: AtomicU32::new(0),
            lost: Mutex::default(),
            backlog: Mutex::default(),
            keys: None,
        })
    }

    /// Passes an answer on, once what was found not to open is copied to quarantine.
    pub(crate) fn settled<T>(&self, answer: T) -> T {
        self.settle_lost();
        answer
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealed").field("workspace", &self.key_cache.workspace()).finish_non_exhaustive()
    }
}

impl Backend for Sealed {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            ranks: false,
            is_sealed: true,
            reads_past_damage: true,
            stores_bytes: false,
            ..self.backend.capabilities()
        }
    }

    fn snapshot(&self, work: &mut dyn FnMut(&dyn backend::Rows) -> Result<()>) -> Result<()> {
        let answer = self.backend.snapshot(&mut |rows| work(&SealedRows::new(self, rows)));
        self.settled(answer)
    }

    fn commit<'a>(&self, hint: &CommitHint<'_>, safety: Safety, decide: &mut Decide<'_, 'a>) -> Result<()> {
        let answer = self.commit_sealed(hint, safety, decide);
        self.settled(answer)
    }

    fn commit_each<'a>(
        &self,
        hints: &[CommitHint<'_>],
        safety: Safety,
        decide: &mut DecideEach<'_, 'a>,
    ) -> Result<()> {
        let answer = self.commit_each_sealed(hints, safety, decide);
        self.settled(answer)
    }

    fn erasing(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        self.backend.erasing(work)
    }

    fn make_room(&self, id: ConversationId, trim: &mut Trim<'_>) -> Result<()> {
        let inner = self.inner_name(id);
        self.backend.make_room(inner, &mut |ids| trim(&self.outer_messages(inner, ids)?))
    }

    fn blob(&self, space: Space, owner: Option<ConversationId>, name: &[u8]) -> Result<Option<Vec<u8>>> {
        let answer = self.blob_opened(space, owner, name);
        self.settled(answer)
    }

    fn changes(&self, after: Stamp, wait: Duration) -> Result<Vec<Changed>> {
        let answer = self.changes_opened(after, wait);
        self.settled(answer)
    }

    fn upkeep(&self, task: Task, budget: Duration) -> Result<Progress> {
        let answer = self.maintain_opened(task, budget);
        self.settled(answer)
    }

    fn list_indexed(&self, query: &ListQuery<'_>) -> Result<Option<Page<ConversationRow>>> {
        self.settled(self.list_opened(query)).map(Some)
    }

    fn search_indexed(&self, query: &SearchQuery<'_>) -> Result<Option<Page<Hit>>> {
        self.settled(self.search_opened(query)).map(Some)
    }

    fn find_indexed(&self, text: &str, limit: usize) -> Result<Option<Vec<Found>>> {
        self.settled(self.find_opened(text, limit)).map(Some)
    }
}
