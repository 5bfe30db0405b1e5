//! Erasing a whole database, with its log.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{FlockOperation, fcntl_lock};

use crate::error::{Error, ErrorKind, Result};
use crate::store::sqlite::room::RESERVE;
use crate::store::sqlite::{SqliteStore, holder};
use crate::store::{ContentHash, ContentHasher, durable};

/// How long the header of a database is, as SQLite has it.
const HEADER: usize = 100;

impl SqliteStore {
    /// The content hash of the database at `path`. It says something of a database
    /// that no process of this one has open.
    pub(crate) fn content_hash(path: &Path) -> Result<ContentHash> {
        let file = File::open(path).map_err(|cause| unavailable(path, cause))?;
        content_hash(&file, path)
    }

    /// True when erasing the database at `path` was begun and did not end:
    /// nothing can be read from it any more.
    pub(crate) fn is_half_erased(path: &Path) -> bool {
        durable::read_small(path, HEADER as u64).is_ok_and(|header| header.iter().all(|byte| *byte == 0))
    }

    /// Writes over every byte of the database at `path`, and removes it, if its content hash is `expected`.
    ///
    /// One that another process uses is locked, and nobody can open it meanwhile.
    pub(crate) fn erase(path: &Path, expected: Option<&ContentHash>) -> Result<()> {
        let own = std::process::id();
        let locked = |who: String| {
            Error::new(ErrorKind::Locked, format!("{who} has the store `{}` open", path.display()))
        };
        if let Some(user) = holder::holders(path).users.into_iter().find(|user| *user != own) {
            return Err(locked(format!("process `{user}`")));
        }
        let file = durable::open_to_write(path).map_err(|cause| unavailable(path, cause))?;
        // Every process that has the database open holds a lock of the same kind. This one is held until the
        // file is closed, and closing it by any other handle would give it back.
        fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| locked("another process".to_owned()))?;
        if let Some(expected) = expected
            && content_hash(&file, path)? != *expected
        {
            return Err(Error::conflict(format!("`{}` was changed since it was copied", path.display())));
        }
        // The header first: cut off anywhere, this leaves a database that is whole or
        // one that nobody takes for a database.
        let length = file.metadata().map_err(|cause| unavailable(path, cause))?.len();
        if length >= HEADER as u64 {
            durable::write_at(&file, 0, &[0; HEADER])
                .and_then(|()| file.sync_data())
                .map_err(|cause| unavailable(path, cause))?;
        }
        // The reserve says nothing, so it is only removed.
        let _ = durable::remove(&durable::beside(path, RESERVE));
        for beside in [durable::beside(path, "-wal"), durable::beside(path, "-shm")] {
            let erased = match durable::open_to_write(&beside) {
                Ok(opened) => durable::erase(&opened, &beside),
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
                Err(cause) => Err(cause),
            };
            erased.map_err(|cause| unavailable(&beside, cause))?;
        }
        // The main file last: as long as it is there, whoever looks finds a store and not nothing.
        durable::erase(&file, path)
            .and_then(|()| durable::sync_parent(path))
            .map_err(|cause| unavailable(path, cause))
    }
}

/// The content hash of a database with its log, which whoever closes it last folds into it.
fn content_hash(file: &File, path: &Path) -> Result<ContentHash> {
    let log = durable::beside(path, "-wal");
    let mut hasher = ContentHasher::default();
    let taken = hasher.file(file).and_then(|()| match File::open(&log) {
        Ok(log) => hasher.file(&log),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(cause) => Err(cause),
    });
    taken.map(|()| hasher.finish()).map_err(|cause| unavailable(path, cause))
}

fn unavailable(path: &Path, cause: io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, format!("erase `{}`", path.display())).because(cause)
}
