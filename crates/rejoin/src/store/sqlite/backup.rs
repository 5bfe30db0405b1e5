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

/// Copies a database to a new file and checks the copy. `report` is told pages done and pages in all.
pub(super) fn copy(from: &Connection, to: &Path, report: &mut dyn FnMut(u64, u64)) -> Result<()> {
    let attempt = format!("copy the database to `{}`", to.display());
    durable::create_private(to)
        .map_err(|cause| Error::new(ErrorKind::Unavailable, attempt.as_str()).because(cause))?;
    copy_into(from, to, &attempt, report).inspect_err(|_| {
        // Half a copy must not be taken for a whole one.
        let _ = std::fs::remove_file(to);
    })
}

fn copy_into(from: &Connection, to: &Path, attempt: &str, report: &mut dyn FnMut(u64, u64)) -> Result<()> {
    let mut target = open_copy(to)?;
    // One read transaction for the whole copy: other writers go on, and the copy is of one moment.
    from.execute_batch("BEGIN").during(attempt)?;
    let copied = copy_pages(from, &mut target, attempt, report);
    from.execute_batch("COMMIT").during(attempt)?;
    copied?;
    let verdict: String =
        target.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0)).during(attempt)?;
    if verdict != "ok" {
        return Err(Error::corrupt(format!(
            "the copy `{}` does not pass its check: {verdict}",
            to.display()
        )));
    }
    target.close().map_err(|(_, cause)| cause).during(attempt)?;
    let synced =
        std::fs::File::open(to).and_then(|file| file.sync_all()).and_then(|()| durable::sync_parent(to));
    synced.map_err(|cause| Error::new(ErrorKind::Unavailable, attempt).because(cause))
}

fn copy_pages(
    from: &Connection,
    target: &mut Connection,
    attempt: &str,
    report: &mut dyn FnMut(u64, u64),
) -> Result<()> {
    from.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).during(attempt)?;
    let backup = Backup::new(from, target).during(attempt)?;
    loop {
        let step = backup.step(PAGES_PER_STEP).during(attempt)?;
        let progress = backup.progress();
        let all = u64::try_from(progress.pagecount).unwrap_or(0);
        report(all - u64::try_from(progress.remaining).unwrap_or(0), all);
        match step {
            StepResult::Done => return Ok(()),
            StepResult::More => {}
            _ => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}
