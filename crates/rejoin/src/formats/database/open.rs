//! Opens the database of another program without writing a byte or creating a file next to it.
//!
//! ```text
//!   journal    beside it        opened                            held still by
//!   rollback   –                mode=ro                           a lock
//!   log        -wal and -shm    mode=ro, shared memory read only  a lock
//!   log        -wal             mode=ro, nothing shared           a look at the files before and after
//!   log        –                immutable                         a look at the files before and after
//! ```
//!
//! A read-only connection would create the missing files of a log, and without a lock it could see half of a
//! concurrent change. So each case has its own way.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use crate::error::{Error, Result};
use crate::formats::ReadLimits;
use crate::formats::database::fault::sqlite_error;
use crate::formats::lines::unreadable;

/// The magic number of a SQLite file.
pub(super) const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The byte that selects the journal mode, and its value for a write-ahead log.
const READ_VERSION: usize = 19;
const LOG: u8 = 2;

/// How long to wait for another program's lock.
const WAIT: Duration = Duration::from_secs(5);

/// The number of VM steps between two checks of the limit.
const STRIDE: i32 = 20_000;

/// The step limit: a base for any database plus a number per byte. Reading takes about two per byte, and an
/// index may be missing. Only a file whose pages form cycles takes more.
const STEPS: u64 = 1_000_000_000;
const STEPS_PER_BYTE: u64 = 32;

/// An open database, and the state of its files if no lock protects them.
pub(super) struct OpenDatabase {
    pub(super) connection: Connection,
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    pub(super) before: Option<DatabaseStamp>,
}

/// The state of a database's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DatabaseStamp([Option<DatabaseFileStamp>; 3]);

/// Device, inode, size and time of a file.
type DatabaseFileStamp = (u64, u64, u64, i64, i64);

impl DatabaseStamp {
    pub(super) fn of(path: &Path) -> Self {
        let look = |path: &Path| {
            let metadata = fs::metadata(path).ok()?;
            Some((metadata.dev(), metadata.ino(), metadata.len(), metadata.mtime(), metadata.mtime_nsec()))
        };
        Self([look(path), look(&beside(path, "-wal")), look(&beside(path, "-shm"))])
    }
}

/// Opens a database for reading.
pub(super) fn open(path: &Path, limits: ReadLimits) -> Result<OpenDatabase> {
    let failed = |cause| unreadable(path, cause);
    // The log is next to the file itself, not next to a link to it.
    let path = path.canonicalize().map_err(failed)?;
    let mut start = Vec::new();
    File::open(&path).and_then(|file| file.take(100).read_to_end(&mut start)).map_err(failed)?;
    if !start.starts_with(MAGIC) || start.len() < 100 {
        return Err(Error::corrupt("it is not a database"));
    }
    let size = |path: &Path| fs::metadata(path).map(|metadata| metadata.len()).ok();
    let (log, index) = (size(&beside(&path, "-wal")), size(&beside(&path, "-shm")));
    let bytes = size(&path).unwrap_or(0);
    if bytes.saturating_add(log.unwrap_or(0)) > limits.file_bytes {
        return Err(Error::invalid(format!("the database has more than {} bytes", limits.file_bytes)));
    }
    let before = DatabaseStamp::of(&path);
    let has_log = start[READ_VERSION] == LOG;
    let (how, before) = match (has_log, log, index) {
        (false, ..) => ("mode=ro", None),
        (true, Some(_), Some(_)) => ("mode=ro&readonly_shm=1", None),
        (true, Some(1..), None) => ("mode=ro&vfs=unix-none", Some(before)),
        (true, Some(0) | None, _) => ("mode=ro&immutable=1", Some(before)),
    };
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let mut connection =
        Connection::open_with_flags(format!("{}?{how}", as_uri(&path)), flags).map_err(sqlite_error)?;
    harden(&mut connection, limits, bytes)?;
    if how.ends_with("unix-none") {
        // In exclusive mode, SQLite keeps the index of the log in its own memory.
        connection.execute_batch("PRAGMA locking_mode = EXCLUSIVE").map_err(sqlite_error)?;
    }
    Ok(OpenDatabase { connection, path, bytes, before })
}

/// Opens an empty database in memory.
pub(super) fn in_memory() -> Result<Connection> {
    Connection::open_in_memory().map_err(sqlite_error)
}

/// Restricts a connection to a hostile database: no code in it runs, no value exceeds the line limit, no
/// query runs forever.
fn harden(connection: &mut Connection, limits: ReadLimits, bytes: u64) -> Result<()> {
    connection.busy_timeout(WAIT).map_err(sqlite_error)?;
    let switches = [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE, false),
        (DbConfig::SQLITE_DBCONFIG_DQS_DML, false),
        (DbConfig::SQLITE_DBCONFIG_DQS_DDL, false),
        // Closing must not checkpoint the log.
        (DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true),
    ];
    for (switch, value) in switches {
        connection.set_db_config(switch, value).map_err(sqlite_error)?;
    }
    let most = i32::try_from(limits.line_bytes).unwrap_or(i32::MAX);
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, most).map_err(sqlite_error)?;
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0).map_err(sqlite_error)?;
    limit_steps(connection, STEPS.saturating_add(bytes.saturating_mul(STEPS_PER_BYTE)))?;
    let settings = "PRAGMA query_only = ON; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; \
                    PRAGMA temp_store = MEMORY;";
    connection.execute_batch(settings).map_err(sqlite_error)
}

/// Interrupts queries that take too many steps.
fn limit_steps(connection: &mut Connection, most: u64) -> Result<()> {
    let mut steps = 0u64;
    let is_enough = move || {
        steps = steps.saturating_add(STRIDE.unsigned_abs().into());
        steps > most
    };
    connection.progress_handler(STRIDE, Some(is_enough)).map_err(sqlite_error)
}

/// Returns the path with a suffix appended to the file name.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Returns the path as a URI, with special bytes percent-encoded.
fn as_uri(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                uri.push(char::from(*byte));
            }
            other => uri.push_str(&format!("%{other:02x}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_that_does_not_end_is_ended() {
        let mut connection = in_memory().unwrap();
        limit_steps(&mut connection, 1_000_000).unwrap();

        let endless =
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
        let error = connection.query_row(endless, [], |_| Ok(())).map_err(sqlite_error).unwrap_err();

        let expected =
            "[corrupt] reading the database takes more steps than one of its size can need: interrupted";
        assert_eq!(format!("{error:?}"), expected);
    }
}
