//! Where the keys of a vault come from.

use crate::error::Result;
use crate::store::Store;
use crate::store::sealed::keys::workspace::Workspace;

/// Unlocks a vault, as often as it is asked: another process may have made new keys meanwhile.
pub trait Unlock: Send + Sync {
    /// Reads the newest record of keys in the inner store, and opens it.
    fn unlock(&self, inner: &dyn Store) -> Result<Workspace>;
}
