//! Slots: the ways to unlock a vault. Each has a key pair, so that a new workspace key can be encrypted to
//! all of them without asking anybody.

pub(crate) mod encoding;
mod key_pair;
pub(crate) mod keys;
mod kind;
mod passphrase;
pub(crate) mod record;
mod recovery;
mod rotate;
mod secret;
mod secret_store;
mod slot;
#[cfg(test)]
mod tests;
mod unlock;
mod wraps;

pub use keys::{Added, Keys, NewSlot, SlotStatus, VaultStatus};
pub use kind::{SlotId, SlotKind, VaultId};
pub use passphrase::Cost;
pub use rotate::Rotated;
pub use secret::Secret;
pub use secret_store::{SecretFiles, SecretStore, SecretStores};
pub(crate) use unlock::no_record as missing_record;
pub(crate) use unlock::replaced as missing_vault;
pub use unlock::{Keyholder, UnlockRequest, UnlockResponse};
