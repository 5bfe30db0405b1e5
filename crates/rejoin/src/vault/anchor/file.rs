//! The anchor file: the last known state of a vault, kept outside its store to detect a rollback.
//!
//! It may lag behind the store, because it is written after the changes that it covers. It is ahead only of a
//! store whose change log was shortened by a power cut, until the next write.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::model::ConversationId;
use crate::store::backend::Backend;
use crate::store::durable::{self, Overwrite};
use crate::store::sealed::Workspace;
use crate::store::sealed::keys::key::Hasher;
use crate::store::{Keeper, Safety, Stamp, Store as _};
use crate::vault::PinFiles;
use crate::vault::anchor::locations;
use crate::vault::anchor::table::{AnchorChanges, AnchorTable, CheckExtent};
use crate::vault::slots::VaultId;
use crate::vault::slots::encoding::Base64;
use crate::vault::slots::record::KeysRecord;

const TAG: &str = "rejoin/vault/anchor/1\n";
const TABLE_TAG: &str = "rejoin/vault/rows/1\n";

/// Up to so many conversations are all looked at when the vault is opened; a larger store
/// is looked at whole when it is checked.
const MOST: usize = 1_000;

/// How many conversations of a larger store are looked at when it is opened, those that were changed last: an
/// older copy of the whole store has them as they were before, whatever it says of its changes.
const NEWEST: usize = 8;

/// Ends the name of a table, before the first digits of what vouches for it.
const TABLE: &str = "rows-";

/// The contents of the file, without the MAC.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
struct AnchorRecord {
    version: u32,
    vault: VaultId,
    epoch: u64,
    stamp: Stamp,
    /// What vouches for the table.
    rows: Base64,
}

impl AnchorRecord {
    /// Refuses a store with older keys or fewer changes.
    fn refuse_older(&self, inner: &dyn Backend) -> Result<()> {
        let epoch = KeysRecord::read(&Keeper::over(inner))?.map_or(0, |(record, _)| record.epoch);
        let rolled_back =
            |what: String| Error::conflict(format!("the store is older than at its last use: {what}"));
        if epoch < self.epoch {
            return Err(rolled_back(format!("its keys are of epoch `{epoch}`, not `{}`", self.epoch)));
        }
        let before = self.stamp.saturating_sub(1);
        let mut newer = inner.changes(before, Duration::ZERO)?;
        if self.stamp > 0 && newer.is_empty() {
            // A power cut may have taken the end of the log of changes. Whoever
            // is about to write completes it.
            Keeper::over(inner).put(&[], Safety::Synced)?;
            newer = inner.changes(before, Duration::ZERO)?;
        }
        if self.stamp > 0 && newer.is_empty() {
            return Err(rolled_back(format!("change `{}` is missing", self.stamp)));
        }
        Ok(())
    }
}

/// The anchor of a vault, a file in a directory outside the store.
pub(crate) struct AnchorFile {
    path: PathBuf,
    vault: VaultId,
    hasher: Hasher,
    /// Where the vault is used; noted with what is written.
    locations: Vec<String>,
    /// The table that was last read or written, and what vouches for it.
    table: Mutex<Option<(Vec<u8>, AnchorTable)>>,
}

impl AnchorFile {
    /// The anchor of a vault, in a directory that is made when it is first written.
    pub(crate) fn new(directory: impl Into<PathBuf>, workspace: &Workspace) -> Self {
        let vault = VaultId::of(workspace.vault());
        let path = locations::anchor_in(&directory.into(), vault);
        let hasher = workspace.anchor_key().hasher();
        Self { path, vault, hasher, locations: Vec::new(), table: Mutex::default() }
    }

    /// The same, which notes that the vault is used at the place of a pin.
    #[must_use]
    pub(crate) fn at(mut self, pin: &PinFiles) -> Self {
        self.locations = pin.locations();
        self
    }

    /// Refuses a store that is older than what was known of it, or another at the same age.
    pub(crate) fn check(&self, inner: &dyn Backend) -> Result<()> {
        let Some(known) = self.read()? else { return Ok(()) };
        known.refuse_older(inner)?;
        let Some(table) = self.table(&known) else { return Ok(()) };
        let extent = if table.len() <= MOST { CheckExtent::All } else { CheckExtent::Newest(NEWEST) };
        let differing = table.differing(inner, &self.hasher, known.stamp, extent)?;
        if differing.is_empty() { Ok(()) } else { Err(tampered()) }
    }

    /// Conversations, by inner name, that are not what they were when the anchor was written, and of which no
    /// change was noted. All of them are looked at.
    pub(crate) fn differing(&self, inner: &dyn Backend) -> Result<Vec<ConversationId>> {
        let Some(known) = self.read()? else { return Ok(Vec::new()) };
        let Some(table) = self.table(&known) else { return Ok(Vec::new()) };
        Ok(table.differing(inner, &self.hasher, known.stamp, CheckExtent::All)?.into_iter().collect())
    }

    /// False when keys were replaced since the anchor was written, or there is none.
    pub(crate) fn knows_keys(&self, inner: &dyn Backend) -> Result<bool> {
        let epoch = KeysRecord::read(&Keeper::over(inner))?.map(|(record, _)| record.epoch);
        Ok(self.read()?.is_some_and(|known| Some(known.epoch) == epoch))
    }

    /// Whether anything was ever written down of this vault here.
    pub(crate) fn is_there(&self) -> Result<bool> {
        Ok(self.read()?.is_some())
    }

    /// Refuses a store that is older than what was known of its vault, as far as the counts tell it. Nothing
    /// is opened for it, so nothing vouches for the anchor either.
    pub(crate) fn refuse_older(directory: &Path, vault: VaultId, inner: &dyn Backend) -> Result<()> {
        let Some(anchor) = locations::read(&locations::anchor_in(directory, vault))? else { return Ok(()) };
        match serde_json::from_slice::<AnchorRecord>(locations::split(&anchor).0) {
            Ok(known) => known.refuse_older(inner),
            // Whoever opens the vault tells that the anchor was changed.
            Err(_) => Ok(()),
        }
    }

    /// Notes where the vault is used, if that is not noted yet.
    pub(crate) fn ensure_located(&self) -> Result<()> {
        let Some(anchor) = locations::read(&self.path)? else { return Ok(()) };
        let (first, known) = locations::split(&anchor);
        if self.locations.iter().all(|location| known.contains(location)) {
            return Ok(());
        }
        locations::replace(&self.path, &locations::joined(first, &locations::merged(known, &self.locations)))
    }

    /// Forgets the anchor of a vault that is gone.
    pub(crate) fn forget_of(directory: &Path, vault: VaultId) -> Result<()> {
        forget(&locations::anchor_in(directory, vault))
    }

    /// Writes down what is known of the store.
    pub(crate) fn write(&self, inner: &dyn Backend) -> Result<()> {
        // A damaged anchor is for a person to look at, not to be written over.
        let before = self.read()?;
        let (changes, stamp) = AnchorChanges::after(inner, before.as_ref().map_or(0, |known| known.stamp))?;
        let table = match before.as_ref().and_then(|known| self.table(known)) {
            Some(mut table) if changes.len() <= MOST => {
                table.update(inner, &self.hasher, &changes)?;
                table
            }
            _ => AnchorTable::of(inner, &self.hasher, stamp)?,
        };
        let bytes = table.to_bytes();
        let vouched = self.hasher.hash(&[TABLE_TAG.as_bytes(), &bytes]).to_vec();
        let known = AnchorRecord {
            version: 1,
            vault: self.vault,
            epoch: KeysRecord::read(&Keeper::over(inner))?.map_or(0, |(record, _)| record.epoch),
            stamp,
            rows: Base64(vouched.clone()),
        };
        // Order: the table under a name of its own, the anchor that names it, and then the tables that
        // nothing names. A table that a power cut takes is made again.
        let own = self.table_path(&vouched);
        let known_locations = locations::read(&self.path)?.map(|anchor| locations::split(&anchor).1);
        let noted = locations::merged(known_locations.unwrap_or_default(), &self.locations);
        let anchor = locations::joined(self.text(&known).as_bytes(), &noted);
        let written = durable::create_private_directory(&self.path)
            .and_then(|()| draft(&own, &bytes))
            .and_then(|table| durable::publish_unsynced(table, &own))
            .and_then(|()| draft(&self.path, &anchor))
            .and_then(|anchor| durable::publish(anchor, &self.path, Overwrite::Replace));
        written.map_err(|cause| {
            Error::new(ErrorKind::Unavailable, format!("write `{}`", self.path.display())).because(cause)
        })?;
        self.remove_tables(Some(&own));
        *self.remembered() = Some((vouched, table));
        Ok(())
    }

    /// The table that an anchor names; none when it is gone or damaged. Then it is made again.
    fn table(&self, known: &AnchorRecord) -> Option<AnchorTable> {
        let vouched = &known.rows.0;
        if let Some((remembered, table)) = self.remembered().as_ref()
            && remembered == vouched
        {
            return Some(table.clone());
        }
        let bytes = durable::read_small(&self.table_path(vouched), u64::MAX).ok()?;
        let is_own = self.hasher.hash(&[TABLE_TAG.as_bytes(), &bytes]).as_slice() == vouched.as_slice();
        AnchorTable::from_bytes(&bytes).filter(|_| is_own)
    }

    fn remembered(&self) -> MutexGuard<'_, Option<(Vec<u8>, AnchorTable)>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn table_path(&self, vouched: &[u8]) -> PathBuf {
        let digits: String = vouched.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        self.path.with_extension(format!("{TABLE}{digits}"))
    }

    /// Removes tables of this vault but one. One that stays is removed the next time.
    fn remove_tables(&self, but: Option<&Path>) {
        for path in tables(&self.path).into_iter().filter(|path| Some(path.as_path()) != but) {
            let _ = durable::remove(&path);
        }
    }

    /// Forgets what was known: the store is taken as it is from now on.
    pub(crate) fn forget(&self) -> Result<()> {
        *self.remembered() = None;
        forget(&self.path)
    }

    fn read(&self) -> Result<Option<AnchorRecord>> {
        let Some(anchor) = locations::read(&self.path)? else { return Ok(None) };
        let (bytes, _) = locations::split(&anchor);
        let known = serde_json::from_slice::<AnchorRecord>(bytes).ok();
        match known.filter(|known| self.text(known).as_bytes() == bytes && known.vault == self.vault) {
            Some(known) => Ok(Some(known)),
            None => Err(Error::conflict(format!(
                "the anchor `{}` was changed, so the store may be an older copy",
                self.path.display()
            ))),
        }
    }

    /// The bytes of an anchor. They are compared whole, so nothing in them can be changed.
    fn text(&self, known: &AnchorRecord) -> String {
        let body = serde_json::to_string(known).expect("it is plain data");
        let mac = STANDARD_NO_PAD.encode(self.hasher.hash(&[TAG.as_bytes(), body.as_bytes()]));
        format!("{},\"mac\":\"{mac}\"}}\n", &body[..body.len() - 1])
    }
}

impl fmt::Debug for AnchorFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnchorPlace").field("path", &self.path).finish_non_exhaustive()
    }
}

/// The tables beside an anchor.
fn tables(anchor: &Path) -> Vec<PathBuf> {
    let beginning = anchor.with_extension(TABLE);
    let (Some(directory), Some(beginning)) = (anchor.parent(), beginning.file_name()) else {
        return Vec::new();
    };
    let is_table = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.as_encoded_bytes());
        name.is_some_and(|name| name.starts_with(beginning.as_encoded_bytes()))
    };
    let entries = directory.read_dir().into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(is_table).collect()
}

fn draft(path: &Path, bytes: &[u8]) -> io::Result<durable::DraftFile> {
    let draft = durable::draft(path)?;
    durable::write_at(draft.as_file(), 0, bytes)?;
    Ok(draft)
}

fn tampered() -> Error {
    Error::conflict("the store differs from its last use, and no change was recorded")
}

fn forget(path: &Path) -> Result<()> {
    // Without its anchor a table says nothing.
    for table in tables(path) {
        let _ = durable::remove(&table);
    }
    match durable::remove(path).and_then(|()| durable::sync_parent(path)) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
            Err(Error::new(ErrorKind::Unavailable, format!("remove `{}`", path.display())).because(cause))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::{Digest, MessageId, Time};
    use crate::store::{Entry, Facets, MemoryStore, Note, Opening, PreviewUpdate, Stale, Store, Task, Turn};
    use crate::vault::Anchored;

    fn id(number: u32) -> ConversationId {
        let mut bytes = [7; 16];
        bytes[12..].copy_from_slice(&number.to_be_bytes());
        ConversationId::from_bytes(bytes)
    }

    fn begin(store: &dyn Store, number: u32, header: &str) {
        let message: MessageId = "a".parse().unwrap();
        let link = Digest::chain(None, b"a");
        let entry = Entry { id: message, parent: None, link, note: Note::default(), body: "{}" };
        store
            .append(&Turn {
                conversation: id(number),
                opening: Some(Opening { facets: &Facets::default(), header, created: Time::from_micros(0) }),
                stale: Stale::Branch,
                entries: &[entry],
                previews: PreviewUpdate { first: "first", last: "last" },
                branch: None,
                active: Time::from_micros(0),
                now: Time::from_micros(0),
                blobs: &[],
            })
            .unwrap();
    }

    fn store_of(numbers: impl IntoIterator<Item = u32>) -> MemoryStore {
        let store = MemoryStore::new();
        numbers.into_iter().for_each(|number| begin(&store, number, "{}"));
        store
    }

    fn place() -> (tempfile::TempDir, AnchorFile) {
        let directory = tempfile::tempdir().unwrap();
        let anchor = AnchorFile::new(directory.path().join("anchors"), &Workspace::random());
        (directory, anchor)
    }

    fn kind_of(outcome: Result<()>) -> Option<ErrorKind> {
        outcome.err().map(|error| error.kind())
    }

    const MANY: u32 = MOST as u32 + 5;

    #[test]
    fn an_older_copy_of_a_large_store_is_noticed_whatever_it_says_of_its_changes() {
        let (_directory, anchor) = place();
        anchor.write(&store_of(0..MANY)).unwrap();
        let now = store_of((0..MANY).chain([9_000]));
        anchor.write(&now).unwrap();
        // As old as the anchor says, by a change that never was.
        let forged = store_of((0..MANY).chain([9_001]));

        assert_eq!(
            [&now, &forged].map(|store| kind_of(anchor.check(store))),
            [None, Some(ErrorKind::Conflict)]
        );
    }

    #[test]
    fn a_header_that_was_put_back_is_noticed() {
        let (_directory, anchor) = place();
        let [now, before] = ["{\"title\":\"new\"}", "{\"title\":\"old\"}"].map(|header| {
            let store = MemoryStore::new();
            begin(&store, 1, header);
            store
        });
        anchor.write(&now).unwrap();

        assert_eq!(
            [&now, &before].map(|store| kind_of(anchor.check(store))),
            [None, Some(ErrorKind::Conflict)]
        );
        // What came since does not hide it.
        [&now, &before].into_iter().for_each(|store| begin(store, 2, "{}"));
        assert_eq!(
            [&now, &before].map(|store| kind_of(anchor.check(store))),
            [None, Some(ErrorKind::Conflict)]
        );
    }

    #[test]
    fn a_check_looks_at_every_conversation_of_a_large_store() {
        let (_directory, anchor) = place();
        let (now, before) = (store_of(0..MANY), MemoryStore::new());
        begin(&before, 0, "{\"title\":\"old\"}");
        (1..MANY).for_each(|number| begin(&before, number, "{}"));
        anchor.write(&now).unwrap();
        let opened = kind_of(anchor.check(&before));

        let is_right = anchor.differing(&now).unwrap();
        let anchored = Anchored::new(MemoryStore::new(), Arc::new(before), anchor);
        let faults = anchored.maintain(Task::Check, Duration::MAX).unwrap().faults;

        assert_eq!((opened, is_right, faults.len()), (None, vec![], 1));
    }

    #[test]
    fn an_anchor_leaves_one_table() {
        let (_directory, anchor) = place();
        let store = MemoryStore::new();
        for number in 0..3 {
            begin(&store, number, "{}");
            anchor.write(&store).unwrap();
        }
        let kept = tables(&anchor.path).len();
        // One that is lost is made again.
        std::fs::remove_file(&tables(&anchor.path)[0]).unwrap();
        *anchor.remembered() = None;
        let without = kind_of(anchor.check(&store));
        anchor.write(&store).unwrap();

        assert_eq!((kept, without, tables(&anchor.path).len()), (1, None, 1));
        anchor.forget().unwrap();
        assert_eq!(tables(&anchor.path).len(), 0);
    }
}
