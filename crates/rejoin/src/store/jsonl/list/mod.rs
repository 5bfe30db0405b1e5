//! Listing conversations: from the index where it fits, from the files where it does not.

pub(in crate::store::jsonl) mod index;
pub(in crate::store::jsonl) mod trusted;

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::time::Duration;

use memchr::memmem;
use rustix::fs::FlockOperation;

use crate::error::{Error, ErrorKind, Result};
use crate::model::{ConversationId, Time};
use crate::store::backend::ConversationRow;
use crate::store::jsonl::fault::DuringIo;
use crate::store::jsonl::files::{FileIdentity, LockedFile, Purpose};
use crate::store::jsonl::lines::{FileLines, LONGEST, LineBytes};
use crate::store::jsonl::list::index::{
    Columns, FilterResult, FolderStamp, IndexEntry, IndexHeader, RowFilter,
};
use crate::store::jsonl::list::trusted::{IndexReading, Usable};
use crate::store::jsonl::missing::Gone;
use crate::store::jsonl::scan::{ScanDepth, ScannedFile};
use crate::store::jsonl::{Jsonl, change_log, recover};
use crate::store::{Changed, ListQuery, Page, What, durable};

/// A folder that changed this short a time ago may have changed again without its time telling so.
pub(super) const SETTLED: i128 = 2_000_000_000;

/// How long the lock of those who write is waited for by one who has an index to
/// write. Whoever lists next tries again.
const PATIENCE: Duration = Duration::from_millis(20);

/// What a list is made of.
#[derive(Default)]
pub(super) struct ListedRows {
    /// The conversations of a page, and those after it that are needed to tell
    /// whether there is more, in no order.
    pub(super) entries: Vec<IndexEntry>,
    total: u64,
    /// How many were left out for their kind.
    excepted: u64,
    /// What of the files that were looked at cannot be used.
    pub(super) damaged: Vec<String>,
}

impl Jsonl {
    /// A page of the list.
    pub(in crate::store::jsonl) fn list_page(&self, query: &ListQuery<'_>) -> Result<Page<ConversationRow>> {
        if let Some(only) = query.only {
            let (mut rows, mut damaged) = (Vec::new(), Vec::new());
            for id in only.iter().collect::<BTreeSet<_>>() {
                // Who asks for some of them goes on with one of them, so what was read is remembered.
                let Some((opened, known)) = self.look(Purpose::Read, *id)? else { continue };
                damaged.extend(opened.damage(&known));
                rows.extend((!known.is_nothing()).then(|| known.kept.row()));
            }
            return Ok(Page { damaged, ..query.page_of(rows) });
        }
        let found = self.found(query)?;
        let page = query.page_of(found.entries.iter().filter_map(IndexEntry::row).collect());
        let counted = |count| query.counts_total.then_some(count);
        let (total, excepted) = (counted(found.total), counted(found.excepted));
        Ok(Page { total, excepted, damaged: found.damaged, ..page })
    }
}

impl Jsonl {
    /// What a list without the filter for ids is made of.
    pub(super) fn found(&self, query: &ListQuery<'_>) -> Result<ListedRows> {
        let found = match self.usable_index()? {
            Some(usable) => self.list_from_index(usable, query)?,
            None => None,
        };
        match found {
            Some(found) => Ok(found),
            None => Ok(from_entries(self.check_index()?, query)),
        }
    }

    /// Visits every conversation that there is, in no order, with the ids of
    /// its messages where they are wanted.
    pub(super) fn each_entry(&self, wanted: IndexReading, visit: &mut dyn FnMut(&IndexEntry)) -> Result<()> {
        if let Some(mut usable) = self.usable_index()? {
            let (mut entries, mut gone) = (Vec::new(), Gone::new());
            let is_sound = usable.read(wanted, &mut |entry| {
                if usable.changed.contains(&entry.id) {
                } else if self.may_be_listable_again(&entry) {
                    gone.insert(entry.id, Some(entry.folder));
                } else {
                    entries.push(entry);
                }
            })?;
            usable.changed.extend(gone.keys());
            if is_sound {
                for id in &usable.changed {
                    match self.entry(*id)? {
                        Some(entry) => {
                            gone.remove(id);
                            entries.push(entry);
                        }
                        None => drop(gone.entry(*id).or_default()),
                    }
                }
                entries.append(&mut self.missing(gone, usable.stamp)?);
                entries.iter().for_each(visit);
                return Ok(());
            }
        }
        self.check_index()?.iter().for_each(visit);
        Ok(())
    }

    /// A conversation that has no file, if it is missing. Most rows are not read, so asking
    /// for one that never was costs little.
    pub(super) fn entry_of_missing(&self, id: ConversationId) -> Result<Option<IndexEntry>> {
        let is_meant = |entry: &IndexEntry| entry.id == id && entry.is_missing();
        let Some(usable) = self.usable_index()? else {
            return Ok(self.check_index()?.into_iter().find(is_meant));
        };
        if usable.changed.contains(&id) {
            return Ok(self.missing(Gone::from([(id, None)]), usable.stamp)?.pop());
        }
        let name = id.to_string();
        let mut lines = FileLines::new(&usable.file, usable.offset, usable.rows, LONGEST);
        while let Some(piece) = lines.next().during(|| "read the index")? {
            if let LineBytes::Bytes(line) = piece.content
                && memmem::find(line, name.as_bytes()).is_some()
                && let Some(entry) = IndexEntry::read(line, usable.device).filter(is_meant)
            {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    /// What a list is made of; none when the index turns out to be wrong.
    fn list_from_index(&self, mut usable: Usable, query: &ListQuery<'_>) -> Result<Option<ListedRows>> {
        let wanted = RowFilter::of(query);
        let after = query.after.map(|after| (after.time, after.conversation));
        let (mut found, mut gone) = (ListedRows::default(), Gone::new());
        let mut shown = 0;
        let mut lines = FileLines::new(&usable.file, usable.offset, usable.rows, LONGEST);
        while let Some(piece) = lines.next().during(|| "read the index")? {
            let LineBytes::Bytes(line) = piece.content else { return Ok(None) };
            if line.starts_with(b" ") {
                continue;
            }
            let Some(columns) = line.get(17..).and_then(Columns::of) else { return Ok(None) };
            let (Some(id), Some(active)) = (columns.id(), columns.active()) else { return Ok(None) };
            if usable.changed.contains(&id) {
                continue;
            }
            if columns.is_unlistable() {
                let Some(entry) = IndexEntry::read(line, usable.device) else { return Ok(None) };
                if entry.is_missing() {
                    gone.insert(id, Some(entry.folder));
                } else if self.may_be_listable_again(&entry) {
                    usable.changed.insert(id);
                } else {
                    found.damaged.extend(entry.damage());
                }
                continue;
            }
            match columns.judge(&wanted) {
                FilterResult::Passes => found.total += 1,
                FilterResult::Excepted => {
                    found.excepted += 1;
                    continue;
                }
                FilterResult::Fails => continue,
            }
            if shown > query.limit {
                if query.counts_total {
                    continue;
                }
                break;
            }
            if after.is_some_and(|after| (active, id) >= after) {
                continue;
            }
            let Some(entry) = IndexEntry::read(line, usable.device) else { return Ok(None) };
            if !self.is_as_it_was(&entry) {
                // Somebody changed it without a word in the log.
                usable.changed.insert(id);
                gone.insert(id, Some(entry.folder));
                found.total -= 1;
                continue;
            }
            self.remember_keys(&entry);
            found.damaged.extend(entry.damage());
            found.entries.push(entry);
            shown += 1;
        }
        for id in &usable.changed {
            let Some(entry) = self.entry(*id)? else {
                gone.entry(*id).or_default();
                continue;
            };
            gone.remove(id);
            if entry.is_unlistable() {
                found.damaged.extend(entry.damage());
            } else if entry.judge(&wanted) == FilterResult::Excepted {
                found.excepted += 1;
            } else if entry.passes(&wanted) {
                self.remember_keys(&entry);
                found.total += 1;
                found.damaged.extend(entry.damage());
                found.entries.push(entry);
            }
        }
        found.damaged.extend(self.missing(gone, usable.stamp)?.iter().flat_map(IndexEntry::damage));
        Ok(Some(found))
    }

    /// True for an entry of which nothing could be listed, if its file may be
    /// readable by now. It need not look different.
    fn may_be_listable_again(&self, entry: &IndexEntry) -> bool {
        let there = || self.layout.file(&entry.folder, entry.id).symlink_metadata();
        entry.is_unlistable() && there().map_or(true, |there| there.is_file())
    }

    /// Looks at every file, reads those that are not as the index says, and writes the index again.
    pub(super) fn check_index(&self) -> Result<Vec<IndexEntry>> {
        // Whatever changes from here on is in the log after this stamp, or makes a folder look different.
        let stamp = change_log::newest(&self.layout.changes())?.saturating_sub(1);
        let checked = Time::now();
        let mut folders = self.folders()?;
        let mut indexed = self.indexed()?;
        let (mut entries, mut met, mut doubled) = (Vec::new(), HashSet::new(), Vec::new());
        for FolderStamp(folder, ..) in &folders {
            let ids = self.layout.conversations(folder).during(|| format!("list the folder `{folder}`"))?;
            for id in ids {
                // A copy in another folder is not another conversation.
                if !met.insert(id) {
                    doubled.push(id);
                    continue;
                }
                let there =
                    self.layout.file(folder, id).symlink_metadata().map(|there| FileIdentity::of(&there));
                match indexed
                    .entries
                    .remove(&id)
                    // What could not be read may be readable by now, and need not look different.
                    .filter(|own| {
                        !own.is_unlistable() && there.as_ref().is_ok_and(|there| own.seen == *there)
                    }) {
                    Some(own) if own.folder == *folder => entries.push(own),
                    _ => entries.extend(self.entry_in(id, folder)?),
                }
            }
        }
        for FolderStamp(folder, ..) in &folders {
            let impostors = self.layout.impostors(folder).during(|| format!("list the folder `{folder}`"))?;
            entries.extend(impostors.into_iter().filter_map(|id| self.impostor(id, folder)));
        }
        for id in doubled {
            self.forget(id);
            entries.retain(|entry| entry.id != id);
            entries.extend(self.entry(id)?);
        }
        let after = indexed.stamp.unwrap_or(0);
        entries.append(&mut self.all_missing(indexed.into_gone(), after, &met)?);
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.key()));
        let now = i128::from(checked.as_micros()) * 1_000;
        for FolderStamp(_, _, modified) in &mut folders {
            // A time that will never be found makes the next list look again.
            if *modified + SETTLED > now {
                *modified = -1;
            }
        }
        let beginning = IndexHeader {
            format: index::FORMAT,
            boot: recover::boot(),
            stamp,
            checked,
            folders,
            rows: 0,
            bytes: 0,
        };
        // Where nothing can be written, every list looks at every file.
        let _ = self.write_index(beginning, &entries);
        entries.iter().for_each(|entry| self.remember_keys(entry));
        Ok(entries)
    }

    /// Writes the index, but not what may have changed since it was looked at: it may have been removed, and
    /// its text must not come back. What the log tells after the index is read from the files in any case.
    fn write_index(&self, mut beginning: IndexHeader, entries: &[IndexEntry]) -> Result<()> {
        let path = self.layout.changes();
        let log = durable::open_to_read(&path).during(|| format!("open `{}`", path.display()))?;
        change_log::lock(&log, FlockOperation::NonBlockingLockExclusive, PATIENCE)?;
        let changes = change_log::noted_since(&path, beginning.stamp)?;
        let mut changed: HashSet<_> = changes.iter().map(|change| change.conversation).collect();
        let is_deleted = |change: &&Changed| matches!(change.what, What::Deleted { .. });
        let deleted: HashSet<_> =
            changes.iter().filter(is_deleted).map(|change| change.conversation).collect();
        // Nobody is writing now, so a file that looks as it did when it was read
        // is what all of its changes made of it.
        for entry in entries {
            if changed.contains(&entry.id) && !deleted.contains(&entry.id) && self.is_as_it_was(entry) {
                changed.remove(&entry.id);
            }
        }
        if let Some(newest) = changes.last().filter(|_| changed.is_empty()) {
            beginning.stamp = newest.stamp;
        }
        let temporary = self.layout.temporary().join("any");
        durable::create_private_directory(&temporary).during(|| "create a folder")?;
        let left = entries.iter().filter(|entry| !changed.contains(&entry.id));
        index::write(&self.layout, beginning, left).during(|| "write the index")
    }

    fn is_as_it_was(&self, entry: &IndexEntry) -> bool {
        match self.layout.file(&entry.folder, entry.id).symlink_metadata() {
            Ok(there) => FileIdentity::of(&there) == entry.seen,
            Err(cause) => entry.is_missing() && cause.kind() == io::ErrorKind::NotFound,
        }
    }

    /// Every conversation whose file is gone although nobody deleted it, whatever an index says.
    pub(super) fn check_missing(&self, met: &[ConversationId]) -> Result<Vec<IndexEntry>> {
        self.all_missing(self.indexed()?.into_gone(), 0, &met.iter().copied().collect())
    }

    pub(super) fn folders(&self) -> Result<Vec<FolderStamp>> {
        let names = self.layout.folders().during(|| "list the folders")?;
        let mut folders = Vec::new();
        for name in names {
            let there = self.layout.root().join(&name).symlink_metadata();
            // It went away since the names were read.
            if there.as_ref().is_err_and(|cause| cause.kind() == io::ErrorKind::NotFound) {
                continue;
            }
            let seen = FileIdentity::of(&there.during(|| format!("look at the folder `{name}`"))?);
            folders.push(FolderStamp(name, seen.inode, seen.modified));
        }
        Ok(folders)
    }

    fn entry(&self, id: ConversationId) -> Result<Option<IndexEntry>> {
        let folder = self.layout.find(id).during(|| format!("find conversation `{id}`"))?;
        folder.map_or(Ok(None), |folder| self.entry_in(id, &folder))
    }

    /// Something that has the name of a conversation's file and is none.
    fn impostor(&self, id: ConversationId, folder: &str) -> Option<IndexEntry> {
        let path = self.layout.file(folder, id);
        let seen = FileIdentity::of(&path.symlink_metadata().ok()?);
        let why = format!("`{}` is not a regular file", path.display());
        Some(IndexEntry::unlistable(id, folder, seen, why))
    }

    fn entry_in(&self, id: ConversationId, folder: &str) -> Result<Option<IndexEntry>> {
        let opened = match self.open_file(id) {
            Ok(Some(opened)) => opened,
            Ok(None) => return Ok(None),
            // One file that belongs to somebody else is no reason not to list the others.
            Err(error) if is_forbidden(&error) => {
                let there = self.layout.file(folder, id).symlink_metadata();
                let Ok(seen) = there.map(|there| FileIdentity::of(&there)) else { return Ok(None) };
                return Ok(Some(IndexEntry::unlistable(id, folder, seen, format!("could not {error}"))));
            }
            Err(error) => return Err(error),
        };
        let unlistable = |why| Some(IndexEntry::unlistable(id, &opened.folder, opened.seen, why));
        let known = match self.reread(id, &opened, ScanDepth::Fields) {
            Ok(known) => known,
            // Nor is a conversation of a newer Rejoin.
            Err(error) if error.kind() == ErrorKind::Unsupported => return Ok(unlistable(error.to_string())),
            Err(error) => return Err(error),
        };
        let damage = opened.damage(&known);
        Ok(match damage.first() {
            Some(why) if known.is_nothing() => unlistable(why.clone()),
            None if known.is_nothing() => None,
            _ => Some(IndexEntry::of(&known.kept, &opened.folder, opened.seen, &damage)),
        })
    }

    /// Every conversation that has a file.
    pub(super) fn all(&self) -> Result<Vec<ConversationId>> {
        let mut all = Vec::new();
        for folder in self.layout.folders().during(|| "list the folders")? {
            all.extend(self.layout.conversations(&folder).during(|| format!("list the folder `{folder}`"))?);
        }
        all.sort();
        all.dedup();
        Ok(all)
    }

    /// What is known of a conversation, without remembering it; none when it went away, or is none.
    pub(super) fn glance(&self, id: ConversationId) -> Result<Option<ScannedFile>> {
        Ok(self.glance_at(id)?.map(|(_, known)| known))
    }

    pub(super) fn glance_at(&self, id: ConversationId) -> Result<Option<(LockedFile, ScannedFile)>> {
        let opened = match self.open_file(id) {
            Ok(Some(opened)) => opened,
            Ok(None) => return Ok(None),
            // One file that belongs to somebody else is no reason not to list the others; a check tells it.
            Err(error) if is_forbidden(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let known = match self.reread(id, &opened, ScanDepth::Fields) {
            Ok(known) => known,
            // A conversation of a newer Rejoin is no reason not to list the others.
            Err(error) if error.kind() == ErrorKind::Unsupported => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok((!known.is_nothing()).then_some((opened, known)))
    }
}

/// True when the file system forbade it.
pub(super) fn is_forbidden(error: &Error) -> bool {
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<io::Error>());
    cause.is_some_and(|cause| cause.kind() == io::ErrorKind::PermissionDenied)
}

/// The page of these entries, which come in the order of a list.
fn from_entries(mut entries: Vec<IndexEntry>, query: &ListQuery<'_>) -> ListedRows {
    let wanted = RowFilter::of(query);
    let after = query.after.map(|after| (after.time, after.conversation));
    let mut damaged: Vec<String> =
        entries.iter().filter(|entry| entry.is_unlistable()).flat_map(IndexEntry::damage).collect();
    let excepted =
        entries.iter().filter(|entry| entry.judge(&wanted) == FilterResult::Excepted).count() as u64;
    entries.retain(|entry| !entry.is_unlistable() && entry.passes(&wanted));
    let total = if query.counts_total { entries.len() as u64 } else { 0 };
    entries.retain(|entry| after.is_none_or(|after| entry.key() < after));
    entries.truncate(query.limit.saturating_add(1));
    damaged.extend(entries.iter().take(query.limit).flat_map(IndexEntry::damage));
    ListedRows { damaged, total, excepted, entries }
}
