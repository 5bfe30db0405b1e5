//! Erasing a whole store of plain files.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::fs::FlockOperation;

use crate::error::{Error, ErrorKind, Result};
use crate::store::jsonl::JsonlStore;
use crate::store::jsonl::change_log::{ChangeLog, lock};
use crate::store::jsonl::fault::DuringIo;
use crate::store::jsonl::layout::Layout;
use crate::store::{ContentHash, ContentHasher, durable};

/// Long enough for any append to end.
const WAIT: Duration = Duration::from_secs(5);

impl JsonlStore {
    /// The content hash of the store in `root`: its log of changes, and its blobs,
    /// which change without being noted there.
    pub(crate) fn content_hash(root: &Path) -> Result<ContentHash> {
        let layout = Layout::new(root.to_owned());
        let mut hasher = ContentHasher::default();
        let taken = File::open(layout.changes())
            .and_then(|log| hasher.file(&log))
            .and_then(|()| hasher.tree(&layout.blobs()));
        taken.during(|| format!("read `{}`", root.display()))?;
        Ok(hasher.finish())
    }

    /// True when erasing the store in `root` was begun and did not end, or left nothing but empty
    /// folders. Nothing of it is used any more.
    pub(crate) fn is_half_erased(root: &Path) -> bool {
        let layout = Layout::new(root.to_owned());
        let is_empty = |folder: &Path| folder.read_dir().is_ok_and(|mut inside| inside.next().is_none());
        layout.erasing().exists() || is_empty(&layout.own()) || is_empty(root)
    }

    /// Writes over every byte of the store in `root`, and removes it, if its content hash is
    /// `expected`. Files of others in it stay.
    ///
    /// One that somebody has open is locked, and nobody can open it meanwhile, nor afterwards if this is cut
    /// off. Then it goes on with what is left, whatever its content hash.
    pub(crate) fn erase(root: &Path, expected: Option<&ContentHash>) -> Result<()> {
        let attempt = || format!("erase `{}`", root.display());
        let layout = Layout::new(root.to_owned());
        if !layout.own().exists() && Self::is_half_erased(root) {
            return durable::remove_if_empty(root).during(attempt);
        }
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
        let log =
            if Self::is_half_erased(root) { None } else { Some(ChangeLog::open(layout.changes(), WAIT)?) };
        if let (Some(_), Some(expected)) = (&log, expected)
            && Self::content_hash(root)? != *expected
        {
            return Err(Error::conflict(format!("`{}` was changed since it was copied", root.display())));
        }
        // Order: what says that it is being erased, all that was said, and then the rest.
        durable::create_private(&layout.erasing()).during(attempt)?;
        // The reserve says nothing, so it is only removed.
        let _ = durable::remove(&layout.reserve());
        for folder in layout.folders().during(attempt)? {
            let ids = layout.conversations(&folder).during(attempt)?.into_iter();
            let files = ids.map(|id| layout.file(&folder, id)).chain([layout.marker(&folder)]);
            for path in files {
                // One that cannot be looked at is not passed over: its words would stay.
                if !path.try_exists().during(attempt)? {
                    continue;
                }
                let erased = durable::open_to_write(&path).and_then(|file| durable::erase(&file, &path));
                erased.during(attempt)?;
            }
            durable::remove_if_empty(&root.join(&folder)).during(attempt)?;
        }
        erase_own(&layout).during(attempt)?;
        durable::remove_if_empty(root).during(attempt)
    }
}

/// Erases Rejoin's own folder. What says that the store is being erased goes last.
fn erase_own(layout: &Layout) -> io::Result<()> {
    for entry in fs::read_dir(layout.own())? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            durable::erase_tree(&path)?;
        } else if entry.file_type()?.is_file() && path != layout.erasing() {
            durable::erase(&durable::open_to_write(&path)?, &path)?;
        }
    }
    durable::erase_tree(&layout.own())
}
