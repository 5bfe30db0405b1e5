//! Whether the files that are open are still the ones at the store's path.
//!
//! SQLite goes on with files that were removed or replaced, and with a main file that was cut short as long
//! as it has the pages at hand. A commit is then in files that nobody finds again. So no commit is
//! acknowledged before each file was looked at by its name: one `stat` each, nothing is opened.

use std::ffi::{CStr, CString};
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Stat, lstat};
use rustix::io::Errno;

use crate::error::{Error, ErrorKind, Result};
use crate::store::sqlite::Sqlite;
use crate::store::sqlite::fault::DuringSql;
use crate::store::sqlite::open::{ConnectionUse, DatabaseFiles, LogIndex};
use crate::store::{Displaced, durable};

/// The files of an open database, as they were when it was opened.
///
/// The open handles keep their numbers from being given to other files.
#[derive(Debug)]
pub(super) struct OpenFiles {
    main: OpenFile,
    /// The log, and its index where processes share one. Two processes with different indexes
    /// would write over each other's commits.
    others: Vec<OpenFile>,
    /// The length of the main file when it was last looked at.
    length: AtomicU64,
}

/// A file by its name, and as it was when it was opened.
#[derive(Debug)]
struct OpenFile {
    path: PathBuf,
    /// The path as the system takes it: it is looked at twice for each commit.
    name: CString,
    /// The numbers of its device and of the file.
    opened: (u64, u64),
}

/// How long the main file is, compared with what it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileLength {
    Kept,
    Shorter,
}

impl OpenFiles {
    /// Remembers the files of a database that was just opened and read.
    pub(super) fn of(path: &Path, index: LogIndex) -> Result<Self> {
        let look = |path: &Path| path.symlink_metadata().ok();
        let beside = |suffix| look(&durable::beside(path, suffix));
        let index_file = if index == LogIndex::Shared { beside("-shm") } else { None };
        Self::found(path, index, &DatabaseFiles { main: look(path), log: beside("-wal"), index: index_file })
    }

    /// Remembers the files of a database as they were found after it was opened and read.
    pub(super) fn found(path: &Path, index: LogIndex, found: &DatabaseFiles) -> Result<Self> {
        let beside = |suffix, found| OpenFile::found(durable::beside(path, suffix), found);
        let mut others = vec![beside("-wal", found.log.as_ref())?];
        if index == LogIndex::Shared {
            others.push(beside("-shm", found.index.as_ref())?);
        }
        let main = OpenFile::found(path.to_owned(), found.main.as_ref())?;
        let length = found.main.as_ref().map_or(0, Metadata::len);
        Ok(Self { main, others, length: AtomicU64::new(length) })
    }

    /// Fails when a file is not there any more, or another one is.
    pub(super) fn check(&self) -> Result<FileLength> {
        let length = self.main.look()?;
        self.others.iter().try_for_each(|file| file.look().map(drop))?;
        if length < self.length.load(Ordering::Relaxed) {
            return Ok(FileLength::Shorter);
        }
        self.length.store(length, Ordering::Relaxed);
        Ok(FileLength::Kept)
    }

    /// Takes the length of the main file as it is: it was rewritten, or found to be whole.
    fn accept_length(&self) -> Result<()> {
        self.length.store(self.main.look()?, Ordering::Relaxed);
        Ok(())
    }
}

impl OpenFile {
    /// The file at a path, which has to be there.
    fn found(path: PathBuf, found: Option<&Metadata>) -> Result<Self> {
        let name = CString::new(path.as_os_str().as_bytes())
            .map_err(|cause| Error::invalid("a path must not contain a NUL byte").because(cause))?;
        let found = found.ok_or_else(|| displaced(&path))?;
        Ok(Self { path, name, opened: (found.dev(), found.ino()) })
    }

    /// The length of the file, if it is the one that was opened.
    fn look(&self) -> Result<u64> {
        let there = look(&self.path, &self.name)?;
        if (there.st_dev, there.st_ino) == self.opened {
            Ok(length_of(&there))
        } else {
            Err(displaced(&self.path))
        }
    }
}

fn length_of(found: &Stat) -> u64 {
    u64::try_from(found.st_size).unwrap_or(0)
}

fn look(path: &Path, name: &CStr) -> Result<Stat> {
    match lstat(name) {
        Ok(found) => Ok(found),
        Err(Errno::NOENT | Errno::NOTDIR) => Err(displaced(path)),
        Err(cause) => Err(Error::new(ErrorKind::Unavailable, format!("look at `{}`", path.display()))
            .because(io::Error::from(cause))),
    }
}

fn displaced(path: &Path) -> Error {
    Error::new(ErrorKind::Unavailable, "what is written now would be lost").because(Displaced::at(path))
}

impl Sqlite {
    /// Fails when what is committed now would not be found by whoever opens the database next.
    pub(super) fn vouch_for_files(&self) -> Result<()> {
        // A sealed copy is not written to.
        let Some(files) = &self.files else { return Ok(()) };
        if files.check()? == FileLength::Shorter {
            // Another process may have rewritten the database without its gaps,
            // or put a smaller copy into it.
            self.refuse_cut_short()?;
            files.accept_length()?;
        }
        Ok(())
    }

    /// Fails when others who open the database open other files.
    pub(super) fn refuse_displaced(&self) -> Result<()> {
        self.files.as_ref().map_or(Ok(()), |files| files.check().map(drop))
    }

    /// Notes that this process made the main file shorter.
    pub(super) fn accept_shorter_file(&self) -> Result<()> {
        self.files.as_ref().map_or(Ok(()), |files| files.accept_length())
    }

    /// Reads every page that is left. Only a new connection has none at hand that is gone from the file.
    fn refuse_cut_short(&self) -> Result<()> {
        let attempt = "check a database that became shorter while it was open";
        let checked = self.open_another(ConnectionUse::Synced).and_then(|connection| {
            connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0)).during(attempt)
        });
        match checked {
            Ok(verdict) if verdict == "ok" => Ok(()),
            Err(error) if !matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Invalid) => Err(error),
            Ok(_) | Err(_) => Err(Error::corrupt(format!(
                "`{}` was cut short while it was open, and its log does not hold what is missing",
                self.path.display()
            ))),
        }
    }
}
