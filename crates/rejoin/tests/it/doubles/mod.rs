//! Stores and backends that let a test look at every call, change it or fail it.
//!
//! The unit tests of the library use them too, so they name the library as another crate does.

mod around;
mod interposed;

pub(crate) use around::{Around, Write, a_store};
pub(crate) use interposed::{Interpose, Interposed};
