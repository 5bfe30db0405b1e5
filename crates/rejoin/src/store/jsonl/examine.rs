//! Looking at the place of a store before it is used, without changing it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::FlockOperation;

use crate::error::{Error, Result};
use crate::store::jsonl::fault::DuringIo;
use crate::store::jsonl::layout::Layout;
use crate::store::jsonl::line::meta;
use crate::store::jsonl::{JsonlStore, change_log};
use crate::store::place::{self, Belonging};
use crate::store::{Examination, StoreCondition, durable};

/// Long enough for any append to end, so that only a lock that stays is told.
const WAIT: Duration = Duration::from_secs(1);

impl JsonlStore {
    /// Looks at the store in `root`. Nothing is created or repaired.
    pub(crate) fn examine(root: &Path) -> Examination {
        let layout = Layout::new(root.to_owned());
        let existing = root.ancestors().find(|above| above.exists()).unwrap_or(root);
        let is_present = layout.changes().exists();
        let files = files(&layout);
        let length = |path: &PathBuf| path.metadata().map_or(0, |metadata| metadata.len());
        let own = [root.to_owned(), layout.own(), layout.changes()];
        Examination {
            belongings: own.iter().chain(&files).filter_map(|path| Belonging::look(path)).collect(),
            is_present,
            magic: place::magic(existing),
            free_bytes: place::free_bytes(existing).ok(),
            bytes: files.iter().map(length).sum(),
            // The log of changes is no log that has to be folded.
            log_bytes: 0,
            leftovers: layout.leftovers().unwrap_or_default(),
            kept: Vec::new(),
            holders: Default::default(),
            opened: look_inside(&layout),
            engine: "plain files of JSON lines".to_owned(),
            newest_schema: meta::FORMAT.cast_signed(),
        }
    }
}

fn look_inside(layout: &Layout) -> Result<StoreCondition> {
    let path = layout.changes();
    if !path.exists() {
        return Err(Error::not_found(format!("no store at `{}`", layout.root().display())));
    }
    let file = durable::open_to_read(&path).during(|| format!("open `{}`", path.display()))?;
    change_log::lock(&file, FlockOperation::NonBlockingLockShared, WAIT)?;
    Ok(StoreCondition { schema: meta::FORMAT.cast_signed(), unindexed: 0 })
}

/// The files of conversations.
fn files(layout: &Layout) -> Vec<PathBuf> {
    let folders = layout.folders().unwrap_or_default().into_iter();
    folders
        .flat_map(|folder| {
            let ids = layout.conversations(&folder).unwrap_or_default();
            let files: Vec<PathBuf> = ids.into_iter().map(|id| layout.file(&folder, id)).collect();
            std::iter::once(layout.root().join(&folder)).chain(files)
        })
        .collect()
}
