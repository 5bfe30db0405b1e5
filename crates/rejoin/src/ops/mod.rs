//! Verbs over stores: each reads or writes through the contract and knows no particular store.

mod contents;
mod diagnose;
mod synopsis;
mod verify;

pub use contents::Contents;
pub(crate) use contents::{contents, prove};
pub use diagnose::{Ailment, Diagnosis, Severity, Viewpoint};
pub(crate) use diagnose::{diagnose_contents, diagnose_place, unusable};
pub use synopsis::{synopsis_of, title_of};
pub use verify::{Survey, Verdict};
pub(crate) use verify::{survey, verify_conversation};
