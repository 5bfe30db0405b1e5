//! A consistent copy of a database while it is in use.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use crate::error::{Error, ErrorKind, Result};
use crate::store::durable;
use crate::store::sqlite::fault::During;
use crate::store::sqlite::open::open_copy;

/// How many pages are copied between two reports: 4 MiB.
const PAGES_PER_STEP: i32 = 256;

/// Whether a copy of damaged pages is still a good copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Damage {
    /// The copy must pass the check.
    Refused,
    /// What is kept for safety is kept as it is.
    Kept,
}

/// Copies a database to a new file and checks the copy. `report` is told bytes done and bytes in all.
pub(super) fn copy(
    from: &Connection,
    to: &Path,
    damage: Damage,
    report: &mut dyn FnMut(u64, u64),
) -> Result<()> {
    let attempt = format!("copy the database to `{}`", to.display());
    durable::create_private(to).map_err(|cause| {
        let kind = match cause.kind() {
            std::io::ErrorKind::AlreadyExists => ErrorKind::Conflict,
            _ => ErrorKind::Unavailable,
        };
        Error::new(kind, attempt.as_str()).because(cause)
    })?;
    copy_into(from, to, &attempt, damage, report).inspect_err(|_| remove(to))
}

/// Removes a file and what SQLite may have put beside it: half a copy must not be taken for a whole one.
pub(super) fn remove(path: &Path) {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let _ = std::fs::remove_file(durable::beside(path, suffix));
    }
}

fn copy_into(
    from: &Connection,
    to: &Path,
    attempt: &str,
    damage: Damage,
    report: &mut dyn FnMut(u64, u64),
) -> Result<()> {
    let mut target = open_copy(to)?;
    // One read transaction for the whole copy: other writers go on, and the copy is of one moment.
    from.execute_batch("BEGIN").during(attempt)?;
    let copied = copy_all(from, &mut target, attempt, report);
    from.execute_batch("COMMIT").during(attempt)?;
    copied?;
    if damage == Damage::Refused {
        check(&target, to, attempt)?;
        // A copy without a log is one file, which can be read where nothing can be written.
        target.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(())).during(attempt)?;
    }
    target.close().map_err(|(_, cause)| cause).during(attempt)?;
    let synced =
        std::fs::File::open(to).and_then(|file| file.sync_all()).and_then(|()| durable::sync_parent(to));
    synced.map_err(|cause| Error::new(ErrorKind::Unavailable, attempt).because(cause))
}

fn check(target: &Connection, to: &Path, attempt: &str) -> Result<()> {
    let verdict: String =
        target.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0)).during(attempt)?;
    if verdict == "ok" {
        return Ok(());
    }
    Err(Error::corrupt(format!("the copy `{}` does not pass its check: {verdict}", to.display())))
}

fn copy_all(
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
