//! Erasing a whole store of plain files.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use rustix::fs::FlockOperation;

use crate::error::{Error, ErrorKind, Result};
use crate::store::jsonl::JsonlStore;
use crate::store::jsonl::changes::{Log, lock};
use crate::store::jsonl::fault::During;
use crate::store::jsonl::layout::Layout;
use crate::store::{Print, Printing, durable};

/// Long enough for any append to end.
const WAIT: Duration = Duration::from_secs(5);

impl JsonlStore {
    /// The print of the store in `root`: its log of changes, and its blobs, which change without being noted there.
    pub(crate) fn print(root: &Path) -> Result<Print> {
        let layout = Layout::new(root.to_owned());
        let mut printing = Printing::default();
        let taken = File::open(layout.changes())
            .and_then(|log| printing.file(&log))
            .and_then(|()| printing.tree(&layout.blobs()));
        taken.during(|| format!("read `{}`", root.display()))?;
        Ok(printing.finish())
    }

    /// Writes over every byte of the store in `root`, and removes it, if it has the print that is given. Files of others in it
    /// stay.
    ///
    /// One that somebody has open is locked, and nobody can open it meanwhile.
    pub(crate) fn erase(root: &Path, expected: Option<&Print>) -> Result<()> {
        let attempt = || format!("erase `{}`", root.display());
        let layout = Layout::new(root.to_owned());
        let own = File::open(layout.own()).during(attempt)?;
        lock(&own, FlockOperation::NonBlockingLockExclusive, Duration::ZERO).map_err(|error| match error
            .kind()
        {
            ErrorKind::Locked => Error::new(
                ErrorKind::Locked,
                format!("another process has the store `{}` open", root.display()),
            ),
            _ => error,
        })?;
        // Whoever waits for the lock finds that the store is gone.
        let _log = Log::open(layout.changes(), WAIT)?;
        if let Some(expected) = expected
            && Self::print(root)? != *expected
        {
            return Err(Error::conflict(format!("`{}` was changed since it was copied", root.display())));
        }
        for folder in layout.folders().during(attempt)? {
            let ids = layout.conversations(&folder).during(attempt)?.into_iter();
            let files = ids.map(|id| layout.file(&folder, id)).chain([layout.marker(&folder)]);
            for path in files.filter(|path| path.exists()) {
                let erased = durable::open_to_write(&path).and_then(|file| durable::erase(&file, &path));
                erased.during(attempt)?;
            }
            durable::remove_if_empty(&root.join(&folder)).during(attempt)?;
        }
        durable::erase_tree(&layout.own()).during(attempt)?;
        durable::remove_if_empty(root).during(attempt)
    }
}
