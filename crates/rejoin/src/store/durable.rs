//! Files that survive a power cut: the one place that writes, syncs and renames files directly.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, accessat};
use tempfile::NamedTempFile;

/// Stands in the name of a draft, before the number of the process that fills it.
const DRAFT: &str = ".part-";

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

/// Creates a file of one's own, 0600, and makes its name durable. One that exists is left as it is.
pub(crate) fn create_private(path: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => sync_parent(path),
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(cause) => Err(cause),
    }
}

/// A file of one's own beside `path`, 0600, to be filled and then published under that name. Until then it is gone
/// when it is dropped.
pub(crate) fn draft(path: &Path) -> io::Result<NamedTempFile> {
    let mut prefix = path.file_name().unwrap_or_default().to_owned();
    prefix.push(format!("{DRAFT}{}-", std::process::id()));
    tempfile::Builder::new()
        .prefix(&prefix)
        .permissions(Permissions::from_mode(0o600))
        .tempfile_in(directory_of(path))
}

/// The number of the process that fills a draft, by the draft's name: `rejoin.db.part-812-x3kq9z`.
pub(crate) fn drafter(name: &str) -> Option<&str> {
    let (_, rest) = name.rsplit_once(DRAFT)?;
    rest.split('-').next()
}

/// Whether a file that exists may be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    Keep,
    Replace,
}

/// Gives a draft its name once its bytes are safe: sync, rename, sync of the directory.
pub(crate) fn publish(draft: NamedTempFile, path: &Path, existing: Existing) -> io::Result<()> {
    draft.as_file().sync_all()?;
    match existing {
        Existing::Keep => draft.persist_noclobber(path),
        Existing::Replace => draft.persist(path),
    }
    .map_err(|failed| failed.error)?;
    sync_parent(path)
}

/// Removes a file.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    std::fs::remove_file(path)
}

/// Gives a file another name in its directory, durably.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to)?;
    sync_parent(to)
}

/// The file beside `path` whose name has `suffix` added.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}
