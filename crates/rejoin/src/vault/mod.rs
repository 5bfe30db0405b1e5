//! Everything a vault does besides storing rows: unlocking and key rotation, rollback detection,
//! re-encryption, and cleanup of damaged records.
//!
//! Storing is not here: [`VaultStore`](crate::store::VaultStore) encrypts rows, and does not use this module.
//!
//! - `face`: the trait with the administrative operations
//! - `slots`: unlocking, such as with a passphrase, and key rotation
//! - `anchor`: what is known of a vault outside its store: its last state, and which one belongs to a place
//! - `reseal`: re-encryption with new data keys
//! - `quarantine`: cleanup of records that do not decrypt
//!
//! `quarantine` and `reseal` extend `store::sealed::Sealed` with `impl` blocks.

#[cfg(feature = "vault")]
pub(crate) mod anchor;
mod face;
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

#[cfg(feature = "vault")]
pub use anchor::anchored::Anchored;
#[cfg(feature = "vault")]
pub use anchor::pin::PinPlace;
#[cfg(feature = "vault")]
pub use anchor::place::AnchorPlace;
pub use face::Vault;
#[cfg(feature = "vault")]
pub use reseal::SealedAnew;
#[cfg(feature = "vault")]
pub use slots::{
    Added, Answer, Ask, Cost, Keyholder, Keys, NewSlot, Places, Rotated, Secret, SecretFiles, SecretPlace,
    SlotId, SlotKind, SlotStatus, VaultId, VaultStatus, Wanted, status,
};

#[cfg(feature = "vault")]
pub use crate::store::Quarantined;
