//! Adding, merging and rewriting segments. Only whoever holds the lock of those who write adds one.
//!
//! A new segment is written to a temporary file that gets its name when it is whole, and those that it
//! replaces are overwritten and removed after that. A crash in between leaves both, which say the same.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::FlockOperation;

use crate::error::Result;
use crate::model::ConversationId;
use crate::store::durable;
use crate::store::jsonl::fault::During;
use crate::store::jsonl::files::Seen;
use crate::store::jsonl::words::parts::{Drafting, Parts};
use crate::store::jsonl::words::segment::Segment;
use crate::store::jsonl::words::{Segments, number_of, paths};
use crate::store::jsonl::{Jsonl, change_log};

/// A segment does not grow beyond this: whoever removes something rewrites
/// every segment that has a word of it.
const LARGEST: u64 = 4 << 20;

/// So many small segments are merged into one. A search looks into each of them.
const MANY: usize = 16;

/// How a conversation's file was when its words were read.
pub(super) type Read = (PathBuf, Seen);

/// What becomes of runs.
#[derive(Default)]
pub(super) struct Revision {
    /// All runs of these go.
    pub(super) stale: HashSet<ConversationId>,
    /// The files of these look different, and what is covered of them is the same.
    pub(super) seen: HashMap<ConversationId, Seen>,
}

impl Revision {
    pub(super) fn is_empty(&self) -> bool {
        self.stale.is_empty() && self.seen.is_empty()
    }

    fn takes_from(&self, segment: &Segment) -> bool {
        segment.runs.iter().any(|run| self.stale.contains(&run.conversation))
    }

    fn revised(&self, mut parts: Parts) -> Result<Option<Parts>> {
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
    pub(super) fn add_segment(&self, fresh: Drafting, read: &[Read], wait: Duration) -> Result<bool> {
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
            let Some(combined) = Parts::combined(others)? else { return Ok(true) };
            bytes = combined.to_bytes();
        }
        let is_same = |(path, seen): &Read| {
            path.symlink_metadata().is_ok_and(|there| Seen::of(&there).is_same_file(seen))
        };
        {
            let _lock = self.lock_words(wait)?;
            if !read.iter().all(is_same) || !merged.iter().all(Segment::is_there) {
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
        // What is broken may hold anything.
        self.erase_segments(segments.broken.iter())?;
        for segment in &segments.all {
            if revision.takes_from(segment) {
                if let Ok(Some(parts)) = segment.load().and_then(|parts| revision.revised(parts)) {
                    // Where it cannot be written, on a full disk, what it covers is indexed again later.
                    let _ = self.write_segment(&parts.to_bytes());
                }
                self.erase_segments([&segment.path].into_iter())?;
            } else if segment.runs.iter().any(|run| revision.seen.contains_key(&run.conversation)) {
                // Where it cannot be written, those files are compared again.
                let _ = segment.note_looks(&revision.seen);
            }
        }
        Ok(())
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

    /// Writes a segment under a name that is above all others, for the caller who holds the lock of
    /// those who write. It is not synced: what a power cut leaves of it is missing, or its
    /// checksums refuse it, and is indexed again.
    fn write_segment(&self, bytes: &[u8]) -> io::Result<()> {
        let (folder, temporary) = (self.layout.words(), self.layout.temporary());
        durable::create_private_directory(&folder.join("any"))?;
        durable::create_private_directory(&temporary.join("any"))?;
        let newest = paths(&folder)?.iter().filter_map(|path| number_of(path)).max().unwrap_or(0);
        let path = folder.join(format!("{:016x}", newest.saturating_add(1)));
        let draft = durable::draft_in(&temporary, &path)?;
        durable::write_at(draft.as_file(), 0, bytes)?;
        durable::publish_unsynced(draft, &path)
    }

    fn erase_segments<'p>(&self, paths: impl Iterator<Item = &'p PathBuf>) -> Result<()> {
        let mut last = None;
        for path in paths {
            let erased = durable::open_to_write(path).and_then(|file| durable::erase(&file, path));
            match erased {
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
                other => other.during(|| format!("erase `{}`", path.display()))?,
            }
            last = Some(path);
        }
        match last {
            Some(path) => durable::sync_parent(path).during(|| format!("erase `{}`", path.display())),
            None => Ok(()),
        }
    }
}

impl Segments {
    /// Small segments, smallest first, that become one with a new one of this
    /// length; none while there are few of them.
    fn into_mergeable(self, fresh: u64) -> Vec<Segment> {
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
}
