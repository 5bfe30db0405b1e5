//! Verbs over stores: each reads or writes through the contract and knows no particular store.

mod verify;

pub use verify::Verdict;
pub(crate) use verify::verify;
