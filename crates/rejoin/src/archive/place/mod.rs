//! The place of a store: its URL, and what is done there before an archive is open or without one.
//!
//! ```text
//!    url.rs      StoreUrl, what it takes to open it, and opening it
//!    pinned.rs   which vault is used there; unpinned.rs in a build without vaults
//!    copies.rs   backup, restore, and looking a store over
//!    convert.rs  encrypting a plain store, and back
//! ```

#[cfg(feature = "vault")]
mod convert;
mod copies;
#[cfg_attr(not(feature = "vault"), path = "unpinned.rs")]
mod pinned;
mod url;

#[cfg(feature = "vault")]
pub use convert::{Converted, Leftover};
pub use copies::{Restored, Stage};
pub use url::{Access, Existing, StoreUrl};
