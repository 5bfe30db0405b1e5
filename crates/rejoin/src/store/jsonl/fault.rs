//! The file system's errors, told as the library's.

use std::io;

use crate::error::{Error, ErrorKind, Result};

/// Says what was attempted when the file system fails.
pub(super) trait DuringIo<T> {
    /// Names the attempt, lower case, without a full stop.
    fn during<S: Into<String>>(self, attempt: impl FnOnce() -> S) -> Result<T>;
}

impl<T> DuringIo<T> for io::Result<T> {
    fn during<S: Into<String>>(self, attempt: impl FnOnce() -> S) -> Result<T> {
        self.map_err(|cause| Error::new(kind_of(&cause), attempt()).because(cause))
    }
}

fn kind_of(cause: &io::Error) -> ErrorKind {
    match cause.kind() {
        io::ErrorKind::WouldBlock => ErrorKind::Locked,
        _ => ErrorKind::Unavailable,
    }
}
