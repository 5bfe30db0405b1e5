//! Vaults and their places: how one is opened, which one is used where, and how an
//! older copy or another vault is noticed.
//!
//! `unpinned.rs` stands for this in a build without vaults.

use std::sync::Arc;
use std::time::Duration;

use crate::archive::place::url::StoreParts;
use crate::archive::{Access, Existing, StoreUrl};
use crate::error::{Error, ErrorKind, Result};
use crate::store::backend::Backend;
use crate::store::{Keeper, Read, Store, beside};
use crate::vault::slots::{
    Keyholder, Keys, SecretStores, VaultId, VaultStatus, missing_record, missing_vault,
};
use crate::vault::{AnchorFile, Anchored, PinFiles, Unlock, VaultAdmin, VaultStore, Workspace};

/// How long to wait at least for another process that changes keys: a rotation takes seconds.
const KEYS_WAIT: Duration = Duration::from_secs(30);

/// True when a plain store is what a vault keeps its records in.
pub(in crate::archive) fn is_sealed(store: &dyn Read) -> Result<bool> {
    Ok(VaultStatus::of(store)?.is_some())
}

impl StoreUrl {
    /// Opens a vault around the store `inner` with what it takes. One that is missing is not created.
    pub(in crate::archive) fn open_sealed(&self, inner: &Self, access: &Access) -> Result<StoreParts> {
        let Some(keys) = &access.keys else {
            return Err(Error::new(
                ErrorKind::Denied,
                format!("`{self}` is a vault, and no key was given to unlock it"),
            ));
        };
        let backend = inner.backend_present(access)?;
        let keys = keys.pinned(self.pin(access));
        let own = self.keys_in(Arc::clone(&backend), keys.clone(), access.wait);
        self.open_vault(backend, &keys, own, access)
            .map_err(|error| error.during(format!("open the vault `{self}`")))
    }

    /// The keys of the vault; none are asked for yet. Only a store that is to become a vault is created.
    pub fn keys(&self, access: &Access, existing: Existing) -> Result<Keys> {
        let Self::Vault(inner) = self else {
            return Err(Error::invalid(format!("`{self}` is not a vault")));
        };
        let holder = access.keys.clone().unwrap_or_else(|| Keyholder::new(SecretStores::default()));
        let holder = holder.pinned(self.pin(access));
        let backend = match existing {
            Existing::Needed => inner.backend_present(access)?,
            Existing::Optional => inner.backend(access)?,
        };
        Ok(self.keys_in(backend, holder, access.wait))
    }

    /// The keys in a backend, which is the one that this URL names.
    fn keys_in(&self, backend: Arc<dyn Backend>, holder: Keyholder, wait: Duration) -> Keys {
        let keys = Keys::of(backend, holder);
        match self.path() {
            Some(path) => keys.locked_by(beside(path, ".keys.lock"), wait.max(KEYS_WAIT)),
            None => keys,
        }
    }

    /// What is known about the vault's keys without opening it.
    pub fn vault_status(&self, access: &Access) -> Result<VaultStatus> {
        let Self::Vault(inner) = self else {
            return Err(Error::invalid(format!("`{self}` is not a vault")));
        };
        let store = inner.open_present(access)?;
        VaultStatus::of(store.as_ref())?.ok_or_else(|| missing_record(store.as_ref()))
    }

    /// Opens a store that has to be there: a vault that is gone must not become an empty one.
    pub(in crate::archive) fn open_present(&self, access: &Access) -> Result<Arc<dyn Store>> {
        Ok(Arc::new(Keeper::over(self.backend_present(access)?)))
    }

    /// Where the rows of a store are that has to be there.
    pub(in crate::archive) fn backend_present(&self, access: &Access) -> Result<Arc<dyn Backend>> {
        match self.path() {
            Some(path) if !path.exists() => {
                let missing = Error::not_found(format!("no vault at `{}`", path.display()));
                Err(match self.pinned(access)? {
                    Some(vault) => missing.because(missing_vault(vault)),
                    None => missing,
                })
            }
            _ => self.backend(access),
        }
    }

    /// The vault that was last used at the place of this store; none where none
    /// was used, or nobody keeps that.
    pub fn pinned(&self, access: &Access) -> Result<Option<VaultId>> {
        self.pin(access).map_or(Ok(None), |pin| pin.vault())
    }

    /// Uses what is at the place of this store from now on, whatever was known of it before.
    ///
    /// A vault becomes the one of its place. A plain store, or one that holds
    /// nothing, ends the use of a vault there.
    pub fn accept(&self, access: &Access) -> Result<()> {
        let Some(pin) = self.pin(access) else {
            return Err(Error::invalid(format!("nothing is known of `{self}` that could be replaced")));
        };
        let Self::Vault(inner) = self else { return pin.forget() };
        let inner = Keeper::over(inner.backend_present(access)?);
        if VaultStatus::of(&inner)?.is_none() {
            return pin.forget();
        }
        let Some(keys) = &access.keys else {
            return Err(Error::invalid(format!("`{self}` is a vault, and no key was given to unlock it")));
        };
        self.take(&keys.unlock(&inner)?, &inner, access)
    }

    /// Takes an opened vault as it is. Cut off in between, it is refused until it is accepted again.
    pub(in crate::archive) fn take(
        &self,
        workspace: &Workspace,
        inner: &dyn Backend,
        access: &Access,
    ) -> Result<()> {
        let (Some(anchors), Some(pin)) = (&access.anchors, self.pin(access)) else { return Ok(()) };
        let anchor = AnchorFile::new(anchors, workspace).at(&pin);
        anchor.forget()?;
        anchor.write(inner)?;
        pin.write(workspace)
    }

    /// Refuses a store that is another vault than the one that is used at its
    /// place. Nothing is opened for it.
    pub(in crate::archive) fn refuse_another_vault(&self, inner: &dyn Read, access: &Access) -> Result<()> {
        let (Self::Vault(_), Some(pin)) = (self, self.pin(access)) else { return Ok(()) };
        match (VaultStatus::of(inner)?, pin.vault()?) {
            (Some(status), _) => pin.expect(status.vault),
            (None, Some(vault)) => Err(missing_vault(vault)),
            (None, None) => Ok(()),
        }
    }

    /// Refuses a vault that is older than when it was last used, as far as that
    /// can be told without opening it.
    pub fn refuse_older_copy(&self, access: &Access) -> Result<()> {
        let (Self::Vault(inner), Some(anchors)) = (self, &access.anchors) else { return Ok(()) };
        let inner = Keeper::over(inner.backend_present(access)?);
        match VaultStatus::of(&inner)? {
            Some(status) => AnchorFile::refuse_older(anchors, status.vault, &inner),
            None => Ok(()),
        }
    }

    /// Refuses a plain store where a vault is used. A vault that is there is
    /// told as what it is by whoever opens it.
    pub(in crate::archive) fn refuse_in_place_of_a_vault(&self, access: &Access) -> Result<()> {
        let Some(vault) = self.pinned(access)? else { return Ok(()) };
        let is_there = self.path().is_some_and(std::path::Path::exists);
        if is_there && VaultStatus::of(self.open_plain(access)?.as_ref())?.is_some() {
            return Ok(());
        }
        Err(missing_vault(vault).during(format!("open `{self}` as a plain store")))
    }

    /// Makes sure that what is at hand opens a copy of a vault: secrets change, and
    /// those of the copy's time may be gone.
    #[cfg(feature = "sqlite")]
    pub(in crate::archive) fn unlocked(
        &self,
        copy: &dyn Store,
        access: &Access,
    ) -> Result<Option<Workspace>> {
        match (self, &access.keys) {
            (Self::Vault(_), Some(keys)) => {
                let unlocked = keys.unlock(copy).map(Some);
                unlocked.map_err(|error| error.during("open the copy with the keys that are at hand"))
            }
            _ => Ok(None),
        }
    }

    /// Takes a vault that was restored as it is; nothing else is kept elsewhere.
    #[cfg(feature = "sqlite")]
    pub(in crate::archive) fn take_restored(
        &self,
        workspace: Option<Workspace>,
        access: &Access,
    ) -> Result<()> {
        let (Self::Vault(inner), Some(workspace)) = (self, workspace) else { return Ok(()) };
        let taken =
            inner.backend_present(access).and_then(|store| self.take(&workspace, store.as_ref(), access));
        taken.map_err(|error| error.during("accept the vault that was restored"))
    }

    /// Forgets which vault is used here: it is gone.
    pub(in crate::archive) fn unpin(&self, access: &Access) -> Result<()> {
        self.pin(access).map_or(Ok(()), |pin| pin.forget())
    }

    /// Where the pin of this place is kept. Where no vault was ever used, no path is looked at.
    pub(in crate::archive) fn pin(&self, access: &Access) -> Option<PinFiles> {
        let (anchors, path) = (access.anchors.as_ref()?, self.path()?);
        let is_vault = matches!(self, Self::Vault(_));
        (is_vault || anchors.exists()).then(|| PinFiles::new(anchors, path))
    }

    fn open_vault(
        &self,
        backend: Arc<dyn Backend>,
        keys: &Keyholder,
        own: Keys,
        access: &Access,
    ) -> Result<StoreParts> {
        let inner = Keeper::over(Arc::clone(&backend));
        let anchor = match &access.anchors {
            None => None,
            Some(directory) => {
                let workspace = keys.unlock(&inner)?;
                let mut anchor = AnchorFile::new(directory, &workspace);
                if let Some(pin) = self.pin(access) {
                    anchor = anchor.at(&pin);
                }
                anchor.check(&inner)?;
                self.ensure_pinned(&workspace, &anchor, &inner, access)?;
                Some(anchor)
            }
        };
        let vault = VaultStore::open(Arc::clone(&backend), Arc::new(keys.clone()))?.with_keys(own);
        Ok(match anchor {
            None => parts(vault),
            Some(anchor) => {
                let knows_keys = anchor.knows_keys(&inner)?;
                let anchored = Anchored::new(vault, backend, anchor);
                parts(if knows_keys { anchored } else { anchored.after_new_keys() })
            }
        })
    }

    /// Pins a vault that is used at its place for the first time, after its anchor: a pin without an anchor
    /// shows that the anchor was taken away.
    fn ensure_pinned(
        &self,
        workspace: &Workspace,
        anchor: &AnchorFile,
        inner: &dyn Backend,
        access: &Access,
    ) -> Result<()> {
        let Some(pin) = self.pin(access) else { return Ok(()) };
        match (pin.is_complete()?, anchor.is_there()?) {
            (true, true) => return anchor.ensure_located(),
            (true, false) => {
                return Err(Error::conflict(
                    "the vault's anchor is missing, so the store may be an older copy",
                ));
            }
            (false, true) => anchor.ensure_located()?,
            (false, false) => anchor.write(inner)?,
        }
        pin.write(workspace)
    }
}

fn parts<V: Store + VaultAdmin + 'static>(vault: V) -> StoreParts {
    let vault = Arc::new(vault);
    (Arc::clone(&vault) as Arc<dyn Store>, Some(vault))
}
