//! How answers look: text made safe, fitted, coloured and paged for the person at the terminal.
//!
//! Everything here takes plain values. Nothing here knows the store, parses flags or decides what to say.

pub(crate) mod ask;
pub(crate) mod clean;
pub(crate) mod cluster;
pub(crate) mod consent;
pub(crate) mod escape;
pub(crate) mod external_editor;
pub(crate) mod fit;
pub(crate) mod forest;
pub(crate) mod json;
pub(crate) mod keyboard;
pub(crate) mod markdown;
pub(crate) mod marked;
pub(crate) mod page;
pub(crate) mod paint;
pub(crate) mod period;
pub(crate) mod progress;
pub(crate) mod quote;
pub(crate) mod secret;
pub(crate) mod size;
pub(crate) mod table;
pub(crate) mod tree;
pub(crate) mod when;
