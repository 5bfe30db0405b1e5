//! The plaintext layout of each kind of encrypted record: messages, rows of a list, blobs, names,
//! marks of re-encryption, and authenticated numbers.

pub(crate) mod blob;
pub(crate) mod mark;
pub(crate) mod message;
pub(crate) mod named;
pub(crate) mod numbers;
pub(crate) mod row;
pub(crate) mod trailer_cache;
