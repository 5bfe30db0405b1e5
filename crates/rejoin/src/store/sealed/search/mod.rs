//! The search index of a vault: encrypted word segments for each conversation, filled after the append.

pub(crate) mod fill;
mod parallel;
pub(crate) mod query;
pub(crate) mod segments;
