//! Slots: the ways to unlock a vault. Each has a key pair, so that a new workspace key can be encrypted to
//! all of them without asking anybody.

mod agreement;
mod holder;
pub(crate) mod keys;
mod kind;
mod passphrase;
mod place;
pub(crate) mod record;
mod recovery;
mod rotate;
mod secret;
mod slot;
#[cfg(test)]
mod tests;
pub(crate) mod text;
mod wraps;

pub(crate) use holder::no_record as missing_record;
pub(crate) use holder::replaced as missing_vault;
pub use holder::{Answer, Ask, Keyholder, Wanted};
pub use keys::{Added, Keys, NewSlot, SlotStatus, VaultStatus, status};
pub use kind::{SlotId, SlotKind, VaultId};
pub use passphrase::Cost;
pub use place::{Places, SecretFiles, SecretPlace};
pub use rotate::Rotated;
pub use secret::Secret;
