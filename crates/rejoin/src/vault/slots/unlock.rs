//! Unlocks a vault: tries secret stores, then prompts.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, ErrorKind, Result};
use crate::store::sealed::{KEYS, Unlock, Workspace};
use crate::store::{BlobNames, ListQuery, Read, Space, Store};
use crate::vault::PinFiles;
use crate::vault::slots::key_pair::Pair;
use crate::vault::slots::record::{KeysRecord, RecordBytes};
use crate::vault::slots::slot;
use crate::vault::slots::slot::Slot;
use crate::vault::slots::{Secret, SecretStores, SlotId, SlotKind, VaultId};

/// How often a person may try before it is an error.
const TRIES: u32 = 3;

/// What a person is asked for when no stored secret unlocks the vault.
#[derive(Clone, Debug)]
pub struct UnlockRequest {
    /// The vault.
    pub vault: VaultId,
    /// What would unlock it: a passphrase, a recovery key, or either.
    pub kinds: Vec<SlotKind>,
    /// Why the stored secrets did not unlock it, as parts of a sentence.
    pub obstacles: Vec<String>,
    /// The number of this attempt, from 1.
    pub attempt: u32,
}

/// What a person gave.
#[derive(Clone, Debug)]
pub enum UnlockResponse {
    /// A passphrase.
    Passphrase(Secret),
    /// A recovery key, as it was printed.
    Recovery(Secret),
}

/// Prompts a person; none when there is nobody to ask, or they gave up.
pub(crate) type Ask = dyn Fn(&UnlockRequest) -> Result<Option<UnlockResponse>> + Send + Sync;

/// Unlocks a vault with stored secrets, or with what a person enters.
#[derive(Clone)]
pub struct Keyholder {
    stores: SecretStores,
    ask: Option<Arc<Ask>>,
    /// The slot that was opened, so that nobody is asked twice.
    opened: Arc<Mutex<Option<(SlotId, Pair)>>>,
    /// Which vault is used at the place of the store; none where nobody keeps that.
    pin: Option<PinFiles>,
}

impl Keyholder {
    /// Unlocks with these stored secrets.
    pub fn new(stores: SecretStores) -> Self {
        Self { stores, ask: None, opened: Arc::default(), pin: None }
    }

    /// The same, which asks when no place helps.
    #[must_use]
    pub fn asking(
        mut self,
        ask: impl Fn(&UnlockRequest) -> Result<Option<UnlockResponse>> + Send + Sync + 'static,
    ) -> Self {
        self.ask = Some(Arc::new(ask));
        self
    }

    /// The same, which asks nobody.
    #[must_use]
    pub fn without_asking(mut self) -> Self {
        self.ask = None;
        self
    }

    /// The same, which opens only the vault that is pinned to its place, if one is.
    #[must_use]
    pub(crate) fn pinned(&self, pin: Option<PinFiles>) -> Self {
        Self { pin, ..self.clone() }
    }

    /// Removes the secret of a slot whose vault is gone from the keyring.
    pub(crate) fn forget_secret(&self, vault: VaultId, slot: SlotId) -> Result<()> {
        self.stores.of(SlotKind::Keyring)?.remove(vault, slot)
    }

    pub(crate) const fn stores(&self) -> &SecretStores {
        &self.stores
    }

    pub(crate) const fn pin(&self) -> Option<&PinFiles> {
        self.pin.as_ref()
    }

    /// Reads the record of a store and opens it.
    pub(crate) fn open(&self, inner: &dyn Store) -> Result<(KeysRecord, Workspace)> {
        let (record, workspace) = self.open_any(inner)?;
        self.pin.as_ref().map_or(Ok(()), |pin| pin.check(&workspace))?;
        Ok((record, workspace))
    }

    /// The same, of any vault with the id that is pinned. Nobody is asked for what opens another one.
    fn open_any(&self, inner: &dyn Store) -> Result<(KeysRecord, Workspace)> {
        let read = || {
            let Some((record, written)) = KeysRecord::read(inner)? else { return Err(self.no_vault(inner)) };
            self.pin.as_ref().map_or(Ok(()), |pin| pin.expect(record.vault))?;
            Ok((record, written))
        };
        let (mut record, mut written) = read()?;
        loop {
            let obstacles = match self.open_with_places(&record, &written)? {
                Ok(workspace) => return Ok((record, workspace)),
                Err(obstacles) => obstacles,
            };
            // A rotation may have replaced the secrets between the two looks.
            let (now, written_now) = read()?;
            if now == record {
                let workspace = self.enter_asking(&record, &written, obstacles)?;
                return Ok((record, workspace));
            }
            (record, written) = (now, written_now);
        }
    }

    /// What is wrong with a store without a record, at a place where a vault may have been used.
    fn no_vault(&self, inner: &dyn Store) -> Error {
        let error = no_record(inner);
        // A vault that lost its record is no other store.
        if error.kind() == ErrorKind::Corrupt {
            return error;
        }
        match self.pin.as_ref().map(PinFiles::vault).transpose() {
            Ok(Some(Some(vault))) => replaced(vault).because(error),
            Ok(_) => error,
            Err(damaged) => damaged,
        }
    }

    /// Opens a record without asking anybody, or says why no place helped.
    fn open_with_places(
        &self,
        record: &KeysRecord,
        written: &RecordBytes,
    ) -> Result<Result<Workspace, Vec<String>>> {
        if let Some((id, pair)) = self.opened().clone()
            && let Some(slot) = record.slots.iter().find(|slot| slot.id == id)
        {
            return self.opened_by(record, written, slot, &pair).map(Ok);
        }
        let mut obstacles = Vec::new();
        for slot in record.slots.iter().filter(|slot| slot.kind.has_place()) {
            match self.pair_of(record.vault, slot) {
                Ok(pair) => return self.enter(record, written, slot, pair).map(Ok),
                Err(error) => obstacles.push(chain(&error)),
            }
        }
        Ok(Err(obstacles))
    }

    /// Opens a slot with the secret that its place keeps.
    fn pair_of(&self, vault: VaultId, slot: &Slot) -> Result<Pair> {
        let (kind, id) = (slot.kind, slot.id);
        let secret = self.stores.of(kind)?.get(vault, id)?.ok_or_else(|| {
            Error::new(
                ErrorKind::Denied,
                format!("the secret of the {kind} slot `{id}` of vault `{vault}` is not here"),
            )
        })?;
        slot.open(vault, &secret)
    }

    fn enter_asking(
        &self,
        record: &KeysRecord,
        written: &RecordBytes,
        obstacles: Vec<String>,
    ) -> Result<Workspace> {
        let mut kinds: Vec<SlotKind> =
            record.slots.iter().map(|slot| slot.kind).filter(|kind| !kind.has_place()).collect();
        kinds.sort();
        kinds.dedup();
        let mut wanted = UnlockRequest { vault: record.vault, kinds, obstacles, attempt: 1 };
        let mut last = None;
        let ask = self.ask.as_ref().filter(|_| !wanted.kinds.is_empty());
        while let Some(ask) = ask
            && wanted.attempt <= TRIES
        {
            let (kind, secret) = match ask(&wanted)? {
                None => break,
                Some(UnlockResponse::Passphrase(secret)) => (SlotKind::Passphrase, secret),
                Some(UnlockResponse::Recovery(secret)) => (SlotKind::Recovery, secret),
            };
            match self.enter_with(record, written, kind, &secret) {
                Err(error) if error.kind() == ErrorKind::Denied => last = Some(error),
                other => return other,
            }
            wanted.attempt += 1;
        }
        Err(last.unwrap_or_else(|| locked(&wanted)))
    }

    /// Tries a secret on every slot of its kind.
    fn enter_with(
        &self,
        record: &KeysRecord,
        written: &RecordBytes,
        kind: SlotKind,
        secret: &Secret,
    ) -> Result<Workspace> {
        let secret = slot::given(kind, secret)?;
        for slot in record.slots.iter().filter(|slot| slot.kind == kind) {
            match slot.open(record.vault, &secret) {
                Ok(pair) => return self.enter(record, written, slot, pair),
                Err(error) if error.kind() == ErrorKind::Denied => {}
                Err(error) => return Err(error),
            }
        }
        let name = if kind == SlotKind::Recovery { "recovery key" } else { "passphrase" };
        Err(Error::new(
            ErrorKind::Denied,
            format!("this {name} does not unlock the vault: it is wrong, or its slot was removed"),
        ))
    }

    fn enter(
        &self,
        record: &KeysRecord,
        written: &RecordBytes,
        slot: &Slot,
        pair: Pair,
    ) -> Result<Workspace> {
        let workspace = self.opened_by(record, written, slot, &pair)?;
        *self.opened() = Some((slot.id, pair));
        Ok(workspace)
    }

    /// The workspace that a slot opens, with the keys from before a rotation that is under way.
    ///
    /// Whoever opens a slot of now could open one of then: it is the same, or its secret is still in its
    /// place. Once that is removed, nothing is wrapped with the key from before.
    fn opened_by(
        &self,
        record: &KeysRecord,
        written: &RecordBytes,
        slot: &Slot,
        pair: &Pair,
    ) -> Result<Workspace> {
        let vault = record.vault;
        let key = slot.unseal(vault, record.epoch, record.key(), pair)?;
        let mut workspace = record.workspace(key, written)?;
        for retired in &record.retired {
            let same = retired.slots.iter().find(|then| then.id == slot.id);
            let same = same.and_then(|then| retired.open(vault, then, pair).ok());
            let in_place = || {
                let mut kept = retired.slots.iter().filter(|then| then.kind.has_place());
                kept.find_map(|then| retired.open(vault, then, &self.pair_of(vault, then).ok()?).ok())
            };
            if let Some((id, key)) = same.or_else(in_place) {
                workspace = workspace.retiring(id, &key);
            }
        }
        Ok(workspace)
    }

    fn opened(&self) -> MutexGuard<'_, Option<(SlotId, Pair)>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Unlock for Keyholder {
    fn unlock(&self, inner: &dyn Store) -> Result<Workspace> {
        Ok(self.open(inner)?.1)
    }
}

impl fmt::Debug for Keyholder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyholder").field("places", &self.stores).finish_non_exhaustive()
    }
}

/// Why nothing opened the vault.
fn locked(wanted: &UnlockRequest) -> Error {
    let error =
        Error::new(ErrorKind::Denied, format!("nothing available here unlocks vault `{}`", wanted.vault));
    let asked = match wanted.kinds.as_slice() {
        [] => None,
        kinds => {
            let kinds: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
            Some(format!("nobody gave what its {} slot asks for", kinds.join(" or ")))
        }
    };
    let causes: Vec<String> = wanted.obstacles.iter().cloned().chain(asked).collect();
    error.because(causes.join("; "))
}

/// What is wrong with a store without a record: it is empty, plain, or has lost its keys.
pub(crate) fn no_record(inner: &dyn Read) -> Error {
    match is_sealed(inner) {
        Ok(None) => Error::not_found("there is no vault here yet"),
        Ok(Some(true)) => Error::corrupt(
            "the store is encrypted, but its key record is missing; restore a backup that has it",
        ),
        Ok(Some(false)) => {
            Error::invalid("the store holds conversations that are not encrypted; it is not a vault")
        }
        Err(error) => error,
    }
}

/// A store without a vault, where one was used.
pub(crate) fn replaced(vault: VaultId) -> Error {
    Error::conflict(format!("vault `{vault}` was last used here and is missing"))
}

/// Whether the conversations of a store are sealed; none when it holds nothing.
pub(crate) fn is_sealed(inner: &dyn Read) -> Result<Option<bool>> {
    let mut is_sealed = None;
    let has_key = |owner| {
        let mut found = false;
        inner.get(
            KEYS,
            owner,
            BlobNames::One(crate::store::sealed::keys::key_cache::DATA),
            &mut |_, _| {
                found = true;
                Ok(())
            },
        )?;
        Ok::<_, Error>(found)
    };
    let first = inner.list(&ListQuery { limit: 1, ..ListQuery::default() })?;
    if let Some(row) = first.items.first() {
        is_sealed = Some(has_key(Some(row.id))?);
    } else if has_key(None)? {
        is_sealed = Some(true);
    } else {
        for space in Space::ALL {
            inner.get(space, None, BlobNames::Prefix(b""), &mut |_, _| {
                is_sealed = Some(false);
                Ok(())
            })?;
        }
    }
    Ok(is_sealed)
}

/// An error and its causes, in one line.
pub(crate) fn chain(error: &Error) -> String {
    let first: Option<&(dyn std::error::Error + 'static)> = std::error::Error::source(error);
    let causes = std::iter::successors(first, |cause| cause.source()).map(ToString::to_string);
    std::iter::once(error.to_string()).chain(causes).collect::<Vec<_>>().join(": ")
}
