//! Looking at a database before it is used, without changing it: for finding out why it cannot be used.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use rusqlite::TransactionBehavior;

use crate::error::{Error, ErrorKind, Result};
use crate::store::place::{self, Belonging};
use crate::store::sqlite::SqliteStore;
use crate::store::sqlite::fault::DuringSql;
use crate::store::sqlite::holder::holders;
use crate::store::sqlite::open::{ConnectionUse, open};
use crate::store::sqlite::{index, migrate, restore};
use crate::store::{Examination, StoreCondition, durable};

/// Long enough for any append to end, so that only a lock that stays is told.
const WAIT: Duration = Duration::from_secs(1);

impl SqliteStore {
    /// Looks at the database at `path`. Nothing is created, migrated or repaired.
    pub(crate) fn examine(path: &Path) -> Examination {
        let directory = durable::directory_of(path);
        // Before the first use the directory is missing too, and lies where its nearest ancestor does.
        let existing = directory.ancestors().find(|above| above.exists()).unwrap_or(directory);
        let files = ["", "-wal", "-shm"].map(|suffix| durable::beside(path, suffix));
        let length = |path: &Path| path.metadata().map_or(0, |metadata| metadata.len());
        let (leftovers, kept) = copies_beside(path);
        let mut holders = holders(path);
        // A file in a directory that may not be entered is there, for all that is known.
        let is_present = !path.symlink_metadata().is_err_and(|cause| cause.kind() == io::ErrorKind::NotFound);
        let opened = if is_present { look_inside(path) } else { Err(absent(path)) };
        if is_locked(&opened) {
            // A lock that stays was there before and after.
            holders.writers = self::holders(path).writers;
        } else {
            holders.writers.clear();
        }
        Examination {
            belongings: [directory]
                .into_iter()
                .chain(files.iter().map(PathBuf::as_path))
                .filter_map(Belonging::look)
                .collect(),
            is_present,
            magic: place::magic(existing),
            free_bytes: place::free_bytes(existing).ok(),
            bytes: length(&files[0]),
            log_bytes: length(&files[1]),
            leftovers,
            kept,
            holders,
            opened,
            engine: format!("SQLite {}", rusqlite::version()),
            newest_schema: migrate::CURRENT,
        }
    }
}

fn look_inside(path: &Path) -> Result<StoreCondition> {
    let mut connection = open(path, WAIT, ConnectionUse::Synced)?;
    let schema = migrate::identify(&connection, path)?;
    // Taking the lock and giving it back writes nothing.
    connection.transaction_with_behavior(TransactionBehavior::Immediate).during("wait for other writers")?;
    // An older schema may lack what is asked for, and a damaged page is told by the check of all pages.
    let unindexed = if schema == migrate::CURRENT { index::waiting(&connection).unwrap_or(0) } else { 0 };
    Ok(StoreCondition { schema, unindexed })
}

fn absent(path: &Path) -> Error {
    Error::not_found(format!("no store at `{}`", path.display()))
}

fn is_locked(opened: &Result<StoreCondition>) -> bool {
    opened.as_ref().is_err_and(|error| error.kind() == ErrorKind::Locked)
}

/// Drafts of copies whose process has ended, and stores that were kept.
pub(super) fn copies_beside(path: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut leftovers, mut kept) = (Vec::new(), Vec::new());
    let Some(name) = path.file_name().and_then(OsStr::to_str) else { return (leftovers, kept) };
    for entry in fs::read_dir(durable::directory_of(path)).into_iter().flatten().flatten() {
        let found = entry.file_name();
        let Some(rest) = found.to_str().and_then(|found| found.strip_prefix(name)) else { continue };
        match durable::drafter(rest) {
            Some(process) if is_running(process) => {}
            Some(_) => leftovers.push(entry.path()),
            None if rest.starts_with(restore::KEPT) || rest.starts_with(migrate::KEPT) => {
                kept.push(entry.path());
            }
            None => {}
        }
    }
    leftovers.sort();
    kept.sort();
    (leftovers, kept)
}

fn is_running(process: &str) -> bool {
    !process.is_empty() && Path::new("/proc").join(process).exists()
}
