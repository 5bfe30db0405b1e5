//! What a snapshot of files is stored as: a manifest lists the files, and packs hold their contents.
//!
//! ```text
//! manifest   {"rejoin":"files","version":1,"taken":…,"directory":"/home/ada/trip","identity":"…"}
//!            {"path":"src/main.rs","size":9,"mode":420,"modified":…,"changed":…,"inode":7,"content":"…"}
//!            {"path":"old.rs","removed":true}
//! pack       {"rejoin":"pack","version":1,"contents":[["sha256:…",9],…]}   one line, then the bytes
//! ```
//!
//! A manifest that follows another one lists only what changed since, so that a change costs as much as it
//! is. Its lines are in order of path.

mod manifest;
mod pack;

pub use manifest::{FileContent, FileEntry, FileManifest, FileStamp, LeftOut};
pub(crate) use pack::{PackedContent, pack, unpack};
