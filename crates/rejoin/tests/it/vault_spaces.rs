//! The spaces that a vault keeps its own blobs in, as docs/vault-format.md numbers them.

use rejoin::store::Space;

pub(crate) const KEYS: Space = Space::Wrapper(6);
pub(crate) const SEGMENTS: Space = Space::Wrapper(7);
pub(crate) const QUARANTINE: Space = Space::Wrapper(10);
