//! Providers that can be talked to, and where their keys are.

mod choice;
mod key;
mod keyring;
mod known;
mod models;
pub(crate) mod setup;

pub(crate) use choice::{Choice, Chosen};
pub(crate) use key::{FoundKey, KeyFinder, KeyPlace, find_key, keyring_hint};
pub(crate) use keyring::{Entry, Keyring, Reach, Unusable};
pub(crate) use known::{Known, unknown};
pub(crate) use models::{check, models};
