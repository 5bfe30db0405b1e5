//! What imported messages were read from, as it is kept beside them. A store may have
//! some that this build could not import.

#[cfg(not(feature = "formats"))]
mod absent;
#[cfg(feature = "formats")]
mod packed;

use std::fmt::Write as _;

#[cfg(not(feature = "formats"))]
pub(crate) use absent::{Packer, unpack};
#[cfg(feature = "formats")]
pub(crate) use packed::{Packer, unpack};
use sha2::{Digest as _, Sha256};

/// What a message says about the text that it was read from.
pub(crate) fn source_hash(source: &str) -> String {
    Sha256::digest(source.as_bytes()).iter().fold("sha256:".to_owned(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes every text");
        text
    })
}
