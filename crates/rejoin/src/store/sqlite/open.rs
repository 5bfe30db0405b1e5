//! Opening a database: the one place where SQLite is opened, so that every connection is hardened alike.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use crate::error::{Error, ErrorKind, Result};
use crate::store::durable;
use crate::store::sqlite::fault::During;

/// `RJON`: says whose file it is.
pub(super) const APPLICATION_ID: i32 = 0x524A_4F4E;

/// Below this, two connections that write and checkpoint at once can corrupt the file
/// (<https://sqlite.org/wal.html#the_wal_reset_bug>). The library is compiled in, so this fails the build, not a user.
const _: () = assert!(rusqlite::ffi::SQLITE_VERSION_NUMBER >= 3_051_003);

/// Measured against 4 KiB: a load is a fifth faster, an append no slower.
const PAGE_SIZE: i32 = 16_384;

const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// How a connection is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// Every commit is synced before it returns.
    Synced,
    /// Commits are synced by the next synced commit or checkpoint: for what can be computed again.
    Unsynced,
}

/// Opens the database at `path`, creating the file and its directory when they are missing.
pub(super) fn open(path: &Path, wait: Duration, usage: Use) -> Result<Connection> {
    prepare_file(path)?;
    let attempt = || format!("open the database `{}`", path.display());
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    // SQLite refuses any link on the way with NOFOLLOW; links to directories are the user's own business.
    let resolved = resolve(path)?;
    let mut connection = Connection::open_with_flags(&resolved, flags).during(&attempt())?;
    harden(&mut connection, wait).map_err(|error| explain(error, path).during(attempt()))?;
    use_log(&connection, wait, usage).map_err(|error| explain(error, path).during(attempt()))?;
    Ok(connection)
}

/// Opens an empty file that is about to receive a copy of a database, page by page.
pub(super) fn open_copy(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags).during(&format!("open the copy `{}`", path.display()))
}

fn resolve(path: &Path) -> Result<std::path::PathBuf> {
    let name =
        path.file_name().ok_or_else(|| Error::invalid(format!("`{}` names no file", path.display())))?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let directory =
        directory.canonicalize().map_err(|cause| unusable("resolve the directory", directory, cause))?;
    Ok(directory.join(name))
}

fn unusable(attempt: &str, path: &Path, cause: io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, format!("{attempt} `{}`", path.display())).because(cause)
}

/// Creates what is missing with the right permissions before SQLite can create it with the wrong ones, and refuses
/// what is no database before SQLite reads it.
fn prepare_file(path: &Path) -> Result<()> {
    durable::create_private_directory(path)
        .map_err(|cause| unusable("create the directory", durable::directory_of(path), cause))?;
    let existing = match path.symlink_metadata() {
        Ok(existing) => existing,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
            let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
            return match created {
                // The name must be durable before the first commit is acknowledged.
                Ok(_) => {
                    durable::sync_parent(path).map_err(|cause| unusable("sync the directory of", path, cause))
                }
                Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                Err(cause) => Err(unusable("create the database", path, cause)),
            };
        }
        Err(cause) => return Err(unusable("look at", path, cause)),
    };
    if !existing.file_type().is_file() {
        return Err(Error::invalid(format!("`{}` is not a regular file", path.display())));
    }
    let mut start = [0; 16];
    let mut file = File::open(path).map_err(|cause| unusable("open the database", path, cause))?;
    let read = file.read(&mut start).map_err(|cause| unusable("read the database", path, cause))?;
    if read != 0 && start[..read] != MAGIC[..read] {
        return Err(Error::invalid(format!("`{}` is not a Rejoin database", path.display())));
    }
    Ok(())
}

fn harden(connection: &mut Connection, wait: Duration) -> Result<()> {
    let attempt = "prepare the connection";
    let mut since: Option<Instant> = None;
    connection
        .busy_handler(Some(move |calls: i32| {
            // Short, uneven sleeps: many writers each get their turn within milliseconds, and none waits for ever.
            let began = match since {
                Some(began) if calls > 0 => began,
                _ => *since.insert(Instant::now()),
            };
            let waited = began.elapsed();
            let uneven = (waited.subsec_nanos() / 64) % 1_000;
            std::thread::sleep(Duration::from_micros(u64::from(
                200 + uneven + calls.unsigned_abs().min(40) * 50,
            )));
            waited < wait
        }))
        .during(attempt)?;
    let switches = [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true),
        (DbConfig::SQLITE_DBCONFIG_DQS_DML, false),
        (DbConfig::SQLITE_DBCONFIG_DQS_DDL, false),
        // Plans do not depend on the values that are bound, so a cached statement is never prepared again.
        (DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true),
        // A one-shot command must not pay for folding the log; see checkpoint.rs.
        (DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true),
    ];
    for (switch, value) in switches {
        connection.set_db_config(switch, value).during(attempt)?;
    }
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0).during(attempt)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(())
}

fn use_log(connection: &Connection, wait: Duration, usage: Use) -> Result<()> {
    let attempt = "set up the connection";
    let synchronous = match usage {
        Use::Synced => "FULL",
        Use::Unsynced => "NORMAL",
    };
    connection
        .execute_batch(&format!(
            "PRAGMA page_size = {PAGE_SIZE};
             PRAGMA secure_delete = ON;
             PRAGMA cell_size_check = ON;
             PRAGMA mmap_size = 0;
             PRAGMA temp_store = MEMORY;
             PRAGMA synchronous = {synchronous};"
        ))
        .during(attempt)?;
    // Switching a new file to a log does not use the busy handler, so that first starts at the same moment collide.
    let began = Instant::now();
    loop {
        let mode = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
        match mode.during("switch the database to a write-ahead log") {
            Ok(mode) if mode == "wal" => break,
            Ok(_) => {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    "this file system cannot hold a write-ahead log",
                ));
            }
            Err(error) if error.kind() == ErrorKind::Locked && began.elapsed() < wait => {
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(error) => return Err(error),
        }
    }
    connection.execute_batch("PRAGMA wal_autocheckpoint = 0;").during(attempt)
}

/// SQLite says "unable to open" for a directory that cannot be written to; the user needs to know which.
fn explain(error: Error, path: &Path) -> Error {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if error.kind() == ErrorKind::Unavailable && !durable::is_writable(directory) {
        return error.during(format!("the directory `{}` cannot be written to", directory.display()));
    }
    error
}
