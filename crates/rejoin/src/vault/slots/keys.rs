//! Creating a vault, adding slots, reading its status.

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::model::Time;
use crate::store::backend::Backend;
use crate::store::sealed::keys::data_key::DataKey;
use crate::store::sealed::keys::key_cache::RUN;
use crate::store::sealed::keys::key_cache::blob;
use crate::store::sealed::{KEYS, Workspace};
use crate::store::{Keeper, Put, Read, Safety, Store, durable};
use crate::vault::slots::passphrase::{self, Cost};
use crate::vault::slots::record;
use crate::vault::slots::record::{KeysRecord, MOST_SLOTS};
use crate::vault::slots::slot::Slot;
use crate::vault::slots::unlock;
use crate::vault::slots::unlock::Keyholder;
use crate::vault::slots::wraps::Wrap;
use crate::vault::slots::{Secret, SlotId, SlotKind, VaultId, recovery};
use crate::vault::{AnchorFile, PinFiles};

/// What a slot is made of.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum NewSlot {
    /// A secret for the keyring of the system.
    Keyring,
    /// A passphrase, and what a try of it costs.
    Passphrase(Secret, Cost),
    /// A key to be printed.
    Recovery,
    /// A secret for a file.
    File,
}

impl NewSlot {
    /// Refuses a passphrase that is too short, before anything is made with it.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Passphrase(passphrase, _) => passphrase::check_new(passphrase),
            Self::Keyring | Self::Recovery | Self::File => Ok(()),
        }
    }

    const fn kind(&self) -> SlotKind {
        match self {
            Self::Keyring => SlotKind::Keyring,
            Self::Passphrase(..) => SlotKind::Passphrase,
            Self::Recovery => SlotKind::Recovery,
            Self::File => SlotKind::File,
        }
    }
}

/// A slot that was made.
#[derive(Clone, Debug)]
pub struct Added {
    /// Its id.
    pub id: SlotId,
    /// Its kind.
    pub kind: SlotKind,
    /// The recovery key to print; it is not shown again.
    pub recovery_key: Option<Secret>,
}

/// What is known about a vault's keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VaultStatus {
    /// The vault.
    pub vault: VaultId,
    /// Counts rotations, from 1.
    pub epoch: u64,
    /// Its slots, in the order they were added.
    pub slots: Vec<SlotStatus>,
    /// True when a rotation was begun and not finished; everything can be read all the same.
    pub is_rotating: bool,
    /// True when a re-encryption was begun and is not finished.
    pub is_being_sealed: bool,
}

/// A slot in a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotStatus {
    /// Its id.
    pub id: SlotId,
    /// Its kind.
    pub kind: SlotKind,
    /// When it was made; none where the vault was not opened.
    pub created_at: Option<Time>,
}

impl VaultStatus {
    /// What is known about the keys of a store that is not opened; none when it is no vault. Nothing vouches
    /// for it.
    pub fn of(inner: &dyn Read) -> Result<Option<Self>> {
        let Some((record, _)) = KeysRecord::read(inner)? else { return Ok(None) };
        Self::with(inner, &record, |_| Ok(None)).map(Some)
    }

    fn with(
        inner: &dyn Read,
        record: &KeysRecord,
        created_at: impl Fn(&Slot) -> Result<Option<Time>>,
    ) -> Result<Self> {
        let slot =
            |slot: &Slot| Ok(SlotStatus { id: slot.id, kind: slot.kind, created_at: created_at(slot)? });
        Ok(Self {
            vault: record.vault,
            epoch: record.epoch,
            slots: record.slots.iter().map(slot).collect::<Result<_>>()?,
            is_rotating: record.is_rotating() || !record.replaced.is_empty(),
            is_being_sealed: blob(inner, None, RUN)?.is_some(),
        })
    }
}

/// The keys of one vault. One process at a time changes them.
#[derive(Clone)]
pub struct Keys {
    pub(crate) backend: Arc<dyn Backend>,
    /// What the backend holds, as a store.
    pub(crate) inner: Arc<dyn Store>,
    pub(crate) holder: Keyholder,
    lock: Option<PathBuf>,
    patience: Duration,
}

/// How long to wait for another process that changes keys.
const PATIENCE: Duration = Duration::from_secs(30);

impl Keys {
    /// The keys of the vault in a backend, opened by a keyholder when they are needed.
    pub fn of(backend: Arc<dyn Backend>, holder: Keyholder) -> Self {
        let inner = Arc::new(Keeper::over(Arc::clone(&backend)));
        Self { backend, inner, holder, lock: None, patience: PATIENCE }
    }

    /// The same, where other processes that change the keys of this store use the same lock.
    #[must_use]
    pub fn locked_by(mut self, path: impl Into<PathBuf>, patience: Duration) -> Self {
        (self.lock, self.patience) = (Some(path.into()), patience);
        self
    }

    /// The same, which waits this long for another process that changes keys.
    #[must_use]
    pub const fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Makes a vault of a store that holds nothing.
    ///
    /// A store that holds anything is a conflict: a vault is never made over it.
    pub fn create(&self, slots: &[NewSlot], at: Time) -> Result<Vec<Added>> {
        let _turn = self.take_turn()?;
        let inner = self.inner.as_ref();
        if KeysRecord::read(inner)?.is_some() {
            return Err(Error::conflict("a vault already exists"));
        }
        if unlock::is_sealed(inner)?.is_some() {
            return Err(match unlock::no_record(inner) {
                error if error.kind() == ErrorKind::Corrupt => error,
                _ => Error::conflict("the store is not empty, so no vault can be created in it"),
            });
        }
        if slots.is_empty() {
            return Err(Error::invalid("a vault needs a slot that opens it"));
        }
        let workspace = Workspace::random();
        let mut made = Vec::new();
        for new in slots {
            match self.make(&workspace, new, at) {
                Ok(slot) => made.push(slot),
                Err(error) => {
                    self.forget(&workspace, made.iter().map(|(slot, _)| slot));
                    return Err(error);
                }
            }
        }
        let (slots, added): (Vec<Slot>, Vec<Added>) = made.into_iter().unzip();
        let bytes = KeysRecord::new(&workspace, slots.clone()).to_bytes(&workspace);
        // What belongs to no conversation is sealed too, from the beginning.
        let data = Wrap { owner: None, bytes: workspace.wrap(&DataKey::random(), None) };
        let puts = [data.put(), record::put(&bytes)];
        // Whoever makes a vault where another was used replaces that one. Cut off
        // here, the next one to open it pins it.
        self.holder.pin().map_or(Ok(()), PinFiles::forget)?;
        if let Err(error) = inner.put(&puts, Safety::Synced) {
            if self.shows_what_it_holds() && matches!(KeysRecord::read(inner), Ok(None)) {
                self.forget(&workspace, slots.iter());
            }
            return Err(error.during("make a vault"));
        }
        if let Err(error) = self.pin(&workspace) {
            tracing::warn!(%error, "the vault is made, and pinned when it is opened");
        }
        Ok(added)
    }

    /// Pins a vault that was made to its place, after its anchor: where a pin is, an anchor was.
    fn pin(&self, workspace: &Workspace) -> Result<()> {
        let Some(pin) = self.holder.pin() else { return Ok(()) };
        AnchorFile::new(pin.directory(), workspace).at(pin).write(self.backend.as_ref())?;
        pin.write(workspace)
    }

    /// Adds a slot. Another one that opens the vault is needed for it.
    pub fn add_slot(&self, new: &NewSlot, at: Time) -> Result<Added> {
        let _turn = self.take_turn()?;
        let (mut record, workspace) = self.holder.open(self.inner.as_ref())?;
        if record.slots.len() == MOST_SLOTS {
            return Err(Error::invalid(format!("a vault has at most {MOST_SLOTS} slots")));
        }
        let (slot, added) = self.make(&workspace, new, at)?;
        record.slots.push(slot.clone());
        if let Err(error) = self.write(&record, &workspace) {
            let is_missing = |record: &KeysRecord| record.slots.iter().all(|other| other.id != slot.id);
            if self.shows_what_it_holds()
                && matches!(KeysRecord::read(self.inner.as_ref()), Ok(Some((record, _))) if is_missing(&record))
            {
                self.forget(&workspace, [&slot]);
            }
            return Err(error.during("add a slot"));
        }
        Ok(added)
    }

    /// Opens the vault, and tells what is known about its keys.
    pub fn check(&self) -> Result<VaultStatus> {
        let inner = self.inner.as_ref();
        let (record, workspace) = self.holder.open(inner)?;
        VaultStatus::with(inner, &record, |slot| slot.created_at(&workspace).map(Some))
    }

    /// Makes a slot and puts its secret into its place, before anything names the slot.
    fn make(&self, workspace: &Workspace, new: &NewSlot, at: Time) -> Result<(Slot, Added)> {
        let (secret, cost) = match new {
            NewSlot::Passphrase(passphrase, cost) => (passphrase.clone(), *cost),
            NewSlot::Keyring | NewSlot::Recovery | NewSlot::File => (Secret::random(), Cost::default()),
        };
        let kind = new.kind();
        let slot = Slot::new(workspace, kind, &secret, cost, at)?;
        if kind.has_place() {
            self.keep(workspace, &slot, &secret)?;
        }
        let recovery_key = (kind == SlotKind::Recovery).then(|| recovery::to_text(&secret));
        let added = Added { id: slot.id, kind, recovery_key };
        Ok((slot, added))
    }

    /// Keeps a secret in its place, and reads it back: a slot must not depend on a place that forgets.
    pub(crate) fn keep(&self, workspace: &Workspace, slot: &Slot, secret: &Secret) -> Result<()> {
        let (place, vault) = (self.holder.stores().of(slot.kind)?, VaultId::of(workspace.vault()));
        place.set(vault, slot.id, secret)?;
        let kept = place.get(vault, slot.id)?;
        if kept.is_some_and(|kept| kept.as_bytes() == secret.as_bytes()) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Unavailable,
            format!("the place of the {} slot's secret did not keep it", slot.kind),
        ))
    }

    /// Removes secrets of slots that no record names. One that stays opens nothing.
    pub(crate) fn forget<'s>(&self, workspace: &Workspace, slots: impl IntoIterator<Item = &'s Slot>) {
        for slot in slots.into_iter().filter(|slot| slot.kind.has_place()) {
            if let Ok(place) = self.holder.stores().of(slot.kind) {
                let _ = place.remove(VaultId::of(workspace.vault()), slot.id);
            }
        }
    }

    /// True when the store shows what it holds, after a write that failed.
    ///
    /// A write whose sync failed is not shown to this process, but may stand in the log:
    /// whoever opens the store next finds it, and then it needs its secrets. A store in that
    /// state takes no write until it is opened again.
    pub(crate) fn shows_what_it_holds(&self) -> bool {
        let nothing = Put { space: KEYS, owner: None, name: b"nothing", bytes: None };
        self.inner.put(&[nothing], Safety::Synced).is_ok()
    }

    pub(crate) fn write(&self, record: &KeysRecord, workspace: &Workspace) -> Result<()> {
        self.inner.put(&[record::put(&record.to_bytes(workspace))], Safety::Synced)
    }

    /// Waits for another process that changes keys.
    pub(crate) fn take_turn(&self) -> Result<Option<File>> {
        self.lock.as_deref().map(|path| wait_for(path, self.patience)).transpose()
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("holder", &self.holder).field("lock", &self.lock).finish_non_exhaustive()
    }
}

/// Locks a file beside the store; the lock ends with the file that is returned.
fn wait_for(path: &Path, patience: Duration) -> Result<File> {
    let fault = |cause: std::io::Error| {
        Error::new(ErrorKind::Unavailable, format!("lock `{}`", path.display())).because(cause)
    };
    durable::create_private_directory(path).and_then(|()| durable::create_private(path)).map_err(fault)?;
    let file = durable::open_to_write(path).map_err(fault)?;
    let began = Instant::now();
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK) if began.elapsed() < patience => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(Error::new(ErrorKind::Locked, "another process is changing the vault's keys"));
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(cause) => return Err(fault(cause.into())),
        }
    }
}
