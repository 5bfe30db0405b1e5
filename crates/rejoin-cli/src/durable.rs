//! Writes whole files so that a crash leaves the old one or the new one, never a mixture.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::{process, thread};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

/// Replaces `path` with `content`, and returns once it would survive a crash.
///
/// A file that exists keeps its permissions, except that others cannot write it; a
/// new one is readable by its owner only.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    write(path, content, mode_of(path), ExistingFile::Goes)
}

/// What becomes of a file that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExistingFile {
    Stays,
    Goes,
}

/// Writes a file that only its owner can read, and returns once it would survive a crash.
///
/// Where one is that stays, the answer is `AlreadyExists`. A symbolic link is not followed: it is the file.
pub(crate) fn place(path: &Path, content: &[u8], existing: ExistingFile) -> io::Result<()> {
    write(path, content, 0o600, existing)
}

fn write(path: &Path, content: &[u8], mode: u32, existing: ExistingFile) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    create_private_directory(directory)?;
    let temporary = directory.join(temporary_name(path));
    // Only a process that crashed can have left one behind under our number.
    let _ = fs::remove_file(&temporary);
    let outcome = write_new(&temporary, content, mode).and_then(|()| match existing {
        ExistingFile::Goes => fs::rename(&temporary, path),
        ExistingFile::Stays => rename_new(&temporary, path),
    });
    if outcome.is_err() {
        // The first error is the one to tell; a leftover temporary file is only litter.
        let _ = fs::remove_file(&temporary);
    }
    outcome?;
    // The rename itself lives in the directory.
    let synced = File::open(directory).and_then(|directory| directory.sync_all());
    if synced.is_err() && existing == ExistingFile::Stays {
        // A new file that may be lost was not written. Left there, it would
        // stand in the way of the next attempt.
        let _ = fs::remove_file(path);
    }
    synced
}

/// Renames, unless something has the new name.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Some file systems cannot do both in one step. Looking first leaves a
        // moment in which another may come.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) if fs::symlink_metadata(to).is_err() => {
            fs::rename(from, to)
        }
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Err(io::ErrorKind::AlreadyExists.into()),
        outcome => Ok(outcome?),
    }
}

/// Creates a directory, and those above it, that only the owner can enter.
pub(crate) fn create_private_directory(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

fn write_new(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    // Whoever opens a file keeps it open when it is closed to others later, so it is private until it is
    // complete. An odd umask must not take from the owner either.
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(content)?;
    file.set_permissions(Permissions::from_mode(mode))?;
    file.sync_all()
}

fn mode_of(path: &Path) -> u32 {
    fs::metadata(path).map_or(0o600, |metadata| metadata.permissions().mode() & 0o755)
}

/// Two processes must not share a temporary file, nor two threads.
fn temporary_name(path: &Path) -> OsString {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.{:?}.tmp", process::id(), thread::current().id()));
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_is_private_and_nothing_else_is_left_behind() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("deep/trust.toml");

        replace(&path, b"version = 1\n").unwrap();

        let names: Vec<_> =
            fs::read_dir(home.path().join("deep")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["trust.toml"]);
        assert_eq!((fs::read(&path).unwrap(), mode_of(&path)), (b"version = 1\n".to_vec(), 0o600));
    }

    #[test]
    fn a_file_that_stays_stays_and_one_that_goes_is_replaced_by_a_private_one() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("trip.md");
        fs::write(&path, "old").unwrap();

        let refused = place(&path, b"new", ExistingFile::Stays).unwrap_err().kind();
        let before = fs::read(&path).unwrap();
        place(&path, b"new", ExistingFile::Goes).unwrap();

        assert_eq!((refused, before), (io::ErrorKind::AlreadyExists, b"old".to_vec()));
        assert_eq!((fs::read(&path).unwrap(), mode_of(&path)), (b"new".to_vec(), 0o600));
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_existing_file_keeps_its_permissions() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("config.toml");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();

        replace(&path, b"new").unwrap();

        assert_eq!((fs::read(&path).unwrap(), mode_of(&path)), (b"new".to_vec(), 0o640));
    }
}
