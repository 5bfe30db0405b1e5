//! A vault that keeps its anchor up to date, and tells what was put back as it once was when it is checked.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::error::Result;
use crate::model::{ConversationId, Time};
use crate::store::backend::Backend;
use crate::store::{
    Appended, BlobNames, Capabilities, Change, Changed, Fault, Found, Hit, ListQuery, Outcome, Page,
    Progress, Put, Read, Row, Safety, SearchQuery, Selection, Space, Stamp, Store, Target, Task, Turn,
    Version, Visit, VisitBlob,
};
use crate::vault::{AnchorFile, Quarantined, VaultAdmin};

/// How many changes of one process an anchor may lag behind.
const EVERY: u64 = 64;

/// A vault that writes its anchor when it is closed, and every so many changes.
pub(crate) struct Anchored<S> {
    store: S,
    inner: Arc<dyn Backend>,
    anchor: AnchorFile,
    /// Changes that this handle made.
    changes: AtomicU64,
}

impl<S: Store> Anchored<S> {
    /// Watches over the vault `store` whose backend is `inner`.
    pub(crate) fn new(store: S, inner: Arc<dyn Backend>, anchor: AnchorFile) -> Self {
        Self { store, inner, anchor, changes: AtomicU64::new(0) }
    }

    /// The same, which writes its anchor when it is closed even if nothing is changed: keys were replaced.
    #[must_use]
    pub(crate) fn after_new_keys(mut self) -> Self {
        *self.changes.get_mut() += 1;
        self
    }

    fn noted<T>(&self, outcome: Result<T>) -> Result<T> {
        if outcome.is_ok() && self.changes.fetch_add(1, Ordering::Relaxed) % EVERY == EVERY - 1 {
            self.write_anchor();
        }
        outcome
    }

    /// What was put back as it once was.
    fn replayed(&self) -> Result<Vec<Fault>> {
        let fault = |inner: ConversationId| Fault {
            conversation: None,
            what: format!(
                "`{inner}` is not what it was when the vault was last used, and no change of it was noted"
            ),
        };
        Ok(self.anchor.differing(self.inner.as_ref())?.into_iter().map(fault).collect())
    }

    /// What was stored is stored, whether or not the anchor can be written: it only lags further behind.
    fn write_anchor(&self) {
        if let Err(error) = self.anchor.write(self.inner.as_ref()) {
            tracing::warn!(%error, "the anchor was not written");
        }
    }
}

impl<S> fmt::Debug for Anchored<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Anchored").field("anchor", &self.anchor).finish_non_exhaustive()
    }
}

impl<S> Drop for Anchored<S> {
    fn drop(&mut self) {
        if *self.changes.get_mut() > 0
            && let Err(error) = self.anchor.write(self.inner.as_ref())
        {
            tracing::warn!(%error, "the anchor was not written");
        }
    }
}

impl<S: Store> Read for Anchored<S> {
    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    fn read(&self, id: ConversationId, what: Selection<'_>, visit: &mut Visit<'_>) -> Result<()> {
        self.store.read(id, what, visit)
    }

    fn list(&self, query: &ListQuery<'_>) -> Result<Page<Row>> {
        self.store.list(query)
    }

    fn find(&self, text: &str, limit: usize) -> Result<Vec<Found>> {
        self.store.find(text, limit)
    }

    fn search(&self, query: &SearchQuery<'_>) -> Result<Page<Hit>> {
        self.store.search(query)
    }

    fn changes(&self, after: Stamp, wait: Duration) -> Result<Vec<Changed>> {
        self.store.changes(after, wait)
    }

    fn get(
        &self,
        space: Space,
        owner: Option<ConversationId>,
        named: BlobNames<'_>,
        visit: &mut VisitBlob<'_>,
    ) -> Result<()> {
        self.store.get(space, owner, named, visit)
    }
}

impl<S: Store> Store for Anchored<S> {
    fn append(&self, turn: &Turn<'_>) -> Result<Appended> {
        self.noted(self.store.append(turn))
    }

    fn append_all(&self, turns: &[Turn<'_>]) -> Result<Vec<Appended>> {
        self.noted(self.store.append_all(turns))
    }

    fn amend(
        &self,
        id: ConversationId,
        expected: Option<Version>,
        change: &Change<'_>,
        at: Time,
    ) -> Result<Version> {
        self.noted(self.store.amend(id, expected, change, at))
    }

    fn remove(&self, targets: &[Target<'_>], reason: &str, at: Time) -> Result<Vec<Outcome>> {
        self.noted(self.store.remove(targets, reason, at))
    }

    fn put(&self, blobs: &[Put<'_>], safety: Safety) -> Result<()> {
        self.store.put(blobs, safety)
    }

    fn maintain(&self, task: Task, budget: Duration) -> Result<Progress> {
        let mut progress = self.store.maintain(task, budget);
        if task == Task::Check
            && let Ok(progress) = &mut progress
            && progress.left == 0
        {
            progress.faults.extend(self.replayed()?);
        }
        progress
    }
}

impl<S: Store + VaultAdmin> VaultAdmin for Anchored<S> {
    fn token_key(&self) -> [u8; 32] {
        self.store.token_key()
    }

    fn replaces_keys(&self) -> bool {
        self.store.replaces_keys()
    }

    fn replace_keys(&self, patience: Duration) -> Result<Vec<String>> {
        self.noted(self.store.replace_keys(patience))
    }

    fn replace_key_of(&self, id: ConversationId, patience: Duration) -> Result<()> {
        self.noted(self.store.replace_key_of(id, patience))
    }

    fn quarantined(&self) -> Result<Vec<Quarantined>> {
        self.store.quarantined()
    }

    fn discard(&self, records: &[Quarantined]) -> Result<()> {
        self.noted(self.store.discard(records))
    }
}
