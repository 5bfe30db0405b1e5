//! Keeps AI conversations.

mod clock;
mod error;
mod model;
pub mod store;

pub use clock::{Nature, SystemNature};
pub use error::{Error, ErrorKind, Result};
pub use model::*;
