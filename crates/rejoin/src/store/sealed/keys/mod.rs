//! The keys of a vault, and what is made with them: envelopes, and the names that stand outside.
//!
//! A workspace key wraps a data key for each conversation, which seals its records. How a workspace is
//! unlocked is somebody else's matter ([`Unlock`](unlock::Unlock)).

pub(crate) mod data_key;
pub(crate) mod encoding;
pub(crate) mod envelope;
pub(crate) mod key;
pub(crate) mod key_cache;
pub(crate) mod names;
pub(crate) mod unlock;
pub(crate) mod workspace;
