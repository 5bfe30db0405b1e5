//! SQLite's errors, told as the library's.

use std::error::Error as StdError;
use std::{fmt, io};

use rusqlite::{ErrorCode, ffi};
use rustix::io::Errno;

use crate::error::{Error, ErrorKind};

/// Says what was attempted when SQLite fails.
pub(super) trait DuringSql<T> {
    /// Names the attempt, lower case, without a full stop.
    fn during(self, attempt: &str) -> Result<T, Error>;
}

impl<T> DuringSql<T> for rusqlite::Result<T> {
    fn during(self, attempt: &str) -> Result<T, Error> {
        self.map_err(|cause| {
            let error = Error::new(kind_of(&cause), attempt);
            // A caller that meets a full disk or a limit can act on it, so it is told as the system tells it.
            match want_of_room(&cause).or_else(|| want_of_files(&cause)) {
                Some(wanting) => error.because(wanting),
                None => error.because(SqliteMessage(cause)),
            }
        })
    }
}

/// SQLite's own words. Its error gives the same words again as its cause, with a number before them.
struct SqliteMessage(rusqlite::Error);

impl fmt::Display for SqliteMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for SqliteMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl StdError for SqliteMessage {}

/// True when the file system failed in a way that leaves unknown what is on disk.
pub(super) fn is_unknown(error: &Error) -> bool {
    let told = error.source().and_then(|source| source.downcast_ref::<SqliteMessage>());
    told.and_then(|told| told.0.sqlite_error_code()) == Some(ErrorCode::SystemIoFailure)
}

/// The system's error, when there was no room for what SQLite wanted to write.
fn want_of_room(error: &rusqlite::Error) -> Option<io::Error> {
    let own = error.sqlite_error()?;
    if own.code == ErrorCode::DiskFull {
        return Some(full());
    }
    // The shared index of the log grows only where its new bytes can be stored.
    let is_of_index = own.extended_code == ffi::SQLITE_IOERR_SHMSIZE;
    if !is_of_index && own.extended_code != ffi::SQLITE_IOERR_WRITE {
        return None;
    }
    // SQLite tells one number of a full disk apart from other failures. The system keeps the number of the
    // last call that failed, and a rollback makes none that does.
    match io::Error::last_os_error().kind() {
        kind @ io::ErrorKind::QuotaExceeded => Some(io::Error::new(kind, "the disk quota is used up")),
        kind @ io::ErrorKind::FileTooLarge => Some(io::Error::new(kind, "the file may not grow any more")),
        _ => is_of_index.then(full),
    }
}

/// The system's error, when this process may not open one more file.
fn want_of_files(error: &rusqlite::Error) -> Option<io::Error> {
    let is_unopened = error.sqlite_error_code() == Some(ErrorCode::CannotOpen);
    let last = io::Error::last_os_error();
    let too_many = [Errno::MFILE, Errno::NFILE].map(|errno| Some(errno.raw_os_error()));
    (is_unopened && too_many.contains(&last.raw_os_error())).then_some(last)
}

/// What a full disk is told as.
pub(super) fn full() -> io::Error {
    io::Error::new(io::ErrorKind::StorageFull, "the disk is full")
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
