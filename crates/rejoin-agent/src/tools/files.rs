//! Files opened where they were found to be, and replaced whole.
//!
//! A path comes here with its links resolved. Every component is opened without following links, so a link
//! that is put in the way after a person agreed is an error, not another file.

use std::fs::{File, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

/// What is in the place of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ExistingContent {
    Nothing,
    Bytes(Vec<u8>),
}

/// Why a file was not replaced.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It is not what it was.
    Changed,
    Failed(io::Error),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<Errno> for Refusal {
    fn from(error: Errno) -> Self {
        Self::Failed(error.into())
    }
}

/// Whether directories on the way are made when they are missing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MissingDirectories {
    Refused,
    Made,
}

/// Opens a regular file for reading. It never waits, as a pipe without a writer would make it.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let (directory, name) = parent(path, MissingDirectories::Refused)?;
    open_in(&directory, &name)
}

/// Opens a directory, to list it.
pub(crate) fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match path.file_name() {
        None => Ok(rustix::fs::openat(CWD, "/", flags, Mode::empty())?),
        Some(_) => {
            let (directory, name) = parent(path, MissingDirectories::Refused)?;
            Ok(rustix::fs::openat(&directory, name, flags, Mode::empty())?)
        }
    }
}

/// Reads a whole file of at most so many bytes.
pub(super) fn read(path: &Path, most: u64) -> io::Result<ExistingContent> {
    match open(path) {
        Ok(file) => read_all(&file, most).map(ExistingContent::Bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(ExistingContent::Nothing),
        Err(error) => Err(error),
    }
}

/// Replaces a file, if it still is what it was. Who reads it meanwhile sees the old or the new, never half.
///
/// Permissions stay as they were; missing directories are made.
pub(super) fn replace(path: &Path, was: &ExistingContent, bytes: &[u8]) -> Result<(), Refusal> {
    let (directory, name) = parent(path, MissingDirectories::Made)?;
    let (temporary, mut file) = temporary_in(&directory)?;
    let written = file.write_all(bytes).map_err(Refusal::from).and_then(|()| {
        adopt(&directory, &name, &file, was)?;
        file.sync_all()?;
        put(&directory, &temporary, &name, was)
    });
    if written.is_err() {
        let _ = rustix::fs::unlinkat(&directory, &temporary, AtFlags::empty());
    }
    written?;
    // The name is safe once the directory is. Some file systems cannot sync
    // one, and the file is there all the same.
    if let Ok(listing) = rustix::fs::openat(&directory, ".", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
    {
        let _ = rustix::fs::fsync(listing);
    }
    Ok(())
}

/// Checks that the file is what it was, and takes over its permissions and owner.
fn adopt(directory: &OwnedFd, name: &str, file: &File, was: &ExistingContent) -> Result<(), Refusal> {
    let now = match open_in(directory, name) {
        Ok(now) => now,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return if *was == ExistingContent::Nothing { Ok(()) } else { Err(Refusal::Changed) };
        }
        Err(error) => return Err(error.into()),
    };
    let ExistingContent::Bytes(old) = was else { return Err(Refusal::Changed) };
    if read_all(&now, old.len() as u64).ok().as_ref() != Some(old) {
        return Err(Refusal::Changed);
    }
    let metadata = now.metadata()?;
    let mine = file.metadata()?;
    if (metadata.uid(), metadata.gid()) != (mine.uid(), mine.gid()) {
        // Only root may give a file away; for everyone else it becomes their own.
        let _ = std::os::unix::fs::fchown(file, Some(metadata.uid()), Some(metadata.gid()));
    }
    file.set_permissions(Permissions::from_mode(metadata.mode() & 0o7777))?;
    Ok(())
}

fn put(directory: &OwnedFd, temporary: &str, name: &str, was: &ExistingContent) -> Result<(), Refusal> {
    if *was == ExistingContent::Nothing {
        match rustix::fs::renameat_with(directory, temporary, directory, name, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(()),
            Err(Errno::EXIST) => return Err(Refusal::Changed),
            // Not every file system can refuse to replace.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(rustix::fs::renameat(directory, temporary, directory, name)?)
}

fn temporary_in(directory: &OwnedFd) -> io::Result<(String, File)> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    loop {
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
        let name = format!(".rejoin-{}-{nanos}", std::process::id());
        match rustix::fs::openat(directory, &name, flags, Mode::from_raw_mode(0o666)) {
            Ok(file) => return Ok((name, file.into())),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Opens a regular file in a directory for reading, without following a link and without waiting.
pub(crate) fn open_in(directory: &OwnedFd, name: &str) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = File::from(rustix::fs::openat(directory, name, flags, Mode::empty())?);
    let kind = file.metadata()?.file_type();
    if kind.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    if !kind.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok(file)
}

fn read_all(file: &File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!("it is larger than {most} bytes")));
    }
    Ok(bytes)
}

/// The directory a file lies in, reached without following a link, and the file's name in it.
fn parent(path: &Path, missing: MissingDirectories) -> io::Result<(OwnedFd, String)> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    let name = name.to_str().ok_or_else(|| io::Error::other("its name is not text"))?.to_owned();
    let mut here = rustix::fs::openat(CWD, "/", flags, Mode::empty())?;
    for component in path.parent().into_iter().flat_map(Path::components) {
        let Component::Normal(part) = component else { continue };
        here = match rustix::fs::openat(&here, part, flags, Mode::empty()) {
            Err(Errno::NOENT) if missing == MissingDirectories::Made => {
                rustix::fs::mkdirat(&here, part, Mode::from_raw_mode(0o777))?;
                rustix::fs::openat(&here, part, flags, Mode::empty())?
            }
            outcome => outcome?,
        };
    }
    Ok((here, name))
}
