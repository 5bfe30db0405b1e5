//! Who can open a vault: slots, each with a key pair, so that a new workspace key can be sealed to all of them without
//! asking anybody.

mod agreement;
mod kind;
mod passphrase;
mod place;
mod recovery;
mod secret;
mod text;

pub use kind::{SlotId, SlotKind, VaultId};
pub use passphrase::Cost;
pub use place::{Places, SecretFiles, SecretPlace};
pub use secret::Secret;
