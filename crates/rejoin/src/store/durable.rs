//! Files that survive a power cut: the one place that writes, syncs and renames files directly.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, accessat};

fn directory_of(path: &Path) -> &Path {
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

/// Creates a file of one's own, 0600, and refuses to touch one that exists.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

/// Replaces a file: data, sync, rename, sync of the directory. A crash leaves the old file or the new one.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut temporary = tempfile::NamedTempFile::new_in(directory_of(path))?;
    temporary.as_file().set_permissions(Permissions::from_mode(0o600))?;
    temporary.write_all(bytes)?;
    temporary.as_file().sync_all()?;
    temporary.persist(path).map_err(|failed| failed.error)?;
    sync_parent(path)
}

/// The file beside `path` whose name has `suffix` added.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}
