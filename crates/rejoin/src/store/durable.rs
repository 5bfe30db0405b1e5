//! Files that survive a power cut: the one place that writes, syncs and renames files directly.

use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, OFlags, accessat};

use crate::store::User;

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

/// Creates the directory that a file is to lie in, and those above it, for the owner
/// only, and makes their names durable.
pub(crate) fn create_private_directory(path: &Path) -> io::Result<()> {
    let directory = directory_of(path);
    if directory.is_dir() {
        return Ok(());
    }
    let is_missing = |above: &&Path| !above.as_os_str().is_empty() && !above.exists();
    let missing: Vec<&Path> = directory.ancestors().take_while(is_missing).collect();
    for above in missing.into_iter().rev() {
        match DirBuilder::new().mode(0o700).create(above) {
            // An odd umask must not take from the owner either.
            Ok(()) => std::fs::set_permissions(above, Permissions::from_mode(0o700))?,
            // Another process was first.
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
            Err(cause) => return Err(cause),
        }
        sync_parent(above)?;
    }
    if directory.is_dir() { Ok(()) } else { Err(io::ErrorKind::NotADirectory.into()) }
}

/// Gives the owner what an odd umask took away.
fn restore_owner(file: &File) -> io::Result<()> {
    if file.metadata()?.permissions().mode() & 0o777 == 0o600 {
        return Ok(());
    }
    file.set_permissions(Permissions::from_mode(0o600))
}

/// Creates a file of one's own, 0600, and makes its name durable. One that exists is left as it is.
pub(crate) fn create_private(path: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(file) => restore_owner(&file).and_then(|()| sync_parent(path)),
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(cause) => Err(cause),
    }
}

/// A file of one's own beside `path`, 0600, to be filled and then published under that name.
/// Until then it is gone when it is dropped.
pub(crate) fn draft(path: &Path) -> io::Result<DraftFile> {
    draft_in(directory_of(path), path)
}

/// The same in another directory of the same file system, where whoever finds it may erase it.
pub(crate) fn draft_in(directory: &Path, path: &Path) -> io::Result<DraftFile> {
    loop {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        // A hasher of the standard library begins with a random number.
        let random = RandomState::new().build_hasher().finish() as u32;
        name.push(format!("{DRAFT}{}-{random:08x}", std::process::id()));
        let own = directory.join(name);
        match OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&own) {
            Ok(file) => {
                let draft = DraftFile { file, path: own, has_name: false };
                restore_owner(&draft.file)?;
                return Ok(draft);
            }
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
            Err(cause) => return Err(cause),
        }
    }
}

/// A file that is being filled. Unless it gets its name, it is gone when it is dropped.
#[derive(Debug)]
pub(crate) struct DraftFile {
    file: File,
    path: PathBuf,
    has_name: bool,
}

impl DraftFile {
    /// The file, open to be read and written.
    pub(crate) const fn as_file(&self) -> &File {
        &self.file
    }

    /// Where it is until it has its name.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Takes a name, from whatever file has it.
    fn persist(mut self, path: &Path) -> io::Result<()> {
        std::fs::rename(&self.path, path)?;
        self.has_name = true;
        Ok(())
    }

    /// Takes a name, unless there is a file of that name.
    fn persist_noclobber(mut self, path: &Path) -> io::Result<()> {
        match rename_new(&self.path, path) {
            Err(cause) if cause.kind() == io::ErrorKind::Unsupported => {
                // The file has both names for a moment; the first goes when this is dropped.
                std::fs::hard_link(&self.path, path)
            }
            renamed => {
                self.has_name = renamed.is_ok();
                renamed
            }
        }
    }
}

impl Drop for DraftFile {
    fn drop(&mut self) {
        if !self.has_name {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Renames a file unless there is one of the other name, where the system can do that at once.
#[cfg(target_os = "linux")]
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, rustix::fs::RenameFlags::NOREPLACE) {
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => Err(io::ErrorKind::Unsupported.into()),
        renamed => Ok(renamed?),
    }
}

/// Renames a file unless there is one of the other name, where the system can do that at once.
#[cfg(not(target_os = "linux"))]
fn rename_new(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The number of the process that fills a draft, by the draft's name: `rejoin.db.part-812-x3kq9z`.
pub(crate) fn drafter(name: &str) -> Option<&str> {
    let (_, rest) = name.rsplit_once(DRAFT)?;
    rest.split('-').next()
}

/// Whether a file that exists may be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overwrite {
    Keep,
    Replace,
}

/// Gives a draft its name once its bytes are safe: sync, rename, sync of the directory.
///
/// When this fails, a file that was to be new is not there: it would stand in the way of the next attempt.
pub(crate) fn publish(draft: DraftFile, path: &Path, existing: Overwrite) -> io::Result<()> {
    draft.as_file().sync_all()?;
    match existing {
        Overwrite::Keep => draft.persist_noclobber(path),
        Overwrite::Replace => draft.persist(path),
    }?;
    let synced = sync_parent(path);
    if synced.is_err() && existing == Overwrite::Keep {
        // The first error is the one to tell.
        let _ = remove(path);
    }
    synced
}

/// Creates a file of one's own, 0600, whose bytes are allocated and mean nothing. It is gone again when
/// that fails, and its name is not durable.
#[cfg(target_os = "linux")]
pub(crate) fn allocate(path: &Path, bytes: u64) -> io::Result<()> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(NO_LINK)
        .open(path)?;
    let allocated = restore_owner(&file)
        .and_then(|()| Ok(rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, bytes)?));
    if allocated.is_err() {
        let _ = remove(path);
    }
    allocated
}

/// Creates a file of one's own whose bytes are allocated, where the system can do that.
#[cfg(not(target_os = "linux"))]
pub(crate) fn allocate(_: &Path, _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Gives an empty file so many bytes, all zero. One that is not empty any more, because another process
/// filled it meanwhile, keeps what it has.
#[cfg(target_os = "linux")]
pub(crate) fn fill_empty(path: &Path, bytes: u64) -> io::Result<()> {
    let file = open_to_write(path)?;
    Ok(rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, bytes)?)
}

/// Gives an empty file so many bytes, where that can be done without taking any from it.
#[cfg(not(target_os = "linux"))]
pub(crate) fn fill_empty(_: &Path, _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Gives a draft its name, unless there is a file of that name. Neither is durable yet.
pub(crate) fn name(draft: DraftFile, path: &Path) -> io::Result<()> {
    draft.persist_noclobber(path)
}

/// Gives a draft its name at once. A power cut may lose it.
pub(crate) fn publish_unsynced(draft: DraftFile, path: &Path) -> io::Result<()> {
    draft.persist(path)
}

/// Whether everything on a file system can be synced at once.
pub(crate) const CAN_SYNC_FILE_SYSTEM: bool = cfg!(target_os = "linux");

/// Syncs everything on the file system that a directory lies on.
#[cfg(target_os = "linux")]
pub(crate) fn sync_file_system(directory: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(directory)?)?)
}

/// Syncs everything on the file system that a directory lies on.
#[cfg(not(target_os = "linux"))]
pub(crate) fn sync_file_system(_: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Removes a file.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    std::fs::remove_file(path)
}

/// Gives a file another name on its file system, durably.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to)?;
    sync_parent(to)?;
    if directory_of(from) == directory_of(to) { Ok(()) } else { sync_parent(from) }
}

/// The file beside `path` whose name has `suffix` added.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}

/// Reads a small file that exists, up to a limit. A link or a pipe in its place is refused.
pub(crate) fn read_small(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let (file, found) = open_to_read_as(User::current(), path)?;
    if !found.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens a file that exists. A link in its place is refused: it could lead out of the
/// store. So is a file of another user.
pub(crate) fn open_to_read(path: &Path) -> io::Result<File> {
    open_to_read_as(User::current(), path).map(|(file, _)| file)
}

/// Opens a file that exists, to read it and to write to it. A link in its place is
/// refused, and a file of another user.
pub(crate) fn open_to_write(path: &Path) -> io::Result<File> {
    open_to_write_as(User::current(), path).map(|(file, _)| file)
}

/// As [`open_to_read`], for a user who is known already; tells what was found.
pub(crate) fn open_to_read_as(user: User, path: &Path) -> io::Result<(File, Metadata)> {
    own(user, OpenOptions::new().read(true).custom_flags(NO_LINK).open(path)?, path)
}

/// As [`open_to_write`], for a user who is known already; tells what was found.
pub(crate) fn open_to_write_as(user: User, path: &Path) -> io::Result<(File, Metadata)> {
    own(user, OpenOptions::new().read(true).write(true).custom_flags(NO_LINK).open(path)?, path)
}

/// Refuses a file of another user. One of the user's own that others can write is taken away from them first.
fn own(user: User, file: File, path: &Path) -> io::Result<(File, Metadata)> {
    let found = file.metadata()?;
    if let Some(foreign) = user.check(path, &found) {
        if foreign.owner != foreign.user {
            return Err(foreign.into());
        }
        tracing::warn!(mode = foreign.mode, "a file that others could write was made private");
        file.set_permissions(Permissions::from_mode(foreign.mode & 0o700))?;
    }
    Ok((file, found))
}

/// Creates a file of one's own, 0600. One that exists is an error. Its name is not durable yet.
pub(crate) fn create_to_write(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
    restore_owner(&file)?;
    Ok(file)
}

/// A pipe or a link must neither be followed nor waited for.
const NO_LINK: i32 = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).bits().cast_signed();

/// Writes all bytes at a place in a file. They are not durable yet.
pub(crate) fn write_at(file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
    file.write_all_at(bytes, offset)
}

/// Cuts a file off after so many bytes.
pub(crate) fn cut(file: &File, length: u64) -> io::Result<()> {
    file.set_len(length)
}

/// Ends the name of a file that another one is about to replace, where the two cannot be exchanged.
pub(crate) const ASIDE: &str = "-aside";

/// Puts one file in the place of another of the same file system, durably, and
/// leaves the other under the first's name.
///
/// Where the file system has neither exchanges nor hard links, the other file is gone.
pub(crate) fn exchange(fresh: &Path, path: &Path) -> io::Result<()> {
    if swap(fresh, path).is_err() {
        replace(fresh, path)?;
    }
    sync_parent(path)?;
    sync_parent(fresh)
}

/// The same in steps; at each of them both files are whole. Between the first two, the file that is to be
/// replaced has two names: whoever finds it aside then must not erase its bytes.
fn replace(fresh: &Path, path: &Path) -> io::Result<()> {
    let aside = beside(fresh, ASIDE);
    let is_linked = std::fs::hard_link(path, &aside).is_ok();
    if let Err(cause) = std::fs::rename(fresh, path) {
        if is_linked {
            // What is left of it is told by its name, so failing here harms nothing.
            let _ = remove(&aside);
        }
        return Err(cause);
    }
    if is_linked { std::fs::rename(&aside, fresh) } else { Ok(()) }
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
fn swap(fresh: &Path, path: &Path) -> io::Result<()> {
    Ok(rustix::fs::renameat_with(CWD, fresh, CWD, path, rustix::fs::RenameFlags::EXCHANGE)?)
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn swap(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Writes over every byte of a file, syncs that, and then removes the file.
pub(crate) fn erase(file: &File, path: &Path) -> io::Result<()> {
    static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
    let length = file.metadata()?.len();
    let mut at = 0;
    while at < length {
        let piece = usize::try_from(length - at).map_or(ZEROS.len(), |left| left.min(ZEROS.len()));
        write_at(file, at, &ZEROS[..piece])?;
        at += piece as u64;
    }
    // Without this sync the zeros would never reach the disk: the file is about to be cut.
    file.sync_all()?;
    cut(file, 0)?;
    remove(path)
}

/// Removes a directory that nothing is in.
pub(crate) fn remove_if_empty(directory: &Path) -> io::Result<()> {
    match std::fs::remove_dir(directory) {
        Err(cause) if cause.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
        outcome => outcome,
    }
}

/// Erases every file below a directory, and then the directories. A link is removed and not followed.
pub(crate) fn erase_tree(directory: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() {
            erase_tree(&path)?;
        } else if kind.is_file() {
            erase(&open_to_write(&path)?, &path)?;
        } else {
            remove(&path)?;
        }
    }
    std::fs::remove_dir(directory)?;
    sync_parent(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_exchanged_is_replaced_and_kept() {
        let directory = tempfile::tempdir().unwrap();
        let (fresh, path) = (directory.path().join("fresh"), directory.path().join("path"));
        std::fs::write(&fresh, "new").unwrap();
        std::fs::write(&path, "old").unwrap();

        replace(&fresh, &path).unwrap();

        let read = [&fresh, &path].map(|path| std::fs::read_to_string(path).unwrap());
        assert_eq!(read, ["old", "new"]);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_cannot_be_replaced_is_left_with_one_name() {
        let directory = tempfile::tempdir().unwrap();
        let (fresh, path) = (directory.path().join("fresh"), directory.path().join("path"));
        std::fs::create_dir(&fresh).unwrap();
        std::fs::write(&path, "old").unwrap();

        replace(&fresh, &path).unwrap_err();

        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2);
    }

    #[test]
    fn directories_above_are_made_for_the_owner_only() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/b/c");

        create_private_directory(&path).unwrap();

        let modes =
            ["a", "a/b"].map(|name| directory.path().join(name).metadata().unwrap().permissions().mode());
        assert_eq!((modes.map(|mode| mode & 0o777), path.exists()), ([0o700; 2], false));
    }
}
