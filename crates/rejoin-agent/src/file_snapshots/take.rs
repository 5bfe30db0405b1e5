//! Taking a snapshot before a turn writes.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use rejoin::files::{FileContent, FileEntry, FileKeeper, FileManifest, LeftOut};
use rejoin::{Archive, Block, ConversationId, FileSnapshot, Time};

use crate::directory_identity::directory_identity;
use crate::error::{Error, ErrorKind, Result};
use crate::file_snapshots::LARGEST_FILE;
use crate::file_snapshots::note::Omitted;
use crate::file_snapshots::walk::{SeenFile, WalkedFiles};
use crate::tools::{ProjectDirectory, off_thread, open};

/// A snapshot keeps no more bytes that are new; the next one goes on.
const MOST_BYTES: u64 = 256 << 20;

/// A file that was changed so shortly before it was looked at may have been changed again since, with the
/// same stamp: some file systems count time in two seconds.
const CLOCK: i64 = 2_000_000_000;

/// Takes snapshots of a project's files, and keeps them in an archive.
#[derive(Clone, Debug)]
pub struct FileSnapshots {
    archive: Archive,
    project: ProjectDirectory,
    last: Arc<Mutex<NewestSnapshot>>,
}

/// The newest snapshot, which the next one builds on.
#[derive(Debug, Default)]
struct NewestSnapshot {
    taken: Option<(ConversationId, FileSnapshot, FileManifest)>,
    /// What was said to be left out.
    told: Option<String>,
}

/// A snapshot that was taken.
#[derive(Debug)]
pub(crate) struct TakenSnapshot {
    pub(crate) block: Block,
    /// What it leaves out, if that was not said before.
    pub(crate) note: Option<String>,
}

impl FileSnapshots {
    /// Takes snapshots of the files in a directory.
    pub fn new(archive: Archive, project: &Path) -> Result<Self> {
        Ok(Self { archive, project: ProjectDirectory::at(project)?, last: Arc::default() })
    }

    /// Takes one for a conversation. `before` is the newest that its messages have. Dropping the future ends
    /// it.
    pub(crate) async fn take(
        &self,
        id: ConversationId,
        before: Option<FileSnapshot>,
    ) -> Result<TakenSnapshot> {
        let (own, is_stopped) = (self.clone(), Arc::<AtomicBool>::default());
        let stop = StopOnDrop(Arc::clone(&is_stopped));
        let taken = off_thread(move || own.take_now(id, before, &is_stopped)).await;
        drop(stop);
        taken
    }

    fn take_now(
        &self,
        id: ConversationId,
        before: Option<FileSnapshot>,
        is_stopped: &AtomicBool,
    ) -> Result<TakenSnapshot> {
        self.project.check()?;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let files = self.archive.files();
        let known = last
            .taken
            .take()
            .filter(|(of, ..)| *of == id)
            .map(|(_, snapshot, manifest)| (snapshot, manifest));
        // A list that cannot be read is not built on.
        let stored = || before.and_then(|one| files.manifest(id, &one).ok().map(|manifest| (one, manifest)));
        // What is known of another directory says nothing about this one.
        let identity = directory_identity(self.project.directory());
        let known = known.or_else(stored).filter(|(_, before)| Some(&before.identity) == identity.as_ref());
        let mut keeper = files.keeper(id, known)?;
        let earlier = keeper.before().cloned().unwrap_or_default();
        let taken = now();
        let walked = WalkedFiles::of(&self.project, is_stopped);
        let mut omitted = Omitted {
            special: walked.special,
            unreadable: walked.unreadable,
            is_partial: walked.is_partial,
            ..Omitted::default()
        };
        let mut found = SnapshotFiles { earlier: &earlier, room: MOST_BYTES, files: BTreeMap::new() };
        for seen in walked.files {
            if is_stopped.load(Ordering::Relaxed) {
                return Err(Error::new(ErrorKind::Invalid, "the snapshot of the files was stopped"));
            }
            match found.add(self, &mut keeper, seen)? {
                FileContent::Kept(_) => {}
                FileContent::LeftOut(why) => omitted.add(why),
            }
        }
        let directory = self.project.directory().to_string_lossy().into_owned();
        let directory = if files.may_list(&directory) { directory } else { String::new() };
        let identity = identity.unwrap_or_default();
        let manifest = FileManifest { taken, directory, identity, files: found.files };
        let snapshot = keeper.finish(&manifest, walked.is_partial)?;
        let block = snapshot.to_block();
        last.taken = Some((id, snapshot, manifest));
        let line = omitted.to_line();
        let note = line.clone().filter(|_| line != last.told);
        last.told = line;
        Ok(TakenSnapshot { block, note })
    }
}

/// Ends a snapshot that nobody waits for any more.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The files of a snapshot so far.
struct SnapshotFiles<'a> {
    earlier: &'a FileManifest,
    room: u64,
    files: BTreeMap<String, FileEntry>,
}

impl SnapshotFiles<'_> {
    fn add(
        &mut self,
        from: &FileSnapshots,
        keeper: &mut FileKeeper<'_>,
        seen: SeenFile,
    ) -> Result<FileContent> {
        if let Some(entry) = self.unchanged(&seen) {
            self.files.insert(seen.path, entry);
            return Ok(entry.content);
        }
        if !from.archive.files().may_list(&seen.path) {
            return Ok(FileContent::LeftOut(LeftOut::Secret));
        }
        let (mut seen, mut content) = (seen, FileContent::LeftOut(LeftOut::Large));
        if seen.size <= LARGEST_FILE {
            content = match self.room.checked_sub(seen.size) {
                None => FileContent::LeftOut(LeftOut::Full),
                Some(room) => match read(&from.project, &seen.path) {
                    // It was removed, or replaced by something else, after the walk.
                    Err(_) => FileContent::LeftOut(LeftOut::Unreadable),
                    Ok((now, bytes)) if bytes.len() as u64 <= LARGEST_FILE => {
                        (self.room, seen) = (room, now);
                        keeper.add(bytes)?
                    }
                    Ok(_) => FileContent::LeftOut(LeftOut::Large),
                },
            };
        }
        let entry = FileEntry { size: seen.size, mode: seen.mode, stamp: seen.stamp, content };
        self.files.insert(seen.path, entry);
        Ok(content)
    }

    /// What is known of a file that has not changed since the snapshot before.
    fn unchanged(&self, seen: &SeenFile) -> Option<FileEntry> {
        let entry = *self.earlier.files.get(&seen.path)?;
        let is_same = (entry.size, entry.mode, entry.stamp) == (seen.size, seen.mode, seen.stamp);
        let settled = self.earlier.taken.as_micros().saturating_mul(1_000).saturating_sub(CLOCK);
        let is_final = !matches!(entry.content, FileContent::LeftOut(LeftOut::Full | LeftOut::Unreadable));
        (is_same && is_final && seen.stamp.changed < settled).then_some(entry)
    }
}

/// Reads a file, with what it looked like when it was opened.
fn read(project: &ProjectDirectory, path: &str) -> io::Result<(SeenFile, Vec<u8>)> {
    let file = open(&project.directory().join(path))?;
    let seen = SeenFile::of(path.to_owned(), &file.metadata()?);
    let mut bytes = Vec::new();
    if seen.size <= LARGEST_FILE {
        file.take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
    }
    Ok((seen, bytes))
}

/// The time of the machine's clock, which the stamps of files are compared with.
fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
