//! The files that blobs are in: one for each space and owner, and for attachments one for each piece.
//!
//! A piece of an attachment has a file of its own, so that nothing else is written again when one is added,
//! and nothing else is held when one is read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::error::Result;
use crate::model::ConversationId;
use crate::store::jsonl::fault::DuringIo;
use crate::store::jsonl::layout::Layout;
use crate::store::jsonl::line::octets::Octets;
use crate::store::jsonl::lines::read_at;
use crate::store::{BlobNames, Put, Space, Stamp, VisitBlob, durable};

/// Longer names of blobs are hashed in the names of their files.
const LONGEST: usize = 100;

/// Begins the name of a file that does not tell the name of its blob.
const HASHED: &str = "~";

const ENDING: &str = ".jsonl";

/// Blobs that are in one file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::store::jsonl) struct Shelf {
    /// What happened up to here is in it.
    pub(in crate::store::jsonl) stamp: Stamp,
    /// The number of the sheet whose line it is newer than; of a line, the number of the sheet it came with.
    pub(in crate::store::jsonl) sheet: u64,
    pub(in crate::store::jsonl) blobs: BTreeMap<Vec<u8>, Vec<u8>>,
    /// True when its file also says what some of them were before.
    pub(in crate::store::jsonl) has_old_lines: bool,
    /// True when nothing waited to be put in its place when it was looked at.
    pub(in crate::store::jsonl) nothing_is_pending: bool,
}

/// Which file: a space, an owner, and the name of the blob where each has a file of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::store::jsonl) struct BlobFile {
    pub(in crate::store::jsonl) space: Space,
    pub(in crate::store::jsonl) owner: Option<ConversationId>,
    only: Option<Vec<u8>>,
}

/// The first line of a file.
#[derive(Serialize, Deserialize)]
struct ShelfHeader {
    change: Stamp,
    #[serde(default, skip_serializing_if = "is_zero")]
    sheet: u64,
}

/// Every other line.
#[derive(Serialize, Deserialize)]
pub(in crate::store::jsonl) struct BlobLine {
    name: Octets,
    bytes: Octets,
}

impl BlobLine {
    pub(in crate::store::jsonl) fn into_pair(self) -> (Vec<u8>, Vec<u8>) {
        (self.name.into_bytes(), self.bytes.into_bytes())
    }
}

impl BlobFile {
    /// Where a blob of this name is.
    pub(in crate::store::jsonl) fn of(space: Space, owner: Option<ConversationId>, name: &[u8]) -> Self {
        let only = has_many_files(space).then(|| name.to_vec());
        Self { space, owner, only }
    }

    /// Where some blobs are.
    pub(in crate::store::jsonl) fn of_all(blobs: &[Put<'_>]) -> BTreeSet<Self> {
        blobs.iter().map(|blob| Self::of(blob.space, blob.owner, blob.name)).collect()
    }

    /// True when a blob is here.
    pub(in crate::store::jsonl) fn holds(
        &self,
        space: Space,
        owner: Option<ConversationId>,
        name: &[u8],
    ) -> bool {
        (self.space, self.owner) == (space, owner) && self.only.as_deref().is_none_or(|only| only == name)
    }

    /// The name of its file, where it has no folder of its own.
    pub(in crate::store::jsonl) fn file_name(&self) -> String {
        self.name() + ENDING
    }

    /// The name of its file without the ending, or of its folder where it has one of its own.
    pub(in crate::store::jsonl) fn name(&self) -> String {
        stem(self.space, self.owner)
    }

    pub(in crate::store::jsonl) fn path(&self, layout: &Layout) -> PathBuf {
        let folder = layout.blobs();
        match &self.only {
            None => folder.join(stem(self.space, self.owner) + ENDING),
            Some(name) => folder.join(stem(self.space, self.owner)).join(file_name(name)),
        }
    }

    /// True when its file is in a folder of its own, whose name may not be safe yet.
    pub(in crate::store::jsonl) const fn is_in_own_folder(&self) -> bool {
        self.only.is_some()
    }
}

/// True for spaces whose blobs are large.
pub(in crate::store::jsonl) fn has_many_files(space: Space) -> bool {
    space == Space::Attachment
}

/// The folder of the blobs of a space that have files of their own.
pub(in crate::store::jsonl) fn folder(
    layout: &Layout,
    space: Space,
    owner: Option<ConversationId>,
) -> PathBuf {
    layout.blobs().join(stem(space, owner))
}

/// The names of the blobs in such a folder.
pub(in crate::store::jsonl) fn names(folder: &Path) -> Result<BTreeSet<Vec<u8>>> {
    let attempt = || format!("list `{}`", folder.display());
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(cause) => return Err(cause).during(attempt),
    };
    let mut names = BTreeSet::new();
    for entry in entries {
        let entry = entry.during(attempt)?;
        let file = entry.file_name();
        let Some(text) = file.to_str().and_then(|file| file.strip_suffix(ENDING)) else { continue };
        match (text.strip_prefix(HASHED), from_hex(text)) {
            (Some(_), _) => names.extend(read(&entry.path())?.blobs.into_keys()),
            (None, Some(name)) => {
                names.insert(name);
            }
            (None, None) => {}
        }
    }
    Ok(names)
}

pub(in crate::store::jsonl) fn read(path: &Path) -> Result<Shelf> {
    let attempt = || format!("read `{}`", path.display());
    let text = match durable::read_small(path, u64::MAX) {
        Ok(text) => text,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Shelf::default()),
        Err(cause) => return Err(cause).during(attempt),
    };
    let mut lines = lines(&text).map(|(_, line)| line);
    let mut shelf = Shelf::default();
    // Damage loses what it hits: blobs are what a program remembers, not what was said.
    if let Some(Ok(beginning)) = lines.next().map(serde_json::from_slice::<ShelfHeader>) {
        (shelf.stamp, shelf.sheet) = (beginning.change, beginning.sheet);
    }
    for (name, bytes) in
        lines.filter_map(|line| serde_json::from_slice::<BlobLine>(line).ok()).map(BlobLine::into_pair)
    {
        shelf.has_old_lines |= shelf.blobs.insert(name, bytes).is_some();
    }
    Ok(shelf)
}

/// The lines of a file, and how many come before each. A power cut may leave zeros where one was being added.
fn lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let lines = text.split(|byte| *byte == b'\n').enumerate();
    let said =
        lines.map(|(number, line)| (number, &line[line.iter().take_while(|byte| **byte == 0).count()..]));
    said.filter(|(_, line)| !line.is_empty())
}

/// Adds a blob to the end of a file, which may get so long. Nothing is synced, so a power cut may leave
/// a beginning of the line; that is no line, and the next blob is not added behind it. The answer is
/// false when it has to be written whole.
pub(in crate::store::jsonl) fn add(path: &Path, name: &[u8], bytes: &[u8], longest: u64) -> io::Result<bool> {
    let file = match durable::open_to_write(path) {
        Ok(file) => file,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(cause) => return Err(cause),
    };
    let length = file.metadata()?.len();
    let mut last = [0];
    let is_whole = length > 0 && read_at(&file, &mut last, length - 1)? == 1 && last == *b"\n";
    let item = BlobLine { name: Octets::of(name), bytes: Octets::of(bytes) };
    let mut line = serde_json::to_vec(&item).expect("it is plain data");
    line.push(b'\n');
    if !is_whole || length + line.len() as u64 > longest {
        return Ok(false);
    }
    let written = durable::write_at(&file, length, &line);
    if written.is_err() {
        let _ = durable::cut(&file, length);
    }
    written.map(|()| true)
}

/// Every line of a file of blobs below a folder that cannot be used: the file, and the number of the line.
pub(in crate::store::jsonl) fn bad_lines(folder: &Path) -> Result<Vec<(PathBuf, usize)>> {
    let attempt = || format!("list `{}`", folder.display());
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(cause) => return Err(cause).during(attempt),
    };
    let mut bad = Vec::new();
    for entry in entries {
        let entry = entry.during(attempt)?;
        let path = entry.path();
        if entry.file_type().during(attempt)?.is_dir() {
            bad.extend(bad_lines(&path)?);
        } else if entry.file_name().to_str().is_some_and(|name| name.ends_with(ENDING)) {
            let text = match durable::read_small(&path, u64::MAX) {
                Ok(text) => text,
                // Replaced or erased meanwhile.
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => continue,
                Err(cause) => return Err(cause).during(|| format!("read `{}`", path.display())),
            };
            // What comes after the last whole line was being added when the
            // power went, or is being added now.
            let whole = memchr::memrchr(b'\n', &text).map_or(&[][..], |end| &text[..end]);
            let lines = lines(whole);
            let is_bad = |(number, line): &(usize, &[u8])| match number {
                0 => serde_json::from_slice::<ShelfHeader>(line).is_err(),
                _ => serde_json::from_slice::<BlobLine>(line).is_err(),
            };
            bad.extend(lines.filter(is_bad).map(|(number, _)| (path.clone(), number + 1)));
        }
    }
    Ok(bad)
}

impl Shelf {
    pub(in crate::store::jsonl) fn to_text(&self) -> Vec<u8> {
        let beginning = ShelfHeader { change: self.stamp, sheet: self.sheet };
        let mut text = serde_json::to_vec(&beginning).expect("it is plain data");
        for item in self.items() {
            text.push(b'\n');
            serde_json::to_writer(&mut text, &item).expect("it is plain data");
        }
        text.push(b'\n');
        text
    }

    pub(in crate::store::jsonl) fn items(&self) -> Vec<BlobLine> {
        let item = |(name, bytes): (&Vec<u8>, &Vec<u8>)| BlobLine {
            name: Octets::of(name),
            bytes: Octets::of(bytes),
        };
        self.blobs.iter().map(item).collect()
    }

    /// Visits the blobs that are meant, in order of name.
    pub(in crate::store::jsonl) fn visit(
        &self,
        named: BlobNames<'_>,
        visit: &mut VisitBlob<'_>,
    ) -> Result<()> {
        let found = self.blobs.range(named.start().to_vec()..).take_while(|(name, _)| named.admit(name));
        found.into_iter().try_for_each(|(name, bytes)| visit(name, bytes))
    }

    /// Puts a blob in, or takes one out.
    pub(in crate::store::jsonl) fn put(&mut self, put: &Put<'_>) {
        self.set(put.name, put.bytes);
    }

    /// Takes in what is said of blobs after what is in it.
    pub(in crate::store::jsonl) fn set_later<'a>(
        &mut self,
        said: impl Iterator<Item = (&'a Vec<u8>, Stamp, &'a Option<Vec<u8>>)>,
    ) {
        let complete = self.stamp;
        for (name, _, bytes) in said.filter(|(_, stamp, _)| *stamp > complete) {
            self.set(name, bytes.as_deref());
        }
    }

    pub(in crate::store::jsonl) fn set(&mut self, name: &[u8], bytes: Option<&[u8]>) {
        match bytes {
            Some(bytes) => self.blobs.insert(name.to_vec(), bytes.to_vec()),
            None => self.blobs.remove(name),
        };
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Overwrites a file and removes it; one that is not there is gone.
pub(in crate::store::jsonl) fn erase(path: &Path) -> Result<()> {
    let erased = match durable::open_to_write(path) {
        Ok(file) => durable::erase(&file, path).and_then(|()| durable::sync_parent(path)),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(cause) => Err(cause),
    };
    erased.during(|| format!("erase `{}`", path.display()))
}

fn stem(space: Space, owner: Option<ConversationId>) -> String {
    let owner = owner.map_or_else(|| "none".to_owned(), |owner| owner.to_string());
    format!("{}-{owner}", space.number())
}

fn file_name(name: &[u8]) -> String {
    if name.is_empty() || name.len() > LONGEST {
        return format!("{HASHED}{}{ENDING}", to_hex(&Sha256::digest(name)));
    }
    to_hex(name) + ENDING
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    let bytes: Option<Vec<u8>> =
        pairs.map(|pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()).collect();
    bytes.filter(|bytes| to_hex(bytes) == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_of_a_piece_is_found_in_its_folder() {
        let directory = tempfile::tempdir().unwrap();
        let layout = Layout::new(directory.path().to_owned());
        let names = [b"".to_vec(), b"a".to_vec(), vec![0xff; 36], vec![b'x'; 101], vec![b'x'; 5_000]];
        for name in &names {
            let path = BlobFile::of(Space::Attachment, None, name).path(&layout);
            let shelf = Shelf { stamp: 1, blobs: [(name.clone(), b"1".to_vec())].into(), ..Shelf::default() };
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, shelf.to_text()).unwrap();
        }
        fs::write(folder(&layout, Space::Attachment, None).join("notes.txt"), "mine").unwrap();

        let found = super::names(&folder(&layout, Space::Attachment, None)).unwrap();

        assert_eq!(found, names.into_iter().collect());
    }
}
