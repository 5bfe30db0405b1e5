//! What a message was read from, as it is kept: compressed.

use std::io::Read;

use zstd::bulk::Compressor;

use crate::error::{Error, Result};

/// Fast, and a source line is half its size already.
const LEVEL: i32 = 3;

/// A line of a source has at most so many bytes, or it would not have been read.
const SOURCE_BYTES: u64 = 1 << 30;

/// Compresses what things were read from. Making one takes longer than packing a line.
#[derive(Default)]
pub(crate) struct Packer {
    compressor: Option<Compressor<'static>>,
}

impl Packer {
    /// Compresses what something was read from.
    pub(crate) fn pack(&mut self, source: &str) -> Result<Vec<u8>> {
        let failed = |cause| Error::invalid("compress a line of the source").because(cause);
        let compressor = match &mut self.compressor {
            Some(compressor) => compressor,
            none => none.insert(Compressor::new(LEVEL).map_err(failed)?),
        };
        compressor.compress(source.as_bytes()).map_err(failed)
    }
}

/// What something was read from.
pub(crate) fn unpack(packed: &[u8]) -> Result<String> {
    let failed = |cause| Error::corrupt("read the source of a message").because(cause);
    let mut text = String::new();
    let decoder = zstd::Decoder::new(packed).map_err(failed)?;
    decoder.take(SOURCE_BYTES).read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}
