//! Which files of keys there may be, without looking for each of them.
//!
//! A vault looks up a key for each conversation that it lists and with each append, and most keys stand in
//! the lines of their conversations. Once nobody added or removed a file of blobs for a while, a look at
//! their folder tells that nobody did since the folder was read.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::Path;

use crate::model::Time;
use crate::store::jsonl::files::FileIdentity;
use crate::store::jsonl::list::SETTLED;
use crate::store::jsonl::{Jsonl, lock};

/// How often a handle looks for files one by one before it reads the folder: most look for few.
const LOOKS: u32 = 16;

/// A folder of more files is not read: that costs more than a handle may save.
const MOST: usize = 1_000;

/// What a handle remembers of the folder.
#[derive(Debug, Default)]
pub(in crate::store::jsonl) struct BlobFiles {
    /// How the folder looked when it was read.
    seen: Option<FileIdentity>,
    /// What was in it; none when that is too much.
    names: Option<HashSet<OsString>>,
    /// How often files were looked for since it looked different.
    looks: u32,
}

/// Which files there may be: those that are not meant certainly are not there, all at the same moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store::jsonl) struct MayBe {
    pub(in crate::store::jsonl) file: bool,
    pub(in crate::store::jsonl) sheet: bool,
    pub(in crate::store::jsonl) pending: bool,
}

impl MayBe {
    /// Nothing is known.
    pub(in crate::store::jsonl) const ANY: Self = Self { file: true, sheet: true, pending: true };
}

impl Jsonl {
    /// Which files that may say something of a key there may be. Whoever looks
    /// at lines too does so before and after.
    pub(in crate::store::jsonl) fn key_files(&self, file: &str) -> MayBe {
        let folder = self.layout.blobs();
        let Ok(there) = folder.symlink_metadata() else { return MayBe::ANY };
        let seen = FileIdentity::of(&there);
        let mut files = lock(&self.blob_files);
        if files.seen != Some(seen) {
            files.looks += 1;
            if files.looks < LOOKS {
                return MayBe::ANY;
            }
            *files = BlobFiles::read(&folder, seen).unwrap_or_default();
        }
        let Some(names) = &files.names else { return MayBe::ANY };
        let has = |name: &str| names.contains(OsStr::new(name));
        MayBe { file: has(file), sheet: has("sheet"), pending: has("pending") }
    }
}

impl BlobFiles {
    /// Reads the folder; nothing when it changed so recently that another change might not show.
    fn read(folder: &Path, seen: FileIdentity) -> io::Result<Self> {
        let now = i128::from(Time::now().as_micros()) * 1_000;
        if seen.modified + SETTLED > now {
            return Ok(Self::default());
        }
        let entries = fs::read_dir(folder)?.take(MOST + 1);
        let names = entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<HashSet<_>>>()?;
        let is_same = FileIdentity::of(&folder.symlink_metadata()?) == seen;
        let names = Some(names).filter(|names| names.len() <= MOST);
        Ok(if is_same { Self { seen: Some(seen), names, looks: 0 } } else { Self::default() })
    }
}
