//! What the programs that measure one thing each have in common: clocks, bars, stores and their keys.
//!
//! The table of contestants is a program of its own, in `main.rs`, and needs none of this.

mod arguments;
mod bars;
mod clock;
mod stores;

pub use arguments::Arguments;
pub use bars::Bars;
pub use clock::{Clock, Took};
pub use stores::{Answer, Fixed, Kind, Shape, holder};
