//! What the programs that measure have in common: data, errors, clocks, bars, stores and their keys.

mod arguments;
mod bars;
mod clock;
pub mod data;
pub mod failure;
pub mod haystack;
mod stores;

pub use arguments::Arguments;
pub use bars::Bars;
pub use clock::{Clock, Took};
pub use stores::{Answer, Fixed, Kind, Shape, holder};
