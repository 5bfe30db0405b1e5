//! The keys of a vault: who can open it, where their secrets are kept, and how keys are replaced.
//!
//! Storing is not here: [`VaultStore`](crate::store::VaultStore) encrypts rows, and knows nothing of this module. What a vault
//! does besides is:
//!
//! - `slots`: what opens it, such as a passphrase, and rotation
//! - `anchor`: what is known of it outside of its store
//! - `reseal`: encrypting everything again with new keys
//! - `quarantine`: what becomes of records that do not decrypt

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
