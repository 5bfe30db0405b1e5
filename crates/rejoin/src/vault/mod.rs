//! The keys of a vault: who can open it, where their secrets are kept, and how keys are replaced.
//!
//! Storing is not here: [`VaultStore`](crate::store::VaultStore) encrypts rows, and knows nothing of this module. What a vault
//! does besides is:
//!
//! - `slots`: what opens it, such as a passphrase, and rotation
//! - `anchor`: what is known of it outside of its store
//! - `reseal`: encrypting everything again with new keys
//! - `quarantine`: what becomes of records that do not decrypt

pub(crate) mod anchor;
mod face;
mod quarantine;
pub(crate) mod reseal;
pub(crate) mod slots;
#[cfg(test)]
mod vectors;

pub use anchor::anchored::Anchored;
pub use anchor::pin::PinPlace;
pub use anchor::place::AnchorPlace;
pub use face::Vault;
pub use reseal::SealedAnew;
pub use slots::{
    Added, Answer, Ask, Cost, Keyholder, Keys, NewSlot, Places, Rotated, Secret, SecretFiles, SecretPlace,
    SlotId, SlotKind, SlotStatus, VaultId, VaultStatus, Wanted, status,
};

pub use crate::store::Quarantined;
