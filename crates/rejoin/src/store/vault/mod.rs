//! The vault: a store around another, which sees hashed names, sealed bytes, sizes and order, and nothing else.
//!
//! docs/vault-format.md has every byte. Everything is sealed with a key of its conversation, and bound to its place, so that
//! a record that was changed, moved or swapped does not open.

mod data_key;
mod envelope;
mod key;
mod names;
pub mod slots;
mod unlock;
#[cfg(test)]
mod vectors;
mod workspace;

pub use key::{Key, KeyId};
pub use unlock::Unlock;
pub use workspace::Workspace;
