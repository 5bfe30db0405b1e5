//! Converts SQLite's errors about another program's database into this crate's errors.

use rusqlite::ErrorCode;

use crate::error::{Error, ErrorKind};

/// Explains the problem with the database in words that suggest a solution.
pub(super) fn sqlite_error(cause: rusqlite::Error) -> Error {
    let (kind, message) = match cause.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed) => {
            (ErrorKind::Locked, "its program holds the database")
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            (ErrorKind::Corrupt, "the database is damaged")
        }
        Some(ErrorCode::TooBig) => {
            (ErrorKind::Invalid, "the database has a value that is larger than allowed")
        }
        Some(ErrorCode::OperationInterrupted) => {
            (ErrorKind::Corrupt, "reading the database takes more steps than one of its size can need")
        }
        // Rolling back an interrupted change takes write permission.
        Some(ErrorCode::ReadOnly) => (
            ErrorKind::Unavailable,
            "the database was left in the middle of a change; open it with its program first",
        ),
        Some(ErrorCode::Unknown) | None => (ErrorKind::Unsupported, "the tables are not as they should be"),
        Some(_) => (ErrorKind::Unavailable, "read the database"),
    };
    // SQLite's error would repeat the words of its cause.
    Error::new(kind, message).because(cause.to_string())
}
