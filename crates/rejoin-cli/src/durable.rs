//! Replaces small files of ours so that a crash leaves the old one or the new one, never a mixture.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::process;

/// Replaces `path` with `content`, and returns once it would survive a crash.
///
/// A file that exists keeps its permissions; one that does not is readable by its owner only.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    create_private_directory(directory)?;
    let temporary = directory.join(temporary_name(path));
    // Only a process that crashed can have left one behind under our number.
    let _ = fs::remove_file(&temporary);
    let outcome = write_new(&temporary, content, mode_of(path)).and_then(|()| fs::rename(&temporary, path));
    if outcome.is_err() {
        // The first error is the one to tell; a leftover temporary file is only litter.
        let _ = fs::remove_file(&temporary);
    }
    outcome?;
    // The rename itself lives in the directory.
    File::open(directory)?.sync_all()
}

/// Creates a file that only its owner can read, and returns once it would survive a crash. One that exists is an error.
pub(crate) fn create(path: &Path, content: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    create_private_directory(directory)?;
    write_new(path, content, 0o600)?;
    File::open(directory)?.sync_all()
}

/// Creates a directory, and those above it, that only the owner can enter.
pub(crate) fn create_private_directory(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

fn write_new(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

fn mode_of(path: &Path) -> u32 {
    fs::metadata(path).map_or(0o600, |metadata| metadata.permissions().mode() & 0o777)
}

/// Two processes must not share a temporary file, and one process writes a path once at a time.
fn temporary_name(path: &Path) -> OsString {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.tmp", process::id()));
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
    fn an_existing_file_keeps_its_permissions() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("config.toml");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();

        replace(&path, b"new").unwrap();

        assert_eq!((fs::read(&path).unwrap(), mode_of(&path)), (b"new".to_vec(), 0o640));
    }
}
