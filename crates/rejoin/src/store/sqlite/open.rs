//! Opening a database: the one place where SQLite is opened, so that every connection is hardened alike.

use std::cell::Cell;
use std::ffi::CStr;
use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use crate::error::{Error, ErrorKind, Result};
use crate::store::owner::{self, PathWay, User};
use crate::store::sqlite::fault::DuringSql;
use crate::store::sqlite::log;
use crate::store::sqlite::migrate::{CURRENT, Schema, identify};
use crate::store::{durable, place};

/// `RJON`: says whose file it is.
pub(super) const APPLICATION_ID: i32 = 0x524A_4F4E;

/// Below this, two connections that write and checkpoint at once can corrupt the
/// file (<https://sqlite.org/wal.html#the_wal_reset_bug>). The library is compiled
/// in, so this fails the build, not a user.
const _: () = assert!(rusqlite::ffi::SQLITE_VERSION_NUMBER >= 3_051_003);

/// Measured against 4 KiB: a load is a fifth faster, an append no slower.
const PAGE_SIZE: i32 = 16_384;

/// The smallest page.
const SHORTEST: u64 = 512;

pub(super) const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// How a connection is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionUse {
    /// Every commit is synced before it returns.
    Synced,
    /// Commits are synced by the next synced commit or checkpoint: for what can be computed again.
    Unsynced,
}

/// Where the index of the log is while the database is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogIndex {
    /// In a file beside it, which all processes share.
    Shared,
    /// In the memory of this process, which then has the database alone. It takes no room on the disk.
    Private,
}

impl LogIndex {
    /// The name of SQLite's way to files. The second one keeps other processes out with a lock on the main
    /// file, and lets connections of this process share the index.
    const fn way(self) -> &'static CStr {
        match self {
            Self::Shared => c"unix",
            Self::Private => c"unix-excl",
        }
    }
}

/// A database that was opened.
pub(super) struct DatabaseConnection {
    pub(super) connection: Connection,
    /// Where the index of the log is: all connections of a process have to agree on that.
    pub(super) index: LogIndex,
    /// Its files, as they were once it was read; none when it was just switched to a
    /// log, which is made by the next read.
    pub(super) files: Option<DatabaseFiles>,
}

/// The files of a database: none of them is another user's.
#[derive(Debug, Default)]
pub(super) struct DatabaseFiles {
    pub(super) main: Option<Metadata>,
    pub(super) log: Option<Metadata>,
    pub(super) index: Option<Metadata>,
}

/// Opens the database at `path`, creating the file and its directory when they are missing.
pub(super) fn open(path: &Path, wait: Duration, usage: ConnectionUse) -> Result<Connection> {
    open_with_room(path, wait, usage, &|connection| recognize(connection, path).map(drop))
        .map(|opened| opened.connection)
}

/// The same for the first connection of a store. One that needs no migration is looked at in one moment: what
/// its schema says, or what is wrong with it.
pub(super) fn open_first(
    path: &Path,
    wait: Duration,
) -> Result<(DatabaseConnection, Option<Result<Schema>>)> {
    let schema = Cell::new(None);
    let opened = open_with_room(path, wait, ConnectionUse::Synced, &|connection| {
        if recognize(connection, path)? == CURRENT {
            schema.set(Some(Schema::read(connection, path)));
        }
        Ok(())
    })?;
    Ok((opened, schema.into_inner()))
}

/// Opens another connection to a database that this process has open.
pub(super) fn open_again(
    path: &Path,
    wait: Duration,
    usage: ConnectionUse,
    index: LogIndex,
) -> Result<Connection> {
    open_recognized(path, wait, usage, index, &|connection| recognize(connection, path).map(drop))
        .map(|opened| opened.connection)
}

/// Opens a database to replace all of its content, which a newer Rejoin may have written.
pub(super) fn open_to_replace(path: &Path, wait: Duration) -> Result<Connection> {
    let recognize = |connection: &Connection| match identify(connection, path) {
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(()),
        known => known.map(drop),
    };
    open_with_room(path, wait, ConnectionUse::Synced, &recognize).map(|opened| opened.connection)
}

/// Accepts a Rejoin database, and returns its version. What SQLite cannot read as
/// a database need not be a damaged one.
fn recognize(connection: &Connection, path: &Path) -> Result<i32> {
    identify(connection, path).map_err(|error| match error.kind() {
        ErrorKind::Corrupt => refuse_stranger(path).err().unwrap_or(error),
        _ => error,
    })
}

/// Opens a database in the way for which there is room.
///
/// SQLite maps the shared index of the log into memory, and its blocks are allocated when they
/// are first written to. On a full disk that ends the process with a signal (`SIGBUS`), where a
/// block is smaller than a page of memory.
fn open_with_room(
    path: &Path,
    wait: Duration,
    usage: ConnectionUse,
    recognize: &dyn Fn(&Connection) -> Result<()>,
) -> Result<DatabaseConnection> {
    if !place::is_full(durable::directory_of(path)) {
        return open_recognized(path, wait, usage, LogIndex::Shared, recognize);
    }
    let began = Instant::now();
    loop {
        // Another process that has it open has a shared index, for which it
        // found room, or a private one for a while.
        for index in [LogIndex::Private, LogIndex::Shared] {
            match open_recognized(path, Duration::ZERO, usage, index, recognize) {
                Err(error) if error.kind() == ErrorKind::Locked && began.elapsed() < wait => {}
                opened => {
                    let mut opened = opened?;
                    wait_for_others(&mut opened.connection, wait)?;
                    return Ok(opened);
                }
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn open_recognized(
    path: &Path,
    wait: Duration,
    usage: ConnectionUse,
    index: LogIndex,
    recognize: &dyn Fn(&Connection) -> Result<()>,
) -> Result<DatabaseConnection> {
    let user = User::current();
    let CheckedPlace { way, existing } = prepare_file(user, path)?;
    place::refuse_network(path)?;
    let attempt = || format!("open the database `{}`", path.display());
    let before = existing.as_ref().map(identity_of).or_else(|| identity(path));
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    // SQLite refuses any link on the way with NOFOLLOW; links to directories are the user's own business.
    let resolved = match way {
        PathWay::Straight => path.to_owned(),
        PathWay::Unknown => resolve(path)?,
    };
    let mut connection =
        Connection::open_with_flags_and_vfs(&resolved, flags, index.way()).during(&attempt())?;
    let explained = |error: Error| match error.kind() {
        // Whose file it is says why it was not opened.
        ErrorKind::Invalid | ErrorKind::Unsupported => error,
        _ => explain(error, path).during(attempt()),
    };
    harden(&mut connection, wait).map_err(explained)?;
    let journal = use_log(&connection, wait, usage, recognize).map_err(explained)?;
    // In a directory such as /tmp somebody may have put a log there since it was looked at.
    let files = refuse_foreign_files(user, path).map_err(|cause| denied(path, cause))?;
    // SQLite finds the log by name. A file that was put aside meanwhile must not be used with the log of
    // the other file that has its name by now.
    if files.main.as_ref().map(identity_of) != before {
        return Err(Error::new(ErrorKind::Locked, "another process replaced the file").during(attempt()));
    }
    let files = (journal == Journal::Log).then_some(files);
    Ok(DatabaseConnection { connection, index, files })
}

/// Opens a copy that nobody else uses, to read it. It is not changed, and no file is made beside it.
pub(super) fn open_read_only(path: &Path) -> Result<Connection> {
    // A copy made by other means may come with a log, without which its newest messages would be missing.
    if durable::beside(path, "-wal").metadata().is_ok_and(|log| log.len() > 0) {
        return open(path, Duration::ZERO, ConnectionUse::Synced);
    }
    refuse_stranger(path)?;
    let attempt = format!("open the copy `{}`", path.display());
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let mut connection =
        Connection::open_with_flags(format!("{}?immutable=1", as_uri(path)), flags).during(&attempt)?;
    harden(&mut connection, Duration::ZERO).map_err(|error| error.during(attempt.as_str()))?;
    connection
        .execute_batch("PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY;")
        .during(&attempt)?;
    Ok(connection)
}

/// The path as a URI, with every byte that could mean something else written as a number.
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

fn identity(path: &Path) -> Option<(u64, u64)> {
    path.symlink_metadata().ok().as_ref().map(identity_of)
}

fn identity_of(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// Opens an empty file that is about to receive a copy of a database, page by page.
pub(super) fn open_copy(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags).during(&format!("open the copy `{}`", path.display()))
}

fn resolve(path: &Path) -> Result<PathBuf> {
    let name =
        path.file_name().ok_or_else(|| Error::invalid(format!("`{}` names no file", path.display())))?;
    let directory = durable::directory_of(path);
    let directory =
        directory.canonicalize().map_err(|cause| unusable("resolve the directory", directory, cause))?;
    Ok(directory.join(name))
}

fn unusable(attempt: &str, path: &Path, cause: io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, format!("{attempt} `{}`", path.display())).because(cause)
}

/// Creates what is missing with the right permissions before SQLite can create it with the wrong ones, and
/// refuses what SQLite would write over.
///
/// The file is not opened for this: closing it would give back the locks that this process has on it. What it
/// holds is for SQLite to say, which knows the log: its first page may be whole there only.
fn prepare_file(user: User, path: &Path) -> Result<CheckedPlace> {
    let directory = durable::directory_of(path);
    let judged = owner::refuse_place(user, directory)
        .and_then(|way| Ok(CheckedPlace { way, existing: refuse_foreign_files(user, path)?.main }));
    let prepared = judged.map_err(|cause| denied(path, cause))?;
    let Some(existing) = &prepared.existing else {
        if !directory.is_dir() {
            durable::create_private_directory(path)
                .map_err(|cause| unusable("create the directory", directory, cause))?;
            // Another process may have been first, so it has to be judged.
            return prepare_file(user, path);
        }
        return match path.symlink_metadata() {
            // The name must be durable before the first commit is acknowledged.
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => durable::create_private(path)
                .map_err(|cause| unusable("create the database", path, cause))
                .map(|()| prepared),
            Err(cause) => Err(unusable("look at", path, cause)),
            // Another process was first, so it has to be looked at.
            Ok(_) => prepare_file(user, path),
        };
    };
    if !existing.file_type().is_file() {
        return Err(Error::invalid(format!("`{}` is not a regular file", path.display())));
    }
    match existing.len() {
        0 => log::save_from_empty(path)?,
        length if is_fragment(length) => return Err(stranger(path)),
        _ => {}
    }
    Ok(prepared)
}

/// A place that was judged before a database is opened there.
struct CheckedPlace {
    way: PathWay,
    /// The main file, unless it was just created.
    existing: Option<Metadata>,
}

/// True for a file that is too short for a header. SQLite takes it for an empty
/// one, and would write over what is left.
pub(super) const fn is_fragment(length: u64) -> bool {
    0 < length && length < SHORTEST
}

fn stranger(path: &Path) -> Error {
    Error::invalid(format!("`{}` is not a Rejoin database", path.display()))
}

/// Refuses the files of a database that another user owns or can write, and tells what they are. What stands
/// in the log counts as much as what stands in the file.
fn refuse_foreign_files(user: User, path: &Path) -> io::Result<DatabaseFiles> {
    let beside = |suffix| owner::refuse_file(user, &durable::beside(path, suffix));
    let found =
        DatabaseFiles { main: owner::refuse_file(user, path)?, log: beside("-wal")?, index: beside("-shm")? };
    // Rejoin leaves no journal behind, but SQLite plays back one that it finds.
    beside("-journal")?;
    Ok(found)
}

fn denied(path: &Path, cause: io::Error) -> Error {
    Error::new(ErrorKind::Denied, format!("open the database `{}`", path.display())).because(cause)
}

/// Refuses a file that is no database, whatever its log says. An empty one is a
/// database that was never written to.
fn refuse_stranger(path: &Path) -> Result<()> {
    let mut start = [0; 16];
    let mut file = File::open(path).map_err(|cause| unusable("open the database", path, cause))?;
    let read = file.read(&mut start).map_err(|cause| unusable("read the database", path, cause))?;
    let length = file.metadata().map_err(|cause| unusable("look at", path, cause))?.len();
    if is_fragment(length) || start[..read] != MAGIC[..read] {
        return Err(stranger(path));
    }
    Ok(())
}

fn wait_for_others(connection: &mut Connection, wait: Duration) -> Result<()> {
    let mut since: Option<Instant> = None;
    connection
        .busy_handler(Some(move |calls: i32| {
            // Short, uneven sleeps: many writers each get their turn within
            // milliseconds, and none waits for ever.
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
        .during("prepare the connection")
}

fn harden(connection: &mut Connection, wait: Duration) -> Result<()> {
    let attempt = "prepare the connection";
    wait_for_others(connection, wait)?;
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

/// What a database had to undo changes with when it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Journal {
    Log,
    Other,
}

fn use_log(
    connection: &Connection,
    wait: Duration,
    usage: ConnectionUse,
    recognize: &dyn Fn(&Connection) -> Result<()>,
) -> Result<Journal> {
    let attempt = "set up the connection";
    connection
        .execute_batch(&format!(
            "PRAGMA page_size = {PAGE_SIZE};
             PRAGMA secure_delete = ON;
             PRAGMA cell_size_check = ON;
             PRAGMA mmap_size = 0;
             PRAGMA temp_store = MEMORY;"
        ))
        .during(attempt)?;
    set_synchronous(connection, usage)?;
    // Switching a new file to a log does not use the busy handler, so that
    // first starts at the same moment collide.
    let began = Instant::now();
    let journal = loop {
        // Whose file it is must be known before it is switched: the mode is written into it.
        let mode = recognize_in_one_moment(connection, recognize).and_then(|mode| match mode.as_str() {
            "wal" => Ok((mode, Journal::Log)),
            _ => connection
                .query_row("PRAGMA journal_mode = WAL", [], |row| Ok((row.get(0)?, Journal::Other)))
                .during("switch the database to a write-ahead log"),
        });
        match mode {
            Ok((mode, journal)) if mode == "wal" => break journal,
            Ok(_) => {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    format!(
                        "the file system of `{}` cannot hold a write-ahead log",
                        connection.path().unwrap_or_default()
                    ),
                ));
            }
            Err(error) if error.kind() == ErrorKind::Locked && began.elapsed() < wait => {
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(error) => return Err(error),
        }
    };
    connection.execute_batch("PRAGMA wal_autocheckpoint = 0;").during(attempt)?;
    Ok(journal)
}

/// Accepts a database, and returns how it keeps its journal. It is locked once for all that is asked.
fn recognize_in_one_moment(
    connection: &Connection,
    recognize: &dyn Fn(&Connection) -> Result<()>,
) -> Result<String> {
    let attempt = "look at the database";
    let snapshot = connection.unchecked_transaction().during(attempt)?;
    recognize(&snapshot)?;
    snapshot.query_row("PRAGMA journal_mode", [], |row| row.get(0)).during(attempt)
}

/// Says whether commits are synced from now on.
pub(super) fn set_synchronous(connection: &Connection, usage: ConnectionUse) -> Result<()> {
    let synchronous = match usage {
        ConnectionUse::Synced => "PRAGMA synchronous = FULL",
        ConnectionUse::Unsynced => "PRAGMA synchronous = NORMAL",
    };
    connection.execute_batch(synchronous).during("set up the connection")
}

/// SQLite says "unable to open" for a directory that cannot be written to; the user needs to know which.
fn explain(error: Error, path: &Path) -> Error {
    let directory = durable::directory_of(path);
    if error.kind() == ErrorKind::Unavailable && !durable::is_writable(directory) {
        return error.during(format!("the directory `{}` cannot be written to", directory.display()));
    }
    error
}
