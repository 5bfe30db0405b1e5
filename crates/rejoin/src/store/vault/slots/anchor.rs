//! The anchor: what was known of the store when it was last closed, kept outside of it, so that an older copy of the whole
//! store in its place is noticed.
//!
//! It may lag behind the store and is never ahead of it: it is written after the changes that it speaks of.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::model::{ConversationId, Time};
use crate::store::durable::{self, Existing};
use crate::store::newest_stamp;
use crate::store::vault::Workspace;
use crate::store::vault::key::Hasher;
use crate::store::vault::slots::VaultId;
use crate::store::vault::slots::record::Record;
use crate::store::vault::slots::text::Base64;
use crate::store::{
    Appended, Capabilities, Change, Changed, Found, Hit, ListQuery, Named, Outcome, Page, Progress, Put,
    Read, Row, Safety, SearchQuery, Selection, Space, Stamp, Store, Target, Task, Turn, Version, Visit,
    VisitBlob,
};

const TAG: &str = "rejoin/vault/anchor/1\n";

/// An anchor is a few hundred bytes.
const LONGEST: u64 = 4_096;

/// The root costs a look at every conversation, so that of a larger store is left out.
const MOST: usize = 1_000;

/// How many changes of one process an anchor may lag behind.
const EVERY: u64 = 64;

/// What is written, without what vouches for it.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
struct Known {
    version: u32,
    vault: VaultId,
    epoch: u64,
    stamp: Stamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    root: Option<Base64>,
}

/// Keeps the anchor of a vault in a directory outside of the store.
pub struct AnchorPlace {
    path: PathBuf,
    vault: VaultId,
    hasher: Hasher,
}

impl AnchorPlace {
    /// The anchor of a vault, in a directory that is made when it is first written.
    pub fn new(directory: impl Into<PathBuf>, workspace: &Workspace) -> Self {
        let vault = VaultId::of(workspace.vault());
        let path = path_in(&directory.into(), vault);
        Self { path, vault, hasher: workspace.anchor_key().hasher() }
    }

    /// Refuses a store that is older than what was known of it, or another at the same age.
    pub fn check(&self, inner: &dyn Store) -> Result<()> {
        let Some(known) = self.read()? else { return Ok(()) };
        let epoch = Record::read(inner)?.map_or(0, |(record, _)| record.epoch);
        let rolled_back = |what: String| {
            Error::conflict(format!("the store is older than it was when it was last used: {what}"))
        };
        if epoch < known.epoch {
            return Err(rolled_back(format!("its keys are of epoch `{epoch}`, not `{}`", known.epoch)));
        }
        let before = known.stamp.saturating_sub(1);
        let newer = inner.changes(before, Duration::ZERO)?;
        if known.stamp > 0 && newer.is_empty() {
            return Err(rolled_back(format!("change `{}` is missing", known.stamp)));
        }
        let is_same_moment = newer.last().is_none_or(|last| last.stamp == known.stamp);
        let Some(root) = known.root.filter(|_| is_same_moment) else { return Ok(()) };
        match self.root(inner)? {
            Some(found) if found.as_slice() != root.0 => Err(Error::conflict(
                "the store is not what it was when it was last used, and no change of it was noted",
            )),
            _ => Ok(()),
        }
    }

    /// False when keys were replaced since the anchor was written, or there is none.
    pub fn knows_keys(&self, inner: &dyn Store) -> Result<bool> {
        let epoch = Record::read(inner)?.map(|(record, _)| record.epoch);
        Ok(self.read()?.is_some_and(|known| Some(known.epoch) == epoch))
    }

    /// Forgets the anchor of a vault that is gone.
    pub(crate) fn forget_of(directory: &Path, vault: VaultId) -> Result<()> {
        forget(&path_in(directory, vault))
    }

    /// Writes down what is known of the store.
    pub fn write(&self, inner: &dyn Store) -> Result<()> {
        // A damaged anchor is for a person to look at, not to be written over.
        let known = self.read()?.map_or(0, |known| known.stamp);
        let stamp = newest_stamp(inner, known)?;
        let root = self.root(inner)?;
        let is_settled = newest_stamp(inner, stamp)? == stamp;
        let known = Known {
            version: 1,
            vault: self.vault,
            epoch: Record::read(inner)?.map_or(0, |(record, _)| record.epoch),
            stamp,
            root: root.filter(|_| is_settled).map(|root| Base64(root.to_vec())),
        };
        let text = self.text(&known);
        let written = durable::create_private_directory(&self.path)
            .and_then(|()| durable::draft(&self.path))
            .and_then(|draft| durable::write_at(draft.as_file(), 0, text.as_bytes()).map(|()| draft))
            .and_then(|draft| durable::publish(draft, &self.path, Existing::Replace));
        written.map_err(|cause| {
            Error::new(ErrorKind::Unavailable, format!("write `{}`", self.path.display())).because(cause)
        })
    }

    /// Forgets what was known: the store is taken as it is from now on.
    pub fn forget(&self) -> Result<()> {
        forget(&self.path)
    }

    fn read(&self) -> Result<Option<Known>> {
        let bytes = match durable::read_small(&self.path, LONGEST) {
            Ok(bytes) => bytes,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(cause) => {
                let attempt = format!("read `{}`", self.path.display());
                return Err(Error::new(ErrorKind::Unavailable, attempt).because(cause));
            }
        };
        let known = serde_json::from_slice::<Known>(&bytes).ok();
        match known.filter(|known| self.text(known).as_bytes() == bytes && known.vault == self.vault) {
            Some(known) => Ok(Some(known)),
            None => Err(Error::conflict(format!(
                "the anchor `{}` was changed, so nobody knows whether the store is an older copy",
                self.path.display()
            ))),
        }
    }

    /// The bytes of an anchor. They are compared whole, so nothing in them can be changed.
    fn text(&self, known: &Known) -> String {
        let body = serde_json::to_string(known).expect("it is plain data");
        let mac = STANDARD_NO_PAD.encode(self.hasher.hash(&[TAG.as_bytes(), body.as_bytes()]));
        format!("{},\"mac\":\"{mac}\"}}\n", &body[..body.len() - 1])
    }

    /// The sum over all conversations; none when there are too many to look at each time.
    fn root(&self, inner: &dyn Store) -> Result<Option<[u8; 32]>> {
        let page = inner.list(&ListQuery { limit: MOST + 1, ..ListQuery::default() })?;
        if page.items.len() > MOST {
            return Ok(None);
        }
        Ok(Some(page.items.iter().fold([0; 32], |sum, row| add(sum, self.hash(row)))))
    }

    fn hash(&self, row: &Row) -> [u8; 32] {
        let link = row.head.as_ref().map_or([0; 32], |head| *head.digest.as_bytes());
        let (version, messages) = (row.version.to_be_bytes(), row.messages.to_be_bytes());
        self.hasher.hash(&[row.id.as_bytes(), &version, &messages, &link])
    }
}

impl fmt::Debug for AnchorPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnchorPlace").field("path", &self.path).finish_non_exhaustive()
    }
}

fn path_in(directory: &Path, vault: VaultId) -> PathBuf {
    directory.join(format!("{vault}.anchor"))
}

fn forget(path: &Path) -> Result<()> {
    match durable::remove(path).and_then(|()| durable::sync_parent(path)) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
            Err(Error::new(ErrorKind::Unavailable, format!("remove `{}`", path.display())).because(cause))
        }
        _ => Ok(()),
    }
}

/// The sum of two numbers of 256 bits, without what is beyond.
fn add(left: [u8; 32], right: [u8; 32]) -> [u8; 32] {
    let (mut sum, mut carry) = ([0; 32], 0);
    for place in (0..32).rev() {
        let digit = u16::from(left[place]) + u16::from(right[place]) + carry;
        (sum[place], carry) = (digit as u8, digit >> 8);
    }
    sum
}

/// A vault that writes its anchor when it is closed, and every so many changes.
pub struct Anchored<S> {
    store: S,
    inner: Arc<dyn Store>,
    anchor: AnchorPlace,
    /// Changes that this handle made.
    changes: AtomicU64,
}

impl<S: Store> Anchored<S> {
    /// Watches over the vault `store` whose inner store is `inner`.
    pub fn new(store: S, inner: Arc<dyn Store>, anchor: AnchorPlace) -> Self {
        Self { store, inner, anchor, changes: AtomicU64::new(0) }
    }

    /// The same, which writes its anchor when it is closed even if nothing is changed: keys were replaced.
    #[must_use]
    pub fn after_new_keys(mut self) -> Self {
        *self.changes.get_mut() += 1;
        self
    }

    fn noted<T>(&self, outcome: Result<T>) -> Result<T> {
        if outcome.is_ok() && self.changes.fetch_add(1, Ordering::Relaxed) % EVERY == EVERY - 1 {
            self.write_anchor();
        }
        outcome
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
        named: Named<'_>,
        visit: &mut VisitBlob<'_>,
    ) -> Result<()> {
        self.store.get(space, owner, named, visit)
    }
}

impl<S: Store> Store for Anchored<S> {
    fn append(&self, turn: &Turn<'_>) -> Result<Appended> {
        self.noted(self.store.append(turn))
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
        let progress = self.store.maintain(task, budget);
        if task == Task::Renew { self.noted(progress) } else { progress }
    }
}
