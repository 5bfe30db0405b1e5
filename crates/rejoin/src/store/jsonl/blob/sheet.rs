//! The sheet: keys of many owners that were stored together, in one file that is replaced whole.
//!
//! So it takes as many syncs as one of them would. A line holds what the file of a space and an owner
//! would hold, and counts until that file is written again, which then says that it is newer. A line that
//! counts no more is overwritten with blanks.
//!
//! ```text
//! {"format":1,"number":3}
//! check  6-01932d4a-…  number  change  [{"name":"data","bytes":{"base64":"…"}}]
//! ```

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::store::durable;
use crate::store::jsonl::blob::shelf::{BlobFile, BlobLine, Shelf};
use crate::store::jsonl::fault::DuringIo;
use crate::store::jsonl::files::FileIdentity;
use crate::store::jsonl::lines::{blank, checksum, read_at};
use crate::store::jsonl::{Jsonl, lock};
use crate::store::{Put, Stamp};

/// The version of the sheet. A newer one is not read.
const FORMAT: u32 = 1;

/// From how many files on one sheet is shorter than a sync for each.
const MANY: usize = 8;

/// A sheet, as it was read.
#[derive(Clone, Debug, Default)]
pub(in crate::store::jsonl) struct Sheet {
    /// Counts how often it was written.
    number: u64,
    bytes: Vec<u8>,
    /// Where the line of each file begins and ends.
    lines: HashMap<String, (usize, usize)>,
}

/// What a handle remembers of the sheet.
#[derive(Debug, Default)]
pub(in crate::store::jsonl) struct SheetCache {
    seen: Option<FileIdentity>,
    sheet: Arc<Sheet>,
}

/// The first line.
#[derive(Serialize, Deserialize)]
struct SheetHeader {
    format: u32,
    number: u64,
}

/// True when blobs are stored together on the sheet.
pub(in crate::store::jsonl) fn takes(blobs: &[Put<'_>]) -> bool {
    blobs.len() >= MANY
        && blobs.iter().all(|blob| blob.space.is_replaced_together())
        && BlobFile::of_all(blobs).len() >= MANY
}

impl Sheet {
    fn shelf(&self, place: &BlobFile) -> Option<Shelf> {
        let (start, end) = self.lines.get(&place.name())?;
        read_line(&self.bytes[*start..*end])
    }

    fn of(bytes: Vec<u8>) -> Result<Self> {
        let mut lines = HashMap::new();
        let (mut start, mut number) = (0, 0);
        while start < bytes.len() {
            let end = memchr::memchr(b'\n', &bytes[start..]).map_or(bytes.len(), |length| start + length);
            let line = &bytes[start..end];
            if start == 0 {
                // Damage loses what it hits: lines tell their numbers too.
                let beginning =
                    serde_json::from_slice(line).unwrap_or(SheetHeader { format: FORMAT, number: 0 });
                if beginning.format > FORMAT {
                    return Err(Error::new(
                        ErrorKind::Unsupported,
                        format!(
                            "the sheet of keys is in format {}, this version knows {FORMAT}",
                            beginning.format
                        ),
                    ));
                }
                number = beginning.number;
            } else if let Some(name) = line.split(|byte| *byte == b'\t').nth(1)
                && let Ok(name) = std::str::from_utf8(name)
            {
                lines.insert(name.to_owned(), (start, end));
            }
            start = end + 1;
        }
        if number == 0 {
            let told = |(start, end): &(usize, usize)| Some(read_line(&bytes[*start..*end])?.sheet);
            number = lines.values().filter_map(told).max().unwrap_or_default();
        }
        Ok(Self { number, bytes, lines })
    }

    /// The next sheet: these shelves, and every line for another file.
    fn next(&self, shelves: &[(BlobFile, Shelf)]) -> Vec<u8> {
        // Files say which sheet they are newer than, also when the first line of this one was damaged.
        let number = shelves.iter().map(|(_, shelf)| shelf.sheet).fold(self.number, Stamp::max) + 1;
        let mut bytes =
            serde_json::to_vec(&SheetHeader { format: FORMAT, number }).expect("it is plain data");
        bytes.push(b'\n');
        let mut names = HashSet::with_capacity(shelves.len());
        for (place, shelf) in shelves {
            let name = place.name();
            let items = serde_json::to_string(&shelf.items()).expect("it is plain data");
            let line = format!("{name}\t{number}\t{}\t{items}", shelf.stamp);
            bytes.extend_from_slice(format!("{:016x}\t{line}\n", checksum(line.as_bytes())).as_bytes());
            names.insert(name);
        }
        let mut others: Vec<_> = self.lines.iter().filter(|(name, _)| !names.contains(*name)).collect();
        others.sort();
        for (_, (start, end)) in others {
            bytes.extend_from_slice(&self.bytes[*start..*end]);
            bytes.push(b'\n');
        }
        bytes
    }
}

/// Reads a line; none when it is damaged, or is being overwritten.
fn read_line(line: &[u8]) -> Option<Shelf> {
    let (check, line) = line.split_at_checked(17)?;
    let check = std::str::from_utf8(check.strip_suffix(b"\t")?).ok()?;
    if u64::from_str_radix(check, 16).ok()? != checksum(line) {
        return None;
    }
    let mut columns = std::str::from_utf8(line).ok()?.splitn(4, '\t').skip(1);
    let (sheet, stamp) = (columns.next()?.parse().ok()?, columns.next()?.parse().ok()?);
    let items: Vec<BlobLine> = serde_json::from_str(columns.next()?).ok()?;
    let blobs = items.into_iter().map(BlobLine::into_pair).collect();
    Some(Shelf { stamp, sheet, blobs, ..Shelf::default() })
}

/// Reads the sheet; an empty one when there is none.
fn read_sheet(path: &Path) -> Result<Sheet> {
    match durable::read_small(path, u64::MAX) {
        Ok(bytes) => Sheet::of(bytes),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(Sheet::default()),
        Err(cause) => Err(cause).during(|| format!("read `{}`", path.display())),
    }
}

/// Overwrites a line with blanks, durably, and tells how the file looks then;
/// none when something else stands there.
fn overwrite(path: &Path, start: u64, line: &[u8]) -> io::Result<Option<FileIdentity>> {
    let file = durable::open_to_write(path)?;
    let mut there = vec![0; line.len()];
    if read_at(&file, &mut there, start)? != line.len() || there != line {
        return Ok(None);
    }
    durable::write_at(&file, start, &vec![b' '; line.len()])?;
    file.sync_data()?;
    Ok(Some(FileIdentity::of(&file.metadata()?)))
}

impl Jsonl {
    /// The sheet as it is. Whoever looks at a file as well looks at the sheet first: a
    /// line goes only when the file is there.
    fn sheet(&self) -> Result<Arc<Sheet>> {
        let path = self.sheet_path();
        let seen = match path.symlink_metadata() {
            Ok(there) => Some(FileIdentity::of(&there)),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => None,
            Err(cause) => return Err(cause).during(|| format!("read `{}`", path.display())),
        };
        let mut read = lock(&self.sheet);
        if read.seen != seen {
            let sheet = if seen.is_some() { read_sheet(&path)? } else { Sheet::default() };
            *read = SheetCache { seen, sheet: Arc::new(sheet) };
        }
        Ok(Arc::clone(&read.sheet))
    }

    /// The newest change that is in a file or in its line of the sheet.
    pub(in crate::store::jsonl) fn stamp_of(&self, place: &BlobFile) -> Result<Stamp> {
        Ok(self.shelf_without_lines(place)?.stamp)
    }

    /// Stores blobs of many owners: all of them are there when this returns, or none.
    pub(in crate::store::jsonl) fn put_on_sheet(&self, blobs: &[Put<'_>], stamp: Stamp) -> Result<()> {
        let mut puts: HashMap<BlobFile, Vec<&Put<'_>>> = HashMap::new();
        for blob in blobs {
            puts.entry(BlobFile::of(blob.space, blob.owner, blob.name)).or_default().push(blob);
        }
        let mut shelves = Vec::with_capacity(puts.len());
        for (place, puts) in puts {
            let mut shelf = self.shelf_in_place(&place)?;
            puts.into_iter().for_each(|put| shelf.put(put));
            shelf.stamp = stamp;
            shelves.push((place, shelf));
        }
        shelves.sort_by(|(one, _), (other, _)| one.cmp(other));
        // What is remembered may hold a line that somebody took off without the file looking
        // any different: it must not come back.
        let path = self.sheet_path();
        let bytes = read_sheet(&path)?.next(&shelves);
        self.publish_now(&path, &bytes)
    }

    /// Overwrites the line of a file that says all of it by now, or whose owner is gone.
    pub(in crate::store::jsonl) fn take_off_sheet(&self, place: &BlobFile) -> Result<()> {
        if !place.space.is_replaced_together() {
            return Ok(());
        }
        let (name, path) = (place.name(), self.sheet_path());
        let sheet = self.sheet()?;
        let Some(&(start, end)) = sheet.lines.get(&name) else { return Ok(()) };
        let overwritten = overwrite(&path, start as u64, &sheet.bytes[start..end]);
        drop(sheet);
        let mut read = lock(&self.sheet);
        // What is left is remembered: a sheet of many lines is not read again for each that goes.
        match overwritten.during(|| format!("write to `{}`", path.display())) {
            Ok(Some(seen)) => {
                let sheet = Arc::make_mut(&mut read.sheet);
                sheet.lines.remove(&name);
                sheet.bytes[start..end].fill(b' ');
                read.seen = Some(seen);
                Ok(())
            }
            other => {
                *read = SheetCache::default();
                other?;
                blank(&path, &format!("\t{name}\t")).during(|| format!("write to `{}`", path.display()))
            }
        }
    }

    /// What stands on the sheet for a file; none when nothing does.
    pub(in crate::store::jsonl) fn on_sheet(&self, place: &BlobFile) -> Result<Option<Shelf>> {
        if place.space.is_replaced_together() { Ok(self.sheet()?.shelf(place)) } else { Ok(None) }
    }

    /// What a file that is written has to say, to count before its line on the sheet; 0 when it has none.
    pub(in crate::store::jsonl) fn number_of_sheet(&self, place: &BlobFile) -> Result<u64> {
        if !place.space.is_replaced_together() {
            return Ok(0);
        }
        let sheet = self.sheet()?;
        Ok(if sheet.lines.contains_key(&place.name()) { sheet.number } else { 0 })
    }

    fn sheet_path(&self) -> PathBuf {
        self.layout.blobs().join("sheet")
    }
}
