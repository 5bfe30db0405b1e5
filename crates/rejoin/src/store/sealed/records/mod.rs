//! What is sealed of each kind of record, and where: messages, rows of a list, blobs, names, and the numbers they vouch for.

pub(crate) mod blob;
pub(crate) mod message;
pub(crate) mod named;
pub(crate) mod numbers;
pub(crate) mod row;
pub(crate) mod tips;
