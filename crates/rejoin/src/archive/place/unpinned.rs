//! What stands for `pinned.rs` in a build without vaults: none is opened, and
//! none is taken for a plain store.

use crate::archive::place::url::StoreParts;
use crate::archive::{Access, StoreUrl};
use crate::error::{Error, Result};
#[cfg(feature = "sqlite")]
use crate::store::Store;
use crate::store::{BlobNames, Read, Space};

/// True when a plain store is what a vault keeps its records in.
pub(in crate::archive) fn is_sealed(store: &dyn Read) -> Result<bool> {
    let mut is_sealed = false;
    // Whoever stores there wraps another store, and only a vault does so.
    store.get(Space::Companion, None, BlobNames::ALL, &mut |_, _| {
        is_sealed = true;
        Ok(())
    })?;
    Ok(is_sealed)
}

impl StoreUrl {
    /// Opens no vault.
    pub(in crate::archive) fn open_sealed(&self, _: &Self, _: &Access) -> Result<StoreParts> {
        self.refuse_unbuilt()?;
        Err(Error::invalid(format!("`{self}` is not a vault")))
    }

    /// Which vault is used at a place is kept where this build does not look.
    pub(in crate::archive) const fn refuse_in_place_of_a_vault(&self, _: &Access) -> Result<()> {
        Ok(())
    }
}

#[cfg(feature = "sqlite")]
impl StoreUrl {
    /// Refuses every vault: whether it is another one cannot be told.
    pub(in crate::archive) fn refuse_another_vault(&self, _: &dyn Read, _: &Access) -> Result<()> {
        self.refuse_unbuilt()
    }

    /// Refuses every vault: whether it opens cannot be told.
    pub(in crate::archive) fn unlocked(&self, _: &dyn Store, _: &Access) -> Result<Option<()>> {
        self.refuse_unbuilt().map(|()| None)
    }

    /// Nothing is kept elsewhere for a plain store.
    pub(in crate::archive) const fn take_restored(&self, _: Option<()>, _: &Access) -> Result<()> {
        Ok(())
    }
}
