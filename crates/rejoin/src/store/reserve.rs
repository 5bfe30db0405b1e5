//! Room that is kept for a full disk: a file that is given up so that conversations can still be removed.
//!
//! Removing takes room before it gives any back: the log grows, names are moved. On a disk that the store
//! itself filled there is none, unless some was put aside while there was.

use std::path::PathBuf;

use crate::store::{durable, place};

/// How much is put aside: enough for the log of a removal, which is done in pieces where there is no more.
pub(super) const BYTES: u64 = 1 << 20;

/// Nothing is put aside while there is less room than this; it would be missed.
const ROOM: u64 = 8 * BYTES;

/// The room that a store keeps.
#[derive(Clone, Debug)]
pub(super) struct Reserve(PathBuf);

impl Reserve {
    /// The room that the file at `path` holds, if it is there.
    pub(super) const fn at(path: PathBuf) -> Self {
        Self(path)
    }

    /// Puts the room aside unless that is done already. A store works as well
    /// without it, so a failure is none.
    pub(super) fn keep(&self) {
        if self.0.symlink_metadata().is_ok_and(|there| there.len() >= BYTES) {
            return;
        }
        let has_room = place::free_bytes(durable::directory_of(&self.0)).is_ok_and(|free| free >= ROOM);
        if has_room && let Err(cause) = durable::allocate(&self.0, BYTES) {
            tracing::debug!(%cause, "no room was put aside");
        }
    }

    /// Gives the room up if there is hardly any other.
    pub(super) fn give_up_if_full(&self) {
        let is_full = place::free_bytes(durable::directory_of(&self.0)).is_ok_and(|free| free < BYTES);
        // Where it is missing there is nothing to give up.
        if is_full && durable::remove(&self.0).is_ok() {
            tracing::info!("the disk is full; the reserve was given up");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn the_room_is_really_taken_and_taken_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("reserve");
        let reserve = Reserve::at(path.clone());

        reserve.keep();
        let first = path.metadata().unwrap();
        reserve.keep();
        let second = path.metadata().unwrap();

        assert_eq!((first.ino(), first.len(), first.mode() & 0o777), (second.ino(), BYTES, 0o600));
        assert!(first.blocks() * 512 >= BYTES, "{} blocks", first.blocks());
    }

    #[test]
    fn room_that_is_not_needed_is_not_given_up() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("reserve");
        let reserve = Reserve::at(path.clone());
        reserve.keep();

        reserve.give_up_if_full();

        assert!(path.exists());
    }
}
