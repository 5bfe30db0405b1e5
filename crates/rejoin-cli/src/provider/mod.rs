//! Providers that can be talked to, and where their keys are.

mod choice;
mod key;
mod keyring;
mod known;
mod models;
pub(crate) mod setup;

pub(crate) use choice::{ProviderChoice, StoredChoice};
pub(crate) use key::{FoundKey, KeyFinder, KeyPlace, explain_key, find_key, keyring_hint};
pub(crate) use keyring::{Keyring, KeyringEntry, KeyringReach, Unusable};
pub(crate) use known::{KnownProvider, unknown};
pub(crate) use models::{check, models};
