//! A consistent copy of a database while it is in use.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use crate::error::{Error, ErrorKind, Result};
use crate::store::durable::{self, Overwrite};
use crate::store::sqlite::examine::copies_beside;
use crate::store::sqlite::fault::DuringSql;
use crate::store::sqlite::open::open_copy;
use crate::store::sqlite::room::RESERVE;
use crate::store::sqlite::{Sqlite, SqliteStore};

/// How many pages are copied between two reports: 4 MiB.
const PAGES_PER_STEP: i32 = 256;

/// Copies a store to a new file. The copy gets its name when it has passed every check.
pub(super) fn backup(
    store: &Sqlite,
    to: &Path,
    accept: &mut dyn FnMut(&SqliteStore) -> Result<()>,
    report: &mut dyn FnMut(u64, u64),
) -> Result<()> {
    // What cannot be written is refused before the long work, not after it.
    if to.symlink_metadata().is_ok() {
        return Err(exists(to));
    }
    // What a copy to the same name left when it was killed takes room, and nobody else looks for it here.
    let (leftovers, _) = copies_beside(to);
    leftovers.iter().for_each(|leftover| drop(durable::remove(leftover)));
    let draft = store.reading(|connection| draft(connection, to, DamagedPages::Refused, report))?;
    SqliteStore::open_read_only(draft.path())
        .and_then(|copy| accept(&copy))
        .map_err(|error| error.during(format!("check the copy `{}`", to.display())))?;
    draft.publish(Overwrite::Keep)
}

/// Whether a copy of damaged pages is still a good copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DamagedPages {
    /// The copy must pass the check.
    Refused,
    /// What is kept for safety is kept as it is.
    Kept,
}

/// A copy that has no name yet, so that half a copy is never taken for a whole one. Until it is
/// published it is gone when it is dropped.
pub(super) struct DraftCopy<'t> {
    file: durable::DraftFile,
    _companions: Companions,
    to: &'t Path,
}

impl DraftCopy<'_> {
    /// Where it is until it is published.
    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    pub(super) fn publish(self, existing: Overwrite) -> Result<()> {
        durable::publish(self.file, self.to, existing).map_err(|cause| match cause.kind() {
            io::ErrorKind::AlreadyExists => exists(self.to),
            _ => unavailable(self.to, cause),
        })
    }
}

/// What SQLite may have put beside a draft. It goes when the draft goes, under whatever name.
struct Companions(PathBuf);

impl Drop for Companions {
    fn drop(&mut self) {
        for suffix in ["-wal", "-shm", "-journal", RESERVE] {
            let _ = durable::remove(&durable::beside(&self.0, suffix));
        }
    }
}

/// Copies a database to a draft of `to`. `report` is told bytes done and bytes in all.
pub(super) fn draft<'t>(
    from: &Connection,
    to: &'t Path,
    damage: DamagedPages,
    report: &mut dyn FnMut(u64, u64),
) -> Result<DraftCopy<'t>> {
    let file = durable::draft(to).map_err(|cause| unavailable(to, cause))?;
    let companions = Companions(file.path().to_owned());
    let attempt = attempt(to);
    let mut target = open_copy(file.path())?;
    // One read transaction for the whole copy: other writers go on, and the copy is of one moment.
    from.execute_batch("BEGIN").during(&attempt)?;
    let copied = copy_pages(from, &mut target, &attempt, report);
    from.execute_batch("COMMIT").during(&attempt)?;
    copied?;
    if damage == DamagedPages::Refused {
        check(&target, to, &attempt)?;
        // A copy without a log is one file, which can be read where nothing can be written.
        target.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(())).during(&attempt)?;
    }
    target.close().map_err(|(_, cause)| cause).during(&attempt)?;
    Ok(DraftCopy { file, _companions: companions, to })
}

fn attempt(to: &Path) -> String {
    format!("copy the database to `{}`", to.display())
}

fn exists(to: &Path) -> Error {
    Error::conflict(format!("`{}` already exists", to.display()))
}

fn unavailable(to: &Path, cause: io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, attempt(to)).because(cause)
}

fn check(target: &Connection, to: &Path, attempt: &str) -> Result<()> {
    let verdict: String =
        target.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0)).during(attempt)?;
    if verdict == "ok" {
        return Ok(());
    }
    Err(Error::corrupt(format!("the copy `{}` does not pass its check: {verdict}", to.display())))
}

fn copy_pages(
    from: &Connection,
    target: &mut Connection,
    attempt: &str,
    report: &mut dyn FnMut(u64, u64),
) -> Result<()> {
    // The read transaction begins with the first question.
    from.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).during(attempt)?;
    let size = page_size(from, attempt)?;
    finish(&Backup::new(from, target).during(attempt)?, size, attempt, report)
}

pub(super) fn page_size(connection: &Connection, attempt: &str) -> Result<u64> {
    let size: i64 = connection.query_row("PRAGMA page_size", [], |row| row.get(0)).during(attempt)?;
    Ok(size.unsigned_abs())
}

/// Copies the pages that are left.
pub(super) fn finish(
    backup: &Backup<'_, '_>,
    page_size: u64,
    attempt: &str,
    report: &mut dyn FnMut(u64, u64),
) -> Result<()> {
    loop {
        let step = backup.step(PAGES_PER_STEP).during(attempt)?;
        let progress = backup.progress();
        let bytes = |pages| u64::try_from(pages).unwrap_or(0) * page_size;
        report(bytes(progress.pagecount - progress.remaining), bytes(progress.pagecount));
        match step {
            StepResult::Done => return Ok(()),
            StepResult::More => {}
            _ => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}
