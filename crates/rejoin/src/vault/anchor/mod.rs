//! What is known of a vault outside its store: its last known state (the anchor), and which vault belongs to
//! a place (the pin).
//!
//! They detect a rollback to an older copy of the store, and a store that was replaced by another vault.

pub(crate) mod anchored;
pub(crate) mod file;
pub(crate) mod locations;
pub(crate) mod pin;
pub(crate) mod table;
