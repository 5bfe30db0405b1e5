//! Exporting: what is stored, for other programs and for people.
//!
//! ```text
//!    store ── tree ──► Tree ──► a format             for other programs, and for Rejoin elsewhere
//!                      Tree ──► story ──► markdown   for people
//!                                    └──► html
//! ```
//!
//! For a hand-off the tree is the view. Text of others is escaped by the type that writes it.

mod html;
mod markdown;
mod shorten;
mod story;
mod tree;

pub use tree::Extent;
pub(crate) use tree::{Naming, add_to_tree, view_tree};
