//! Putting a copy in the place of a database, without losing the one that was there.
//!
//! A database that can be opened is replaced inside its file, in one transaction: processes that
//! have it open go on with the new content. Only a file that is no usable database any more is
//! moved away, and only when nobody uses it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, DEFAULT_NAME};
use rustix::fs::{FlockOperation, fcntl_lock};

use crate::error::{Error, ErrorKind, Result};
use crate::model::Time;
use crate::store::durable::{self, Overwrite};
use crate::store::sqlite::backup::{self, DamagedPages, DraftCopy};
use crate::store::sqlite::fault::{DuringSql, is_unknown};
use crate::store::sqlite::open::{ConnectionUse, is_fragment, open, open_read_only, open_to_replace};
use crate::store::sqlite::{SqliteStore, migrate};

/// Begins the end of the name under which a replaced database is kept; its time follows.
pub(super) const KEPT: &str = ".replaced-";

pub(super) fn restore(
    from: &Path,
    to: &Path,
    wait: Duration,
    accept: &mut dyn FnMut(&SqliteStore) -> Result<()>,
    report: &mut dyn FnMut(u64, u64),
) -> Result<Option<PathBuf>> {
    if !from.is_file() {
        return Err(Error::not_found(format!("no copy at `{}`", from.display())));
    }
    let was_there = to.metadata().is_ok_and(|metadata| metadata.len() > 0);
    if was_there {
        // What cannot be replaced is refused before the long work, not after it.
        open_existing(to, wait)?;
    }
    let fresh = prepare(from, to, accept, report)?;
    let kept = name_to_keep(to);
    match open_existing(to, wait)? {
        Some(target) => replace_inside(target, &fresh, to, wait, was_there.then_some(kept.as_path()))?,
        None => {
            set_aside(to, &kept)?;
            fresh.publish(Overwrite::Keep)?;
        }
    }
    Ok(was_there.then_some(kept))
}

/// A name that nothing has yet; two restores within a second each keep what they replace.
fn name_to_keep(path: &Path) -> PathBuf {
    let seconds = Time::now().as_micros() / 1_000_000;
    let mut name = durable::beside(path, &format!("{KEPT}{seconds}"));
    let mut number = 2;
    while name.symlink_metadata().is_ok() {
        name = durable::beside(path, &format!("{KEPT}{seconds}-{number}"));
        number += 1;
    }
    name
}

/// Opens what is to be replaced; none when it is too damaged for that. Another program's database is refused.
fn open_existing(to: &Path, wait: Duration) -> Result<Option<Connection>> {
    if to.symlink_metadata().is_ok_and(|there| there.is_file() && is_fragment(there.len())) {
        return Ok(None);
    }
    match open_to_replace(to, wait) {
        Ok(connection) => Ok(Some(connection)),
        Err(error) if error.kind() == ErrorKind::Corrupt => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes the new file complete, current and checked under another name before anything else is touched.
fn prepare<'t>(
    from: &Path,
    to: &'t Path,
    accept: &mut dyn FnMut(&SqliteStore) -> Result<()>,
    report: &mut dyn FnMut(u64, u64),
) -> Result<DraftCopy<'t>> {
    let copy = open_read_only(from)?;
    if migrate::identify(&copy, from)? == 0 {
        return Err(Error::invalid(format!("`{}` holds nothing", from.display())));
    }
    durable::create_private_directory(to).map_err(|cause| {
        Error::new(ErrorKind::Unavailable, format!("create the directory of `{}`", to.display()))
            .because(cause)
    })?;
    let damaged = |error: Error| match error.kind() {
        ErrorKind::Corrupt => error.during(format!("the copy `{}` is damaged", from.display())),
        _ => error,
    };
    let fresh = backup::draft(&copy, to, DamagedPages::Refused, report).map_err(damaged)?;
    {
        let store = SqliteStore::open(fresh.path()).map_err(damaged)?;
        // An older backup stays as it is, so nothing else has to be kept of it.
        let _ = store.migrated_from().map(durable::remove);
        accept(&store).map_err(damaged)?;
    }
    let connection = open(fresh.path(), Duration::ZERO, ConnectionUse::Synced)?;
    // Without a log it can be read as it stands, and moved as one file.
    connection
        .query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))
        .during("fold the log of the copy")?;
    Ok(fresh)
}

/// Replaces the content of the database in one transaction, with a copy of the old content made inside it.
fn replace_inside(
    mut target: Connection,
    fresh: &DraftCopy<'_>,
    to: &Path,
    wait: Duration,
    kept: Option<&Path>,
) -> Result<()> {
    let attempt = format!("replace the content of `{}`", to.display());
    let source = open_read_only(fresh.path())?;
    let page_size = backup::page_size(&source, &attempt)?;
    let replacing = Backup::new(&source, &mut target).during(&attempt)?;
    // The first step takes the lock for writing and the last one commits. Nobody can append between the
    // moment that is kept and the moment that replaces it.
    match replacing.step(1).during(&attempt)? {
        StepResult::Busy | StepResult::Locked => {
            return Err(Error::new(ErrorKind::Locked, "another process is writing").during(attempt));
        }
        _ => {}
    }
    if let Some(kept) = kept {
        let reader = open_to_replace(to, wait)?;
        backup::draft(&reader, kept, DamagedPages::Kept, &mut |_, _| ())?.publish(Overwrite::Keep)?;
    }
    let replaced = backup::finish(&replacing, page_size, &attempt, &mut |_, _| ());
    drop(replacing);
    // What failed when it was synced may be found in the log by whoever opens the database next.
    if replaced.as_ref().is_err_and(|error| !is_unknown(error))
        && let Some(kept) = kept
    {
        // Nothing was replaced, so there is nothing to keep.
        let _ = durable::remove(kept);
    }
    replaced?;
    // Readers of the old content may keep this from being complete; the next one goes on with it.
    let _ = target.wal_checkpoint_v2(DEFAULT_NAME, CheckpointMode::TRUNCATE);
    Ok(())
}

/// Moves a file away that cannot be opened, with its log, unless a process has it open.
fn set_aside(path: &Path, kept: &Path) -> Result<()> {
    let attempt = format!("move `{}` away", path.display());
    let unavailable = |cause| Error::new(ErrorKind::Unavailable, attempt.as_str()).because(cause);
    let file = File::options().read(true).write(true).open(path).map_err(unavailable)?;
    // Every process that has the database open holds a lock of the same kind.
    fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive)
        .map_err(|_| Error::new(ErrorKind::Locked, "another process has it open").during(attempt.as_str()))?;
    for suffix in ["-wal", "-shm"] {
        let (from, to) = (durable::beside(path, suffix), durable::beside(kept, suffix));
        // A log that stayed would be taken for that of the file which comes in its place.
        if from.try_exists().map_err(unavailable)? {
            rename(&from, &to)?;
        }
    }
    rename(path, kept)
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    durable::rename(from, to).map_err(|cause| {
        let attempt = format!("move `{}` to `{}`", from.display(), to.display());
        Error::new(ErrorKind::Unavailable, attempt).because(cause)
    })
}
