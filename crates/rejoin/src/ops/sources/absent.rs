//! What stands for `packed.rs` in a build that cannot unpack: an error for whoever finds something packed.

use crate::error::{Error, Result};

/// Packs nothing.
#[derive(Default)]
pub(crate) struct Packer(());

impl Packer {
    /// Says what is missing.
    pub(crate) fn pack(&mut self, _: &str) -> Result<Vec<u8>> {
        Err(missing())
    }
}

/// Says what is missing.
pub(crate) fn unpack(_: &[u8]) -> Result<String> {
    Err(missing())
}

fn missing() -> Error {
    Error::not_built("way to read what messages were imported from", "formats")
}
