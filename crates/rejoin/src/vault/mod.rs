//! Everything a vault does besides storing rows: unlocking and key rotation, rollback detection,
//! re-encryption, and cleanup of damaged records.
//!
//! Storing is not here: [`VaultStore`] is in `store::sealed`, which encrypts rows without this module.
//!
//! - `admin`: the trait with the administrative operations
//! - `slots`: unlocking, such as with a passphrase, and key rotation
//! - `anchor`: what is known of a vault outside its store: its last state, and which one belongs to a place
//! - `reseal`: re-encryption with new data keys
//! - `quarantine`: cleanup of records that do not decrypt
//!
//! `quarantine` and `reseal` extend `store::sealed::Sealed` with `impl` blocks.

mod admin;
#[cfg(feature = "vault")]
pub(crate) mod anchor;
#[cfg(feature = "vault")]
mod quarantine;
#[cfg(feature = "vault")]
pub(crate) mod reseal;
#[cfg(feature = "vault")]
mod sealed;
#[cfg(feature = "vault")]
pub(crate) mod slots;
#[cfg(feature = "vault")]
#[cfg(test)]
mod vectors;

pub use admin::{Quarantined, VaultAdmin};
#[cfg(feature = "vault")]
pub(crate) use anchor::anchored::Anchored;
#[cfg(feature = "vault")]
pub(crate) use anchor::file::AnchorFile;
#[cfg(feature = "vault")]
pub(crate) use anchor::pin::PinFiles;
#[cfg(feature = "vault")]
pub use reseal::Reencrypted;
#[cfg(feature = "vault")]
pub use slots::{
    Added, Cost, Keyholder, Keys, NewSlot, Rotated, Secret, SecretFiles, SecretStore, SecretStores, SlotId,
    SlotKind, SlotStatus, UnlockRequest, UnlockResponse, VaultId, VaultStatus,
};

#[cfg(feature = "vault")]
pub use crate::store::sealed::{Unlock, VaultStore, Workspace};
