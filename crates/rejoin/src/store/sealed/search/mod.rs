//! The search index of a vault: sealed segments of words for each conversation, filled behind the append.

pub(crate) mod index;
pub(crate) mod lookup;
mod parallel;
pub(crate) mod segments;
