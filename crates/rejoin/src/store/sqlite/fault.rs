//! SQLite's errors, told as the library's.

use std::io;

use rusqlite::{ErrorCode, ffi};

use crate::error::{Error, ErrorKind};

/// Says what was attempted when SQLite fails.
pub(super) trait During<T> {
    /// Names the attempt, lower case, without a full stop.
    fn during(self, attempt: &str) -> Result<T, Error>;
}

impl<T> During<T> for rusqlite::Result<T> {
    fn during(self, attempt: &str) -> Result<T, Error> {
        self.map_err(|cause| {
            let error = Error::new(kind_of(&cause), attempt);
            // A caller that meets a full disk can act on it, so it is told as the system tells it.
            if is_full(&cause) {
                error.because(io::Error::new(io::ErrorKind::StorageFull, "the disk is full"))
            } else {
                error.because(cause)
            }
        })
    }
}

fn is_full(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|own| {
        // The shared index of the log grows only where its new bytes can be stored.
        own.code == ErrorCode::DiskFull || own.extended_code == ffi::SQLITE_IOERR_SHMSIZE
    })
}

pub(super) fn kind_of(error: &rusqlite::Error) -> ErrorKind {
    let Some(code) = error.sqlite_error_code() else {
        // A row of an unexpected shape: not what this version wrote.
        return ErrorKind::Corrupt;
    };
    match code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed => {
            ErrorKind::Locked
        }
        ErrorCode::DatabaseCorrupt
        | ErrorCode::NotADatabase
        | ErrorCode::SchemaChanged
        | ErrorCode::TypeMismatch => ErrorKind::Corrupt,
        ErrorCode::ConstraintViolation => ErrorKind::Conflict,
        ErrorCode::TooBig | ErrorCode::ParameterOutOfRange | ErrorCode::ApiMisuse => ErrorKind::Invalid,
        _ => ErrorKind::Unavailable,
    }
}
