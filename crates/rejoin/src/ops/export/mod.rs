//! Exporting: what is stored, for other programs and for people.

mod tree;

pub use tree::Extent;
pub(crate) use tree::{Naming, add_to_tree};
