//! What becomes of records that do not decrypt when their days in quarantine are over.
//!
//! The store copies them there when it finds them. Here the originals go, and what is left is put in order.

mod header;
mod lost;
mod tombstone;
