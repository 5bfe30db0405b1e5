//! The conversations of an export that is still zipped.
//!
//! Names in a zip are compared and shown, never used as paths: nothing is unpacked. The sizes that a zip
//! declares are not trusted; the reader of an entry counts what comes out of it.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::rc::Rc;

use zip::ZipArchive;
use zip::result::ZipError;

use crate::error::{Error, ErrorKind, Result};

/// The magic number of a zip.
pub(super) const ZIP: [u8; 4] = *b"PK\x03\x04";

/// The maximum size of the central directory: more than a hundred thousand names.
const DIRECTORY: u64 = 16 << 20;

/// A file that counts the bytes read from it.
pub(super) struct CountedFile {
    file: File,
    count: Rc<Cell<u64>>,
    /// The limit of `count`.
    most: Rc<Cell<u64>>,
}

/// A zip, and which of its entries are conversations.
pub(super) struct Zipped {
    archive: ZipArchive<CountedFile>,
    /// Names and indexes, sorted by name.
    entries: Vec<(String, usize)>,
}

impl CountedFile {
    pub(super) fn new(file: File) -> Self {
        Self { file, count: Rc::default(), most: Rc::new(Cell::new(u64::MAX)) }
    }

    /// Returns the shared count of bytes read so far.
    pub(super) fn count(&self) -> Rc<Cell<u64>> {
        Rc::clone(&self.count)
    }
}

impl Read for CountedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.count.set(self.count.get() + read as u64);
        if self.count.get() > self.most.get() {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "its list of contents is too long"));
        }
        Ok(read)
    }
}

impl Seek for CountedFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

impl Zipped {
    /// Opens a zip. Fails if it cannot be read; a zip without conversations has no entries.
    pub(super) fn open(path: &Path, file: CountedFile) -> Result<Self> {
        let (count, most) = (Rc::clone(&file.count), Rc::clone(&file.most));
        most.set(DIRECTORY);
        let archive = ZipArchive::new(file).map_err(|cause| broken(path, cause))?;
        most.set(u64::MAX);
        count.set(0);
        let mut entries = Vec::new();
        for place in 0..archive.len() {
            let entry = archive.by_index_data(place).map_err(|cause| broken(path, cause))?;
            let name = String::from_utf8_lossy(entry.name_raw());
            if entry.is_file() && is_conversations(&name) {
                if entry.encrypted() {
                    return Err(Error::invalid(format!("`{name}` in `{}` is encrypted", path.display())));
                }
                entries.push((name.into_owned(), place));
            }
        }
        entries.sort();
        Ok(Self { archive, entries })
    }

    /// How many entries are conversations.
    pub(super) const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Opens one of them.
    pub(super) fn entry(&mut self, number: usize) -> Result<impl Read + '_> {
        let (name, place) = &self.entries[number];
        self.archive
            .by_index(*place)
            .map_err(|cause| Error::invalid(format!("`{name}` in the zip cannot be read")).because(cause))
    }
}

fn broken(path: &Path, cause: ZipError) -> Error {
    match cause {
        ZipError::Io(cause) if cause.kind() != io::ErrorKind::FileTooLarge => {
            Error::new(ErrorKind::Unavailable, format!("read `{}`", path.display())).because(cause)
        }
        cause => Error::invalid(format!("`{}` is not a zip that can be read", path.display())).because(cause),
    }
}

/// True for `conversations.json` and its numbered parts, in any directory of the zip.
fn is_conversations(name: &str) -> bool {
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let Some(part) = name.strip_prefix("conversations").and_then(|rest| rest.strip_suffix(".json")) else {
        return false;
    };
    let number = part.strip_prefix('-').unwrap_or_default();
    part.is_empty() || (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_conversations_are_read() {
        let names = [
            "conversations.json",
            "export/conversations-007.json",
            "../../conversations.json",
            "shared_conversations.json",
            "conversations-.json",
            "conversations-x.json",
            "users.json",
        ];

        let are = names.map(is_conversations);

        assert_eq!(are, [true, true, true, false, false, false, false]);
    }
}
