//! Putting a copy in the place of a database, without losing the one that was there.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::model::Time;
use crate::store::durable::{self, Existing};
use crate::store::sqlite::{SqliteStore, backup};
use crate::store::{Read as _, Store as _, Task};

pub(super) fn restore(from: &Path, to: &Path, report: &mut dyn FnMut(u64, u64)) -> Result<Option<PathBuf>> {
    if !from.is_file() {
        return Err(Error::not_found(format!("there is no copy at `{}`", from.display())));
    }
    let copy = SqliteStore::open(from)?;
    let faults = copy.maintain(Task::Check, Duration::MAX)?.faults;
    if let Some(fault) = faults.first() {
        return Err(Error::corrupt(format!("the copy `{}` is damaged: {}", from.display(), fault.what)));
    }
    debug_assert!(copy.capabilities().is_durable);
    // The new file is complete and checked under another name before the old one moves.
    let fresh = copy.reading(|connection| backup::draft(connection, to, report))?;
    let kept = to.exists().then(|| set_aside(to)).transpose()?;
    fresh.publish(Existing::Keep)?;
    Ok(kept)
}

/// Closes the log of the old database and moves it away; a program that still holds it keeps its own file.
fn set_aside(path: &Path) -> Result<PathBuf> {
    // A database too damaged to open is set aside as it is.
    if let Ok(store) = SqliteStore::open(path) {
        store.maintain(Task::Checkpoint, Duration::MAX)?;
    }
    let seconds = Time::now().as_micros() / 1_000_000;
    let kept = durable::beside(path, &format!(".replaced-{seconds}"));
    for suffix in ["-wal", "-shm"] {
        let (from, to) = (durable::beside(path, suffix), durable::beside(&kept, suffix));
        if from.exists() {
            rename(&from, &to)?;
        }
    }
    rename(path, &kept)?;
    Ok(kept)
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    durable::rename(from, to).map_err(|cause| {
        let attempt = format!("move `{}` to `{}`", from.display(), to.display());
        Error::new(ErrorKind::Unavailable, attempt).because(cause)
    })
}
