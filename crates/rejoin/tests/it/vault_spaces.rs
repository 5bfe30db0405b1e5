//! The spaces that a vault keeps its own blobs in, as docs/vault-format.md numbers them.

use rejoin::store::Space;

pub(crate) const KEYS: Space = Space::Companion;
pub(crate) const SEGMENTS: Space = Space::Derived;
pub(crate) const QUARANTINE: Space = Space::Copy;
