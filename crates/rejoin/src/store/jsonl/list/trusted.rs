//! The index of lists, read: as far as it can be trusted, and whatever it says.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;

use crate::error::Result;
use crate::model::{ConversationId, Time};
use crate::store::jsonl::fault::DuringIo;
use crate::store::jsonl::lines::{FileLines, LONGEST, LineBytes, RawLine};
use crate::store::jsonl::list::index::{self, IndexEntry, IndexHeader};
use crate::store::jsonl::missing::Gone;
use crate::store::jsonl::{Jsonl, change_log, recover};
use crate::store::{Stamp, durable};

/// More conversations that changed since the index was written are a reason to write it again.
const CHANGED: usize = 64;

/// A file that another program changed in place is noticed when it is shown, and after this long in any case.
const TRUSTED: i64 = 600_000_000;

/// The index, as far as it can be trusted.
pub(in crate::store::jsonl) struct Usable {
    pub(in crate::store::jsonl) file: File,
    pub(in crate::store::jsonl) device: u64,
    /// Where its rows begin, where they end, and how long all of it is.
    pub(in crate::store::jsonl) offset: u64,
    pub(in crate::store::jsonl) rows: u64,
    pub(in crate::store::jsonl) length: u64,
    /// What happened up to here is in it.
    pub(in crate::store::jsonl) stamp: Stamp,
    /// What it says about these is old.
    pub(in crate::store::jsonl) changed: BTreeSet<ConversationId>,
}

/// How much of each conversation is read from an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store::jsonl) enum IndexReading {
    Rows,
    /// With the ids of its messages.
    Messages,
}

impl Usable {
    /// Visits what it says of each conversation. The answer is false when some
    /// lines are damaged, which are passed over.
    pub(in crate::store::jsonl) fn read(
        &self,
        wanted: IndexReading,
        visit: &mut dyn FnMut(IndexEntry),
    ) -> Result<bool> {
        let mut rows = FileLines::new(&self.file, self.offset, self.rows, LONGEST);
        let mut messages = FileLines::new(&self.file, self.rows, self.length, LONGEST);
        let mut is_sound = true;
        while let Some(row) = rows.next().during(|| "read the index")? {
            let entry = row.bytes().and_then(|row| IndexEntry::read(row, self.device));
            let is_erased = row.bytes().is_some_and(|row| row.starts_with(b" "));
            let entry = match wanted {
                IndexReading::Rows => entry,
                // An erased row has an erased line here too.
                IndexReading::Messages => {
                    let ids = messages.next().during(|| "read the index")?;
                    let ids = ids.as_ref().and_then(RawLine::bytes);
                    entry.and_then(|entry| entry.with_messages(ids?))
                }
            };
            is_sound &= is_erased || entry.is_some();
            entry.into_iter().for_each(&mut *visit);
        }
        Ok(is_sound)
    }
}

/// What an index says, however old it is.
#[derive(Default)]
pub(in crate::store::jsonl) struct Indexed {
    /// What happened up to here is in it; none when it belongs to another log of changes.
    pub(in crate::store::jsonl) stamp: Option<Stamp>,
    pub(in crate::store::jsonl) entries: HashMap<ConversationId, IndexEntry>,
}

impl Indexed {
    /// Those that it has, as far as it can vouch for them.
    pub(in crate::store::jsonl) fn into_gone(self) -> Gone {
        let entries = self.entries.into_iter().filter(|_| self.stamp.is_some());
        entries.map(|(id, entry)| (id, Some(entry.folder))).collect()
    }
}

impl Jsonl {
    /// Opens the index, if it fits the folders and not too much happened since.
    pub(in crate::store::jsonl) fn usable_index(&self) -> Result<Option<Usable>> {
        let Ok(file) = durable::open_to_read(&self.layout.index()) else { return Ok(None) };
        let Ok(metadata) = file.metadata() else { return Ok(None) };
        let mut lines = FileLines::new(&file, 0, metadata.len(), LONGEST);
        let Ok(Some(first)) = lines.next() else { return Ok(None) };
        let LineBytes::Bytes(line) = first.content else { return Ok(None) };
        let offset = first.length;
        let Ok(beginning) = serde_json::from_slice::<IndexHeader>(line) else { return Ok(None) };
        let age = Time::now().as_micros() - beginning.checked.as_micros();
        let fits = beginning.format == index::FORMAT
            && beginning.boot == recover::boot()
            && (0..TRUSTED).contains(&age)
            && offset + beginning.bytes == metadata.len()
            && beginning.folders == self.folders()?;
        if !fits {
            return Ok(None);
        }
        // A log that ends before was lost or put back.
        if change_log::newest(&self.layout.changes())? < beginning.stamp {
            return Ok(None);
        }
        let changed = change_log::noted_since(&self.layout.changes(), beginning.stamp)?;
        let changed: BTreeSet<_> = changed.into_iter().map(|change| change.conversation).collect();
        if changed.len() > CHANGED {
            return Ok(None);
        }
        // What changed is read at each list until the index is written again.
        // Where that is much, writing it costs less.
        let mut read = 0;
        for id in &changed {
            let folder = self.layout.find(*id).during(|| format!("find conversation `{id}`"))?;
            let there = folder.map(|folder| self.layout.file(&folder, *id).symlink_metadata());
            read += there.and_then(io::Result::ok).map_or(0, |there| there.len());
        }
        if read > metadata.len() {
            return Ok(None);
        }
        let (device, length, stamp) = (metadata.dev(), metadata.len(), beginning.stamp);
        Ok(Some(Usable { file, device, offset, rows: offset + beginning.rows, length, stamp, changed }))
    }

    /// What the index says, however old it is.
    pub(in crate::store::jsonl) fn indexed(&self) -> Result<Indexed> {
        let mut indexed = Indexed::default();
        let Ok(file) = durable::open_to_read(&self.layout.index()) else { return Ok(indexed) };
        let Ok(metadata) = file.metadata() else { return Ok(indexed) };
        let newest = change_log::newest(&self.layout.changes())?;
        let mut lines = FileLines::new(&file, 0, metadata.len(), LONGEST);
        let Ok(Some(RawLine { content: LineBytes::Bytes(line), length: offset, .. })) = lines.next() else {
            return Ok(indexed);
        };
        let Ok(beginning) = serde_json::from_slice::<IndexHeader>(line) else { return Ok(indexed) };
        indexed.stamp = Some(beginning.stamp).filter(|stamp| *stamp <= newest);
        let rows = offset.saturating_add(beginning.rows).min(metadata.len());
        let (device, length) = (metadata.dev(), metadata.len());
        let all = Usable { file, device, offset, rows, length, stamp: 0, changed: BTreeSet::new() };
        // A line that is damaged is passed over.
        all.read(IndexReading::Messages, &mut |entry| drop(indexed.entries.insert(entry.id, entry)))?;
        Ok(indexed)
    }
}
