//! SQLite's errors, told as the library's.

use rusqlite::ErrorCode;

use crate::error::{Error, ErrorKind};

/// Says what was attempted when SQLite fails.
pub(super) trait During<T> {
    /// Names the attempt, lower case, without a full stop.
    fn during(self, attempt: &str) -> Result<T, Error>;
}

impl<T> During<T> for rusqlite::Result<T> {
    fn during(self, attempt: &str) -> Result<T, Error> {
        self.map_err(|cause| Error::new(kind_of(&cause), attempt).because(cause))
    }
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
