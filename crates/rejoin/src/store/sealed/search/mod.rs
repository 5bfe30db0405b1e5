//! The search index of a vault: encrypted word segments for each conversation, filled after the append.

pub(crate) mod index;
pub(crate) mod lookup;
mod parallel;
pub(crate) mod segments;
