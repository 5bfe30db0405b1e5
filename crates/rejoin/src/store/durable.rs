//! Files that survive a power cut: the one place that writes, syncs and renames files directly.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, accessat};

/// The directory that a file lies in.
pub(crate) fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes the name of a file durable: its directory is synced.
pub(crate) fn sync_parent(path: &Path) -> io::Result<()> {
    File::open(directory_of(path))?.sync_all()
}

/// True when this process may create files in a directory.
pub(crate) fn is_writable(directory: &Path) -> bool {
    accessat(CWD, directory, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS).is_ok()
}

/// Creates the directory that a file is to lie in, and those above it, for the owner only, and makes their names
/// durable.
pub(crate) fn create_private_directory(path: &Path) -> io::Result<()> {
    let directory = directory_of(path);
    let is_missing = |above: &&Path| !above.as_os_str().is_empty() && !above.exists();
    let missing: Vec<&Path> = directory.ancestors().take_while(is_missing).collect();
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    missing.into_iter().rev().try_for_each(sync_parent)
}

/// Creates a file of one's own, 0600, and refuses to touch one that exists.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

/// The file beside `path` whose name has `suffix` added.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}
