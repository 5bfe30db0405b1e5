//! Cleanup of records that do not decrypt, once their retention in quarantine ends.
//!
//! The store copies them to quarantine when it finds them. This module deletes the originals and repairs what
//! refers to them.

mod header;
mod lost;
mod tombstone;
