//! Vaults: over every store, damaged in every way, beside others.

mod altered;
mod fault;
mod kill;
mod long;
mod lost;
mod numbers;
mod on_disk;
mod past_damage;
mod privacy;
mod quarantine;
mod search;
mod tamper;
mod together;
mod two_hands;
mod unowned;
pub(crate) mod write;

use std::sync::Arc;

use rejoin::Result;
use rejoin::store::backend::Backend;
use rejoin::store::{BlobNames, Store, Unlock, VaultStore, Workspace};
use rejoin::testing::Place;

use crate::vault_spaces::KEYS;

pub(crate) use crate::vault::quarantine::Ahead;
pub(crate) use crate::vault::two_hands::TwoHands;

/// A workspace whose keys are known to the test.
pub(crate) struct Fixed;

impl Unlock for Fixed {
    fn unlock(&self, _inner: &dyn Store) -> Result<Workspace> {
        Ok(Workspace::new([1; 16], 1, [2; 16], &[3; 32], &[4; 32]))
    }
}

/// What a vault is in: a test looks into it as a store, and the vault uses it as a backend.
pub(crate) trait Inner: Store + Backend {}

impl<T: Store + Backend> Inner for T {}

/// Where the inside of a vault is kept.
pub(crate) trait InnerPlace {
    /// Opens it; every call opens the same one.
    fn inner(&self) -> Arc<dyn Inner>;
}

/// Opens the vault in a store, which is made if there is none.
pub(crate) fn sealed(inner: Arc<dyn Inner>) -> VaultStore {
    let (store, backend): (Arc<dyn Store>, Arc<dyn Backend>) = (Arc::clone(&inner) as _, inner);
    let mut is_founded = false;
    let keys = store.get(KEYS, None, BlobNames::ALL, &mut |_, _| {
        is_founded = true;
        Ok(())
    });
    keys.unwrap();
    if !is_founded {
        VaultStore::found(store.as_ref(), &Fixed.unlock(store.as_ref()).unwrap()).unwrap();
    }
    VaultStore::open(backend, Arc::new(Fixed)).unwrap()
}

/// A vault in another place.
pub(crate) struct Vault<P>(pub(crate) P);

impl<P: InnerPlace> Place for Vault<P> {
    fn open(&self) -> Arc<dyn Store> {
        Arc::new(sealed(self.0.inner()))
    }
}
