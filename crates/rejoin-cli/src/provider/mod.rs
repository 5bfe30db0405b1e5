//! Providers that can be talked to, and where their keys are.

mod key;
mod keyring;
mod known;

pub(crate) use key::{FoundKey, KeyFinder, KeyPlace, find_key, keyring_hint};
pub(crate) use keyring::{Entry, Keyring, Reach, Unusable};
pub(crate) use known::{Known, unknown};
