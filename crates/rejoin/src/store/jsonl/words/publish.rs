//! Adding, merging and rewriting segments. Only whoever holds the lock of those who write adds one.
//!
//! A new segment is written to a temporary file that gets its name when it is whole, and those that it
//! replaces are overwritten and removed after that. A crash in between leaves both, which say the same.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::FlockOperation;

use crate::error::Result;
use crate::model::ConversationId;
use crate::store::durable;
use crate::store::jsonl::fault::DuringIo;
use crate::store::jsonl::files::FileIdentity;
use crate::store::jsonl::words::parts::{Drafting, SegmentParts};
use crate::store::jsonl::words::segment::WordSegment;
use crate::store::jsonl::words::{Segments, number_of, paths};
use crate::store::jsonl::{Jsonl, change_log};

/// A segment does not grow beyond this: whoever removes something rewrites
/// every segment that has a word of it.
const LARGEST: u64 = 4 << 20;

/// So many small segments are merged into one. A search looks into each of them.
const MANY: usize = 16;

/// How a conversation's file was when its words were read.
pub(super) type ReadVersion = (PathBuf, FileIdentity);

/// What becomes of runs.
#[derive(Default)]
pub(super) struct Revision {
    /// All runs of these go.
    pub(super) stale: HashSet<ConversationId>,
    /// The files of these look different, and what is covered of them is the same.
    pub(super) seen: HashMap<ConversationId, FileIdentity>,
}

impl Revision {
    pub(super) fn is_empty(&self) -> bool {
        self.stale.is_empty() && self.seen.is_empty()
    }

    fn takes_from(&self, segment: &WordSegment) -> bool {
        segment.runs.iter().any(|run| self.stale.contains(&run.conversation))
    }

    fn revised(&self, mut parts: SegmentParts) -> Result<Option<SegmentParts>> {
        for (run, _) in &mut parts.runs {
            if let Some(seen) = self.seen.get(&run.conversation) {
                run.seen = *seen;
            }
        }
        parts.without(|run| self.stale.contains(&run.conversation))
    }
}

impl Jsonl {
    pub(super) fn segments(&self) -> Result<Segments> {
        let folder = self.layout.words();
        Segments::open(&folder, &HashSet::new()).during(|| format!("list `{}`", folder.display()))
    }

    /// Adds a segment. The answer is false when a file that its words come from was replaced meanwhile: what
    /// was removed from it must not come back.
    ///
    /// Others who write wait only while the new segment is written. What it replaces is erased afterwards,
    /// which takes a sync for each; whoever removes something in between removes it from both.
    pub(super) fn add_segment(&self, fresh: Drafting, read: &[ReadVersion], wait: Duration) -> Result<bool> {
        let parts = fresh.finish();
        let mut bytes = parts.to_bytes();
        let (mut merged, mut others) = (Vec::new(), Vec::new());
        for segment in self.segments()?.into_mergeable(bytes.len() as u64) {
            // One that cannot be read is found by whoever fills the index next.
            if let Ok(own) = segment.load() {
                others.push(own);
                merged.push(segment);
            }
        }
        if !merged.is_empty() {
            others.push(parts);
            let Some(combined) = SegmentParts::combined(others)? else { return Ok(true) };
            bytes = combined.to_bytes();
        }
        let is_same = |(path, seen): &ReadVersion| {
            path.symlink_metadata().is_ok_and(|there| FileIdentity::of(&there).is_same_file(seen))
        };
        {
            let _lock = self.lock_words(wait)?;
            if !read.iter().all(is_same) || !merged.iter().all(WordSegment::is_there) {
                return Ok(false);
            }
            self.write_segment(&bytes).during(|| "write words")?;
        }
        self.erase_segments(merged.iter().map(|segment| &segment.path))?;
        Ok(true)
    }

    /// Rewrites the segments that have something of these conversations.
    pub(super) fn revise_words(&self, revision: &Revision) -> Result<()> {
        let segments = self.segments()?;
        // One that cannot be erased must not keep the words in the others.
        let mut erased = Ok(());
        for segment in &segments.all {
            if revision.takes_from(segment) {
                if let Ok(Some(parts)) = segment.load().and_then(|parts| revision.revised(parts)) {
                    // Where it cannot be written, on a full disk, what it covers is indexed again later.
                    let _ = self.write_segment(&parts.to_bytes());
                }
                erased = erased.and(self.erase_segments([&segment.path].into_iter()));
            } else if segment.runs.iter().any(|run| revision.seen.contains_key(&run.conversation)) {
                // Where it cannot be written, those files are compared again.
                let _ = segment.note_looks(&revision.seen);
            }
        }
        // What is broken may hold anything.
        erased.and(self.erase_segments(segments.broken.iter()))
    }

    /// Removes every word of a conversation, for the caller who holds the lock of those who write.
    pub(in crate::store::jsonl) fn forget_words(&self, id: ConversationId) -> Result<()> {
        self.revise_words(&Revision { stale: HashSet::from([id]), ..Revision::default() })
    }

    /// Takes the lock of those who write, until the answer is dropped.
    pub(super) fn lock_words(&self, wait: Duration) -> Result<File> {
        let path = self.layout.changes();
        let log = durable::open_to_read(&path).during(|| format!("open `{}`", path.display()))?;
        change_log::lock(&log, FlockOperation::NonBlockingLockExclusive, wait)?;
        Ok(log)
    }

    /// Writes a segment under a name that nothing has, above all others where there is one, for the caller
    /// who holds the lock of those who write. It is not synced: what a power cut leaves of it is missing,
    /// or its checksums refuse it, and is indexed again.
    fn write_segment(&self, bytes: &[u8]) -> io::Result<()> {
        let (folder, temporary) = (self.layout.words(), self.layout.temporary());
        durable::create_private_directory(&folder.join("any"))?;
        durable::create_private_directory(&temporary.join("any"))?;
        let used: BTreeSet<u64> = paths(&folder)?.iter().filter_map(|path| number_of(path)).collect();
        let path = folder.join(format!("{:016x}", next_number(&used)));
        let draft = durable::draft_in(&temporary, &path)?;
        durable::write_at(draft.as_file(), 0, bytes)?;
        durable::publish_unsynced(draft, &path)
    }

    /// Erases what should be segments. One that cannot be erased does not keep the others; the first error is
    /// the answer.
    fn erase_segments<'p>(&self, paths: impl Iterator<Item = &'p PathBuf>) -> Result<()> {
        let (mut last, mut erased) = (None, Ok(()));
        for path in paths {
            erased = erased.and(erase_segment(path).during(|| format!("erase `{}`", path.display())));
            last = Some(path);
        }
        match last {
            Some(path) => {
                erased.and(durable::sync_parent(path).during(|| format!("erase `{}`", path.display())))
            }
            None => Ok(()),
        }
    }
}

/// Overwrites and removes a segment. A link, a pipe or a socket in its place holds no words and is only
/// removed. A folder is not Rejoin's and stays.
fn erase_segment(path: &Path) -> io::Result<()> {
    let erase = || {
        let kind = path.symlink_metadata()?.file_type();
        if kind.is_dir() {
            Ok(())
        } else if kind.is_file() {
            durable::erase(&durable::open_to_write(path)?, path)
        } else {
            durable::remove(path)
        }
    };
    match erase() {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// The number above all that are used. Where somebody used the last one, it is the lowest that is free: a new
/// segment never takes the name of another, which would not be overwritten.
fn next_number(used: &BTreeSet<u64>) -> u64 {
    let above = used.last().map_or(Some(1), |newest| newest.checked_add(1));
    above.unwrap_or_else(|| (1..).find(|number| !used.contains(number)).unwrap_or(u64::MAX))
}

impl Segments {
    /// Small segments, smallest first, that become one with a new one of this
    /// length; none while there are few of them.
    fn into_mergeable(self, fresh: u64) -> Vec<WordSegment> {
        let mut small = self.all;
        small.retain(|segment| segment.length <= LARGEST / 2);
        small.sort_by_key(|segment| segment.length);
        let lengths: Vec<u64> = small.iter().map(|segment| segment.length).collect();
        small.truncate(mergeable(&lengths, fresh));
        small
    }
}

/// How many of the smallest segments become one with a new one. Where they are
/// many and large, only some do at a time.
fn mergeable(lengths: &[u64], fresh: u64) -> usize {
    if lengths.len() < MANY {
        return 0;
    }
    let mut total = fresh;
    let fits = |length: &&u64| {
        total += **length;
        total <= LARGEST
    };
    lengths.iter().take_while(fits).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_small_segments_become_one_that_is_not_too_large() {
        let merged = [
            mergeable(&[900; MANY - 1], 900),
            mergeable(&[900; MANY], 900),
            mergeable(&[LARGEST / 4; MANY], LARGEST / 4),
            mergeable(&[LARGEST / 2; MANY], LARGEST),
        ];

        assert_eq!(merged, [0, MANY, 3, 0]);
    }

    #[test]
    fn a_new_segment_never_takes_the_name_of_another() {
        let next = [&[][..], &[7], &[u64::MAX], &[1, 2, u64::MAX]].map(|used| {
            let used = used.iter().copied().collect();
            next_number(&used)
        });

        assert_eq!(next, [1, 8, 1, 3]);
    }
}
