//! Erasing a whole store of plain files.

use std::path::Path;
use std::time::Duration;

use crate::error::Result;
use crate::store::durable;
use crate::store::jsonl::JsonlStore;
use crate::store::jsonl::changes::Log;
use crate::store::jsonl::fault::During;
use crate::store::jsonl::layout::Layout;

/// Long enough for any append to end.
const WAIT: Duration = Duration::from_secs(5);

impl JsonlStore {
    /// Writes over every byte of the store in `root`, and removes it. Files of others in it stay.
    pub(crate) fn erase(root: &Path) -> Result<()> {
        let attempt = || format!("erase `{}`", root.display());
        let layout = Layout::new(root.to_owned());
        // Whoever waits for the lock finds that the store is gone.
        let _log = Log::open(layout.changes(), WAIT)?;
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
