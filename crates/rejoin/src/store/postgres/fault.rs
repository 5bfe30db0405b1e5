//! The server's errors, told as the library's.

use std::error::Error as _;
use std::{fmt, io};

use tokio_postgres::error::SqlState;

use crate::error::{Error, ErrorKind};

/// Says what was attempted when the server fails.
pub(super) trait During<T> {
    /// Names the attempt, lower case, without a full stop.
    fn during(self, attempt: &str) -> Result<T, Error>;
}

impl<T> During<T> for Result<T, tokio_postgres::Error> {
    fn during(self, attempt: &str) -> Result<T, Error> {
        self.map_err(|cause| tell(attempt, cause))
    }
}

/// The server did not answer in time.
#[derive(Debug)]
pub(super) struct Silent;

impl fmt::Display for Silent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the server did not answer in time")
    }
}

impl std::error::Error for Silent {}

/// What to do about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cure {
    /// Try again: nothing was stored, because another transaction was in the way.
    Again,
    /// Connect again: the server went away, and whether it stored something is unknown.
    Reconnect,
    /// Connect later: it takes no more connections.
    Later,
    /// Nothing.
    None,
}

/// Returns what can be done about an error.
pub(super) fn cure(error: &Error) -> Cure {
    let Some(cause) = innermost(error) else { return Cure::None };
    if cause.downcast_ref::<Silent>().is_some() {
        return Cure::Reconnect;
    }
    let Some(cause) = cause.downcast_ref::<ServerError>() else { return Cure::None };
    match cause.0.code() {
        None => {
            let is_lost = cause.0.is_closed() || io_error(&cause.0).is_some_and(|io| !is_settled(io));
            if is_lost { Cure::Reconnect } else { Cure::None }
        }
        Some(code) => cure_of(code),
    }
}

fn cure_of(code: &SqlState) -> Cure {
    if [&SqlState::T_R_DEADLOCK_DETECTED, &SqlState::T_R_SERIALIZATION_FAILURE].contains(&code) {
        return Cure::Again;
    }
    if *code == SqlState::TOO_MANY_CONNECTIONS {
        return Cure::Later;
    }
    // A leader that became a standby is read-only; the next connection finds the new one.
    let is_lost = [
        &SqlState::ADMIN_SHUTDOWN,
        &SqlState::CRASH_SHUTDOWN,
        &SqlState::CANNOT_CONNECT_NOW,
        &SqlState::READ_ONLY_SQL_TRANSACTION,
    ]
    .contains(&code);
    if is_lost || code.code().starts_with("08") { Cure::Reconnect } else { Cure::None }
}

/// The cause that ends the chain, as far as errors of the library go.
fn innermost(error: &Error) -> Option<&(dyn std::error::Error + 'static)> {
    let mut cause = error.source()?;
    while let Some(own) = cause.downcast_ref::<Error>() {
        cause = own.source()?;
    }
    Some(cause)
}

fn io_error(error: &tokio_postgres::Error) -> Option<&io::Error> {
    error.source().and_then(|cause| cause.downcast_ref::<io::Error>())
}

/// True for what no waiting changes.
fn is_settled(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidData)
}

/// True when nobody listens at the address.
pub(super) fn is_refused(error: &Error) -> bool {
    let told = innermost(error).and_then(|cause| cause.downcast_ref::<ServerError>());
    let kind = told.and_then(|told| io_error(&told.0)).map(io::Error::kind);
    matches!(kind, Some(io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound))
}

/// True when a row with this key is there already.
pub(super) fn is_duplicate(error: &Error) -> bool {
    let told = innermost(error).and_then(|cause| cause.downcast_ref::<ServerError>());
    told.and_then(|told| told.0.code()) == Some(&SqlState::UNIQUE_VIOLATION)
}

/// The server's own words. Its error gives a short form of them, and the rest as its cause.
struct ServerError(tokio_postgres::Error);

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.as_db_error(), self.0.source()) {
            (Some(error), _) => f.write_str(error.message()),
            (None, Some(cause)) => write!(f, "{}: {cause}", self.0),
            (None, None) => write!(f, "{}", self.0),
        }
    }
}

impl fmt::Debug for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl std::error::Error for ServerError {}

/// An error of the server as one of the library's.
pub(super) fn tell(attempt: &str, cause: tokio_postgres::Error) -> Error {
    Error::new(kind_of(&cause), attempt).because(ServerError(cause))
}

/// The answer that did not come in time.
pub(super) fn silent(attempt: &str) -> Error {
    Error::new(ErrorKind::Unavailable, attempt).because(Silent)
}

fn kind_of(error: &tokio_postgres::Error) -> ErrorKind {
    let Some(code) = error.code() else { return ErrorKind::Unavailable };
    match code.code() {
        "23505" => ErrorKind::Conflict,
        "40P01" | "40001" | "55P03" => ErrorKind::Locked,
        "28000" | "28P01" | "42501" => ErrorKind::Denied,
        "XX001" | "XX002" | "42P01" | "42703" => ErrorKind::Corrupt,
        // Text with a NUL byte, or more than a field holds.
        "22021" | "54000" => ErrorKind::Invalid,
        _ => ErrorKind::Unavailable,
    }
}

/// Says what to do about a connection that was refused.
pub(super) fn explained(error: Error) -> Error {
    let Some(told) = innermost(&error).and_then(|cause| cause.downcast_ref::<ServerError>()) else {
        return error;
    };
    let advice = match told.0.code().map(SqlState::code) {
        Some("28P01") => "the server refuses the password; look at `PGPASSWORD` or `~/.pgpass`",
        Some("28000") => {
            "the server refuses this role; make it with `createuser`, or allow it in `pg_hba.conf`"
        }
        Some("3D000") => "there is no such database; make it with `createdb`",
        Some("42501") => "this role has not the privileges; ask the owner of the database to `GRANT` them",
        Some("25006") => {
            "the server is read-only; name the one that writes with `target_session_attrs=read-write`"
        }
        Some("53300") => "the server takes no more connections; raise `max_connections`, or use a pooler",
        Some("57P03") => "the server is starting or stopping; try again",
        Some(_) => return error,
        None if told.to_string().contains("password missing") => {
            "the server asks for a password; set `PGPASSWORD`, or put it into `~/.pgpass`"
        }
        None => match io_error(&told.0).map(io::Error::kind) {
            Some(io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound) => {
                "no server answers at this address; is it running?"
            }
            _ => return error,
        },
    };
    error.during(advice)
}
