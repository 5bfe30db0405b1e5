//! Directories that can be walked through by what they say is to be passed over.

use std::path::Path;

/// What the walk itself reads in each directory, to know what to pass over.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// The longest of these that is read.
const LARGEST_IGNORE_FILE: u64 = 1 << 20;

/// False when the walk would wait for a pipe or read without end, because of what a
/// directory says is to be passed over.
pub(crate) fn can_be_walked(directory: &Path) -> bool {
    IGNORE_FILES.iter().all(|name| match directory.join(name).metadata() {
        Ok(found) => found.is_dir() || (found.is_file() && found.len() <= LARGEST_IGNORE_FILE),
        Err(_) => true,
    })
}
