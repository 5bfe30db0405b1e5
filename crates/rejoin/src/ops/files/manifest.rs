//! The list of a snapshot: each file, how it looked, and where its content is.

use std::collections::BTreeMap;
#[cfg(feature = "redact")]
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::model::{Digest, Time};
use crate::ops::attachment::digest_of;

const KIND: &str = "files";

const VERSION: u32 = 1;

/// The files of a project at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileManifest {
    /// When looking at them began.
    pub taken: Time,
    /// The directory they were in; empty when its path holds a secret.
    pub directory: String,
    /// What tells this directory from another one of this path.
    pub identity: String,
    /// The files by path, which is relative to the project and separated by `/`.
    ///
    /// Who restores them must check each path: a manifest may come from anywhere.
    pub files: BTreeMap<String, FileEntry>,
}

/// A file as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// Its bytes.
    pub size: u64,
    /// Its permission bits.
    pub mode: u32,
    /// What shows that it is the same.
    pub stamp: FileStamp,
    /// What it held.
    pub content: FileContent,
}

/// What changes when a file does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileStamp {
    /// When it was modified, in nanoseconds since 1970.
    pub modified: i64,
    /// When anything about it was changed.
    pub changed: i64,
    /// Its number in the file system.
    pub inode: u64,
}

/// What a file held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileContent {
    /// It is kept, under its SHA-256.
    Kept(Digest),
    /// It is not kept.
    LeftOut(LeftOut),
}

impl FileContent {
    /// What a file holds that holds these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::Kept(digest_of(bytes))
    }
}

/// Why the content of a file is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LeftOut {
    /// It is larger than a snapshot keeps.
    Large,
    /// It holds what redaction would take out.
    Secret,
    /// The snapshot, or the conversation, has no room for it.
    Full,
    /// It could not be read.
    Unreadable,
}

/// The first line.
#[derive(Serialize, Deserialize)]
struct ManifestHeader {
    rejoin: String,
    version: u32,
    taken: i64,
    directory: String,
    identity: String,
}

/// Every other line.
#[derive(Default, Serialize, Deserialize)]
struct ManifestLine {
    path: String,
    #[serde(default, skip_serializing_if = "is_default")]
    removed: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    size: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    mode: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    modified: i64,
    #[serde(default, skip_serializing_if = "is_default")]
    changed: i64,
    #[serde(default, skip_serializing_if = "is_default")]
    inode: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    content: Option<Digest>,
    #[serde(default, skip_serializing_if = "is_default")]
    left_out: Option<LeftOut>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl FileManifest {
    /// Everything, as it is stored.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.header();
        for (path, entry) in &self.files {
            write(&mut bytes, &ManifestLine::of(path, entry));
        }
        bytes
    }

    /// What changed since another one, as it is stored; none when nothing did.
    pub(crate) fn to_changes(&self, before: &Self) -> Option<Vec<u8>> {
        let mut bytes = self.header();
        let header = bytes.len();
        for path in before.files.keys().filter(|path| !self.files.contains_key(*path)) {
            write(&mut bytes, &ManifestLine { path: path.clone(), removed: true, ..ManifestLine::default() });
        }
        for (path, entry) in &self.files {
            if before.files.get(path) != Some(entry) {
                write(&mut bytes, &ManifestLine::of(path, entry));
            }
        }
        (bytes.len() > header).then_some(bytes)
    }

    /// Applies a stored manifest: the first one, or the changes after it.
    pub(crate) fn apply(&mut self, bytes: &[u8]) -> Result<()> {
        let damaged = || Error::corrupt("the list of a snapshot of files cannot be read");
        let mut lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let first = lines.next().ok_or_else(damaged)?;
        let header: ManifestHeader =
            serde_json::from_slice(first).map_err(|cause| damaged().because(cause))?;
        if header.rejoin != KIND || header.version != VERSION {
            return Err(damaged());
        }
        self.taken = Time::from_micros(header.taken);
        (self.directory, self.identity) = (header.directory, header.identity);
        for line in lines {
            let line: ManifestLine =
                serde_json::from_slice(line).map_err(|cause| damaged().because(cause))?;
            if line.removed {
                self.files.remove(&line.path);
            } else {
                let entry = line.entry().ok_or_else(damaged)?;
                self.files.insert(line.path, entry);
            }
        }
        Ok(())
    }

    /// A stored manifest in which some contents are left out as secret, and some paths are not listed; none
    /// when nothing changes.
    #[cfg(feature = "redact")]
    pub(crate) fn without(
        bytes: &[u8],
        contents: &BTreeSet<Digest>,
        is_secret: &mut dyn FnMut(&str) -> bool,
    ) -> Option<Vec<u8>> {
        let (mut changed, mut is_changed) = (Vec::new(), false);
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let Ok(mut entry) = serde_json::from_slice::<ManifestLine>(line) else {
                match serde_json::from_slice::<ManifestHeader>(line) {
                    Ok(header) if is_secret(&header.directory) => {
                        write(&mut changed, &ManifestHeader { directory: String::new(), ..header });
                        is_changed = true;
                    }
                    _ => changed.extend_from_slice(line),
                }
                continue;
            };
            if is_secret(&entry.path) {
                is_changed = true;
                continue;
            }
            if entry.content.is_some_and(|content| contents.contains(&content)) {
                (entry.content, entry.left_out, is_changed) = (None, Some(LeftOut::Secret), true);
            }
            write(&mut changed, &entry);
        }
        is_changed.then_some(changed)
    }

    fn header(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let header = ManifestHeader {
            rejoin: KIND.to_owned(),
            version: VERSION,
            taken: self.taken.as_micros(),
            directory: self.directory.clone(),
            identity: self.identity.clone(),
        };
        write(&mut bytes, &header);
        bytes
    }
}

fn write(bytes: &mut Vec<u8>, line: &impl Serialize) {
    serde_json::to_writer(&mut *bytes, line).expect("it is plain data");
    bytes.push(b'\n');
}

impl ManifestLine {
    fn of(path: &str, entry: &FileEntry) -> Self {
        let FileStamp { modified, changed, inode } = entry.stamp;
        let (content, left_out) = match entry.content {
            FileContent::Kept(digest) => (Some(digest), None),
            FileContent::LeftOut(why) => (None, Some(why)),
        };
        let (path, removed) = (path.to_owned(), false);
        Self {
            path,
            removed,
            size: entry.size,
            mode: entry.mode,
            modified,
            changed,
            inode,
            content,
            left_out,
        }
    }

    fn entry(&self) -> Option<FileEntry> {
        let content = match (self.content, self.left_out) {
            (Some(digest), None) => FileContent::Kept(digest),
            (None, Some(why)) => FileContent::LeftOut(why),
            _ => return None,
        };
        let stamp = FileStamp { modified: self.modified, changed: self.changed, inode: self.inode };
        Some(FileEntry { size: self.size, mode: self.mode, stamp, content })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: u8) -> FileEntry {
        FileEntry {
            size: u64::from(number),
            mode: 0o644,
            stamp: FileStamp { modified: 5, changed: 6, inode: 7 },
            content: FileContent::Kept(Digest::from_bytes([number; 32])),
        }
    }

    fn manifest(taken: i64, files: &[(&str, FileEntry)]) -> FileManifest {
        let files = files.iter().map(|(path, entry)| ((*path).to_owned(), *entry)).collect();
        let directory = "/home/ada/trip".to_owned();
        FileManifest { taken: Time::from_micros(taken), directory, identity: "7".to_owned(), files }
    }

    #[test]
    fn a_manifest_and_its_changes_read_back() {
        let left_out = FileEntry { content: FileContent::LeftOut(LeftOut::Large), ..entry(9) };
        let before = manifest(1, &[("a", entry(1)), ("b", entry(2)), ("line\nbreak", left_out)]);
        let after = manifest(2, &[("a", entry(3)), ("c", entry(4)), ("line\nbreak", left_out)]);

        let mut read = FileManifest::default();
        read.apply(&before.to_bytes()).unwrap();
        let first = read.clone();
        read.apply(&after.to_changes(&before).unwrap()).unwrap();

        assert_eq!((first, read), (before, after));
    }

    #[test]
    fn nothing_is_stored_when_nothing_changed() {
        let before = manifest(1, &[("a", entry(1))]);

        assert_eq!(manifest(2, &[("a", entry(1))]).to_changes(&before), None);
    }

    #[test]
    fn a_list_that_is_not_one_is_damaged() {
        let wrong = ["", "{}", "{\"rejoin\":\"files\",\"version\":9,\"taken\":1}\n", "\u{0}\n"];

        let read = wrong.map(|text| FileManifest::default().apply(text.as_bytes()).is_err());

        assert_eq!(read, [true; 4]);
    }
}
