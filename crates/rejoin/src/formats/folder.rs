//! Access to the folders of other programs.
//!
//! A missing path is empty. A path that exists and cannot be read is an error, so that a part of a history is
//! never taken for the whole.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};

/// Returns the sorted paths in a directory; none if the directory does not exist.
pub(super) fn entries(directory: &Path) -> Result<Vec<PathBuf>> {
    let listed = fs::read_dir(directory).and_then(|entries| {
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<PathBuf>>>()
    });
    let mut paths = or_nothing(listed, directory)?.unwrap_or_default();
    paths.sort();
    Ok(paths)
}

/// Returns the regular files in a directory, sorted. Ignores symbolic links.
pub(super) fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in entries(directory)? {
        if is_file(&path)? {
            files.push(path);
        }
    }
    Ok(files)
}

/// True for a regular file, false for a symbolic link to one.
pub(super) fn is_file(path: &Path) -> Result<bool> {
    let metadata = or_nothing(fs::symlink_metadata(path), path)?;
    Ok(metadata.is_some_and(|metadata| metadata.is_file()))
}

/// Returns the text of a regular file of at most `limit` bytes; none if it is missing, larger or not UTF-8.
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

/// True when an error means that nothing is there. A path that leads through a file counts as missing.
pub(super) fn is_absent(cause: &io::Error) -> bool {
    matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Returns the reason why something could not be read.
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
