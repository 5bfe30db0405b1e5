//! Files below a directory, reached by paths that somebody else may have written.
//!
//! A path is taken apart first, and each part of it is opened in the one before without following links. So
//! no path leads out of the directory, whatever is put in the way meanwhile.

use std::fs::{File, Permissions};
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::file_snapshots::COPY;
use crate::file_snapshots::walk::SeenFile;
use crate::tools::{ProjectDirectory, open_directory, open_in};

/// So many copies of one file are kept at most.
const MOST_COPIES: u32 = 1_000;

/// A directory, and what lies below it.
#[derive(Debug)]
pub(super) struct Beneath {
    directory: OwnedFd,
}

/// What is in the place of a file.
#[derive(Debug)]
pub(super) enum FoundFile {
    Nothing,
    File(File),
    /// A link, a directory, a pipe or a device; or one of them is on the way.
    Other,
}

/// Why a file was not changed.
#[derive(Debug)]
pub(super) enum RestoreRefusal {
    /// It is not what it was.
    Changed,
    Failed(io::Error),
}

impl From<io::Error> for RestoreRefusal {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<Errno> for RestoreRefusal {
    fn from(error: Errno) -> Self {
        Self::Failed(error.into())
    }
}

/// The directories of a path and its last part; none for one that does not stay below its directory, or leads
/// into `.git`, where programs are named that git starts.
pub(super) fn parts(path: &str) -> Option<(Vec<&str>, &str)> {
    let mut parts: Vec<&str> = path.split('/').collect();
    let is_plain = |part: &str| {
        !matches!(part, "" | "." | "..") && !part.contains('\0') && !part.eq_ignore_ascii_case(".git")
    };
    if !parts.iter().all(|part| is_plain(part)) {
        return None;
    }
    let last = parts.pop()?;
    Some((parts, last))
}

impl Beneath {
    pub(super) fn of(project: &ProjectDirectory) -> io::Result<Self> {
        Ok(Self { directory: open_directory(project.directory())? })
    }

    /// Looks at a path.
    pub(super) fn look(&self, path: &str) -> io::Result<FoundFile> {
        let (directories, name) = parts(path).ok_or(io::ErrorKind::InvalidInput)?;
        let directory = match self.directory(&directories) {
            Ok(directory) => directory,
            Err(Errno::NOENT) => return Ok(FoundFile::Nothing),
            Err(Errno::NOTDIR | Errno::LOOP) => return Ok(FoundFile::Other),
            Err(error) => return Err(error.into()),
        };
        match rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(FoundFile::Nothing),
            Err(error) => return Err(error.into()),
            Ok(found) if rustix::fs::FileType::from_raw_mode(found.st_mode).is_file() => {}
            Ok(_) => return Ok(FoundFile::Other),
        }
        open_in(&directory, name).map(FoundFile::File)
    }

    /// Puts a file where nothing is. Missing directories are made.
    pub(super) fn create(&self, path: &str, bytes: &[u8], mode: u32) -> Result<(), RestoreRefusal> {
        let (directories, name) = parts(path).ok_or(io::Error::from(io::ErrorKind::InvalidInput))?;
        let directory = self.make_directory(&directories)?;
        let fresh = TemporaryFile::write(&directory, bytes, mode)?;
        match rustix::fs::renameat_with(&directory, &fresh.name, &directory, name, RenameFlags::NOREPLACE) {
            Ok(()) => {}
            Err(Errno::EXIST) => return Err(RestoreRefusal::Changed),
            // Not every file system can refuse to replace; a link of the name can.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                match rustix::fs::linkat(&directory, &fresh.name, &directory, name, AtFlags::empty()) {
                    Ok(()) => {}
                    Err(Errno::EXIST) => return Err(RestoreRefusal::Changed),
                    Err(error) => return Err(error.into()),
                }
            }
            Err(error) => return Err(error.into()),
        }
        drop(fresh);
        sync(&directory);
        Ok(())
    }

    /// Replaces a file that is as it was seen, and keeps it under another name, which is returned. Whoever
    /// reads the file meanwhile sees the old or the new, and at every moment both are there.
    pub(super) fn replace(
        &self,
        was: &SeenFile,
        bytes: &[u8],
        is_executable: bool,
    ) -> Result<String, RestoreRefusal> {
        let (directories, name) = parts(&was.path).ok_or(io::Error::from(io::ErrorKind::InvalidInput))?;
        let directory = self.directory(&directories)?;
        let old = open_as(&directory, name, was)?;
        let fresh = TemporaryFile::write(&directory, bytes, 0o600)?;
        adopt(&fresh.file, &old, is_executable)?;
        let (copy, is_linked) = keep(&directory, name, &old)?;
        match rustix::fs::renameat_with(&directory, &fresh.name, &directory, name, RenameFlags::EXCHANGE) {
            Ok(()) => {
                // What was there goes only if it is what was kept.
                let there = rustix::fs::statat(&directory, &fresh.name, AtFlags::SYMLINK_NOFOLLOW)?;
                if there.st_ino != old.metadata()?.ino()
                    || !is_linked && SeenFile::of(String::new(), &old.metadata()?).stamp != was.stamp
                {
                    let other = rename_to_copy(&directory, &fresh.name, name)?;
                    fresh.leave();
                    sync(&directory);
                    return Ok(beside(&was.path, &other));
                }
            }
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                rustix::fs::renameat(&directory, &fresh.name, &directory, name)?;
            }
            Err(error) => return Err(error.into()),
        }
        drop(fresh);
        sync(&directory);
        Ok(beside(&was.path, &copy))
    }

    /// Lets a file that is as it was seen be run, or no longer.
    pub(super) fn set_executable(&self, was: &SeenFile, is_executable: bool) -> Result<(), RestoreRefusal> {
        let (directories, name) = parts(&was.path).ok_or(io::Error::from(io::ErrorKind::InvalidInput))?;
        let directory = self.directory(&directories)?;
        let file = open_as(&directory, name, was)?;
        if file.metadata()?.nlink() > 1 {
            // The other name may be outside of the directory.
            return Err(
                io::Error::other("it is the same file under another name, which would change, too").into()
            );
        }
        adopt(&file, &file, is_executable)?;
        Ok(file.sync_all()?)
    }

    /// Takes a file away that is as it was seen. It stays under another name, which is returned.
    pub(super) fn set_aside(&self, was: &SeenFile) -> Result<String, RestoreRefusal> {
        let (directories, name) = parts(&was.path).ok_or(io::Error::from(io::ErrorKind::InvalidInput))?;
        let directory = self.directory(&directories)?;
        drop(open_as(&directory, name, was)?);
        let copy = rename_to_copy(&directory, name, name)?;
        sync(&directory);
        Ok(beside(&was.path, &copy))
    }

    fn directory(&self, parts: &[&str]) -> Result<OwnedFd, Errno> {
        let mut here = rustix::fs::openat(&self.directory, ".", FLAGS, Mode::empty())?;
        for part in parts {
            here = rustix::fs::openat(&here, *part, FLAGS, Mode::empty())?;
        }
        Ok(here)
    }

    fn make_directory(&self, parts: &[&str]) -> Result<OwnedFd, Errno> {
        let mut here = rustix::fs::openat(&self.directory, ".", FLAGS, Mode::empty())?;
        for part in parts {
            here = match rustix::fs::openat(&here, *part, FLAGS, Mode::empty()) {
                Err(Errno::NOENT) => {
                    rustix::fs::mkdirat(&here, *part, Mode::from_raw_mode(0o777))?;
                    sync(&here);
                    rustix::fs::openat(&here, *part, FLAGS, Mode::empty())?
                }
                found => found?,
            };
        }
        Ok(here)
    }
}

const FLAGS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A file under a name that stands in for its own. It goes when this does.
struct TemporaryFile<'a> {
    directory: &'a OwnedFd,
    name: String,
    file: File,
}

impl<'a> TemporaryFile<'a> {
    /// Writes it, and returns once it would survive a crash.
    fn write(directory: &'a OwnedFd, bytes: &[u8], mode: u32) -> io::Result<Self> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut number = 0_u32;
        loop {
            // The end lets every walk pass over it, should a crash leave it behind.
            let name = format!(".rejoin-{}-{number}{COPY}", std::process::id());
            match rustix::fs::openat(directory, &name, flags, Mode::from_raw_mode(mode & 0o777)) {
                Ok(file) => {
                    let mut fresh = Self { directory, name, file: file.into() };
                    fresh.file.write_all(bytes)?;
                    fresh.file.sync_all()?;
                    return Ok(fresh);
                }
                Err(Errno::EXIST) if number < MOST_COPIES => number += 1,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// It has become something else, and stays.
    fn leave(mut self) {
        self.name.clear();
    }
}

impl Drop for TemporaryFile<'_> {
    fn drop(&mut self) {
        if !self.name.is_empty() {
            let _ = rustix::fs::unlinkat(self.directory, &self.name, AtFlags::empty());
        }
    }
}

/// Opens a file that is as it was seen.
fn open_as(directory: &OwnedFd, name: &str, was: &SeenFile) -> Result<File, RestoreRefusal> {
    let file = match open_in(directory, name) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(RestoreRefusal::Changed),
        Err(error) => return Err(error.into()),
    };
    let now = SeenFile::of(was.path.clone(), &file.metadata()?);
    if now == *was { Ok(file) } else { Err(RestoreRefusal::Changed) }
}

/// Gives a file the permissions and the owner of another, but for who may run it.
fn adopt(file: &File, like: &File, is_executable: bool) -> io::Result<()> {
    let (mine, theirs) = (file.metadata()?, like.metadata()?);
    if (mine.uid(), mine.gid()) != (theirs.uid(), theirs.gid()) {
        // Only root may give a file away; for everyone else it becomes their own.
        let _ = std::os::unix::fs::fchown(file, Some(theirs.uid()), Some(theirs.gid()));
    }
    let mode = theirs.mode() & 0o777;
    let may_run = (mode & 0o444) >> 2;
    let mode = if is_executable { mode | may_run } else { mode & !0o111 };
    file.set_permissions(Permissions::from_mode(mode))
}

/// Keeps a file under a second name. True when it is the file itself, not a copy of its bytes.
fn keep(directory: &OwnedFd, name: &str, file: &File) -> Result<(String, bool), RestoreRefusal> {
    for copy in copies_of(name) {
        match rustix::fs::linkat(directory, name, directory, &copy, AtFlags::empty()) {
            Ok(()) => {
                sync(directory);
                return Ok((copy, true));
            }
            Err(Errno::EXIST) => {}
            // Some file systems have no second names, and some files of others may not get one.
            Err(Errno::PERM | Errno::ACCESS | Errno::NOTSUP | Errno::NOSYS | Errno::MLINK | Errno::INVAL) => {
                let mut bytes = Vec::new();
                io::Read::read_to_end(&mut &*file, &mut bytes)?;
                let fresh = TemporaryFile::write(directory, &bytes, file.metadata()?.mode())?;
                let copy = rename_to_copy(directory, &fresh.name, name)?;
                fresh.leave();
                sync(directory);
                return Ok((copy, false));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::Error::other("there are too many copies of it").into())
}

/// Renames a file to the next free name of a copy of `name`.
fn rename_to_copy(directory: &OwnedFd, from: &str, name: &str) -> io::Result<String> {
    for copy in copies_of(name) {
        match rustix::fs::renameat_with(directory, from, directory, &copy, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(copy),
            Err(Errno::EXIST) => {}
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                // Looking first leaves a moment in which another may come.
                if let Err(Errno::NOENT) = rustix::fs::statat(directory, &copy, AtFlags::SYMLINK_NOFOLLOW) {
                    rustix::fs::renameat(directory, from, directory, &copy)?;
                    return Ok(copy);
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::Error::other("there are too many copies of it"))
}

fn copies_of(name: &str) -> impl Iterator<Item = String> {
    // A name has at most 255 bytes.
    let short = &name[..name.floor_char_boundary(230)];
    (1..=MOST_COPIES).map(move |number| match number {
        1 => format!("{short}{COPY}"),
        number => format!("{short}{COPY}-{number}"),
    })
}

/// The path of another name in the same directory.
fn beside(path: &str, name: &str) -> String {
    path.rsplit_once('/').map_or_else(|| name.to_owned(), |(directory, _)| format!("{directory}/{name}"))
}

/// The names in a directory are safe once it is. Some file systems cannot sync one, and the names are there
/// all the same.
fn sync(directory: &OwnedFd) {
    let _ = rustix::fs::fsync(directory);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_below_its_directory() {
        let inside = ["a", "src/main.rs", ".github/x", "a\nb", "...", "dot.git"];
        let outside = [
            "",
            "/",
            "/etc/passwd",
            "..",
            "../a",
            "a/../b",
            "a/..",
            "./a",
            "a//b",
            "a/",
            ".git",
            ".git/hooks/x",
            "a/.GIT/config",
            "a\0b",
        ];

        assert_eq!(inside.map(|path| parts(path).is_some()), [true; 6]);
        assert_eq!(outside.map(|path| parts(path)), [const { None }; 14]);
    }
}
