//! A consistent copy of a database while it is in use.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};
use tempfile::NamedTempFile;

use crate::error::{Error, ErrorKind, Result};
use crate::store::durable::{self, Existing};
use crate::store::sqlite::fault::During;
use crate::store::sqlite::open::open_copy;

/// How many pages are copied between two reports: 4 MiB.
const PAGES_PER_STEP: i32 = 256;

/// Copies a database to a new file and checks the copy. `report` is told pages done and pages in all.
pub(super) fn copy(from: &Connection, to: &Path, report: &mut dyn FnMut(u64, u64)) -> Result<()> {
    if to.exists() {
        return Err(Error::invalid(format!("`{}` exists already", to.display())));
    }
    draft(from, to, report)?.publish(Existing::Keep)
}

/// A checked copy that has no name yet, so that half a copy is never taken for a whole one.
pub(super) struct Draft<'t> {
    file: NamedTempFile,
    to: &'t Path,
}

impl Draft<'_> {
    pub(super) fn publish(self, existing: Existing) -> Result<()> {
        durable::publish(self.file, self.to, existing).map_err(|cause| unavailable(self.to, cause))
    }
}

pub(super) fn draft<'t>(
    from: &Connection,
    to: &'t Path,
    report: &mut dyn FnMut(u64, u64),
) -> Result<Draft<'t>> {
    let file = durable::draft(to).map_err(|cause| unavailable(to, cause))?;
    let attempt = attempt(to);
    let mut target = open_copy(file.path())?;
    // One read transaction for the whole copy: other writers go on, and the copy is of one moment.
    from.execute_batch("BEGIN").during(&attempt)?;
    let copied = copy_pages(from, &mut target, &attempt, report);
    from.execute_batch("COMMIT").during(&attempt)?;
    copied?;
    let verdict: String =
        target.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0)).during(&attempt)?;
    if verdict != "ok" {
        return Err(Error::corrupt(format!(
            "the copy `{}` does not pass its check: {verdict}",
            to.display()
        )));
    }
    target.close().map_err(|(_, cause)| cause).during(&attempt)?;
    Ok(Draft { file, to })
}

fn attempt(to: &Path) -> String {
    format!("copy the database to `{}`", to.display())
}

fn unavailable(to: &Path, cause: std::io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, attempt(to)).because(cause)
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
