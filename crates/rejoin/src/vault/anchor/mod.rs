//! What is known of a vault outside of its store: how far it was when it was last used, and which one belongs to a place.
//!
//! An older copy in the place of the store is refused, and so is another vault.

pub(crate) mod anchored;
pub(crate) mod locations;
pub(crate) mod pin;
pub(crate) mod place;
pub(crate) mod table;
