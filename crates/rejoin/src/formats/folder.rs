//! Looking into the folders of other programs.
//!
//! What is not there is nothing. What is there and cannot be read is an error: whoever passed over it would take a part
//! of a history for the whole.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};

/// The paths of what is in a directory, sorted; none when there is no such directory.
pub(super) fn entries(directory: &Path) -> Result<Vec<PathBuf>> {
    let listed = fs::read_dir(directory).and_then(|entries| {
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<PathBuf>>>()
    });
    let mut paths = or_nothing(listed, directory)?.unwrap_or_default();
    paths.sort();
    Ok(paths)
}

/// The regular files in a directory, sorted. Symbolic links are left alone.
pub(super) fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in entries(directory)? {
        if is_file(&path)? {
            files.push(path);
        }
    }
    Ok(files)
}

/// True for a regular file, and not for a symbolic link to one.
pub(super) fn is_file(path: &Path) -> Result<bool> {
    let metadata = or_nothing(fs::symlink_metadata(path), path)?;
    Ok(metadata.is_some_and(|metadata| metadata.is_file()))
}

/// The text of a regular file of at most `limit` bytes; none when there is none, it is larger, or it is no text.
pub(super) fn small_text(path: &Path, limit: u64) -> Result<Option<String>> {
    let is_small = or_nothing(fs::symlink_metadata(path), path)?
        .is_some_and(|metadata| metadata.is_file() && metadata.len() <= limit);
    if !is_small {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes));
    Ok(or_nothing(read, path)?.and_then(|_| String::from_utf8(bytes).ok()))
}

/// True when a failure says that there is nothing: also a path that leads through a file leads nowhere.
pub(super) fn is_absent(cause: &io::Error) -> bool {
    matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Why something could not be read, in words.
pub(super) fn cause_of(error: &Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

fn or_nothing<T>(outcome: io::Result<T>, path: &Path) -> Result<Option<T>> {
    match outcome {
        Ok(found) => Ok(Some(found)),
        Err(cause) if is_absent(&cause) => Ok(None),
        Err(cause) => {
            Err(Error::new(ErrorKind::Unavailable, format!("read `{}`", path.display())).because(cause))
        }
    }
}
