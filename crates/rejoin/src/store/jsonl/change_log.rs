//! The log of changes: the order of all that happened, and the lock of those who write.
//!
//! A writer holds the lock from before its change is noted until it is done, so whoever reads the log
//! under a shared lock sees no change that is not there. The note is written first: a process that is
//! killed in between has told a change that may not have happened, which is allowed; the other way
//! round one would be skipped. The log itself is not synced with every change. Each change carries
//! its stamp in the conversation's file too, and after the machine was started anew, what the log
//! lost is taken from there (see recover.rs).
//!
//! A note is marked once its change is safe, before it is acknowledged. So a marked change that its file does
//! not hold was lost, and one that is not marked may never have been written.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use memchr::memmem;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::model::{ConversationId, Time};
use crate::store::backend::LogEntry;
use crate::store::durable;
use crate::store::jsonl::fault::DuringIo;
use crate::store::jsonl::lines::{FileLines, LineBytes, read_at};
use crate::store::{Changed, Stamp, What};

/// How many changes one answer holds at most; a follower asks again.
const MOST: usize = 10_000;

/// No note is longer: a reason is a sentence.
const LONGEST: usize = 1 << 20;

/// The mark stands so many bytes before the end of a note, `0}` and the line end.
const MARK: u64 = 3;

/// The log, open to write.
#[derive(Debug)]
pub(super) struct ChangeLog {
    path: PathBuf,
    file: File,
    /// How long it was when its newest stamp was last looked up.
    length: u64,
    newest: Stamp,
    /// The newest change, when more than its lines belongs to it: its process
    /// may have been killed in between.
    unfinished: Option<Noted>,
    /// The newest change, when it is not marked as safe.
    unmarked: Option<Stamp>,
}

/// A change as it is noted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Noted {
    pub(super) stamp: Stamp,
    pub(super) at: Time,
    pub(super) conversation: ConversationId,
    #[serde(flatten)]
    pub(super) what: Happened,
    /// True when the turn also changed blobs that are not its own conversation's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) blobs: bool,
    /// 1 once the change is safe, 0 before; older versions did not say. It is the last field, one digit long:
    /// it changes in place, and no power cut leaves half of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) done: Option<u8>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub(super) enum Happened {
    Stored { messages: u64 },
    Changed,
    Rewritten,
    Trimmed { reason: String },
    Deleted { reason: String },
}

impl ChangeLog {
    /// Opens the log and waits for the lock of those who write. It is given back when the log is dropped or
    /// [`Self::unlock`]ed.
    pub(super) fn open(path: PathBuf, wait: Duration) -> Result<Self> {
        let file = durable::open_to_write(&path).during(|| format!("open `{}`", path.display()))?;
        let mut log = Self { path, file, length: u64::MAX, newest: 0, unfinished: None, unmarked: None };
        log.lock(wait)?;
        Ok(log)
    }

    /// Takes the lock, and looks up the newest stamp if another process wrote meanwhile.
    pub(super) fn lock(&mut self, wait: Duration) -> Result<()> {
        lock(&self.file, FlockOperation::NonBlockingLockExclusive, wait)?;
        self.refresh().inspect_err(|_| self.unlock())
    }

    fn refresh(&mut self) -> Result<()> {
        let path = &self.path;
        let attempt = || format!("read `{}`", path.display());
        let metadata = self.file.metadata().during(attempt)?;
        // Whoever moved the store away took the lock along: two would write at once.
        let is_same = path
            .symlink_metadata()
            .is_ok_and(|there| (there.dev(), there.ino()) == (metadata.dev(), metadata.ino()));
        if !is_same {
            return Err(Error::new(
                ErrorKind::Unavailable,
                format!("the store of `{}` is gone", path.display()),
            ));
        }
        if metadata.len() != self.length {
            let (whole, newest) = end_of(&self.file, metadata.len()).during(attempt)?;
            if whole != metadata.len() {
                durable::cut(&self.file, whole).during(attempt)?;
            }
            self.length = whole;
            self.newest = newest.as_ref().map_or(0, |noted| noted.stamp);
            self.unmarked = newest.as_ref().and_then(Noted::unmarked);
            self.unfinished = newest.filter(Noted::has_more_to_do);
        }
        Ok(())
    }

    pub(super) fn unlock(&self) {
        // Closing the file gives it back in any case.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }

    /// The newest stamp.
    pub(super) const fn newest(&self) -> Stamp {
        self.newest
    }

    /// The newest change, if its process may have been killed before all of it was done.
    pub(super) fn unfinished(&self) -> Option<Noted> {
        self.unfinished.clone()
    }

    /// All of the newest change is done.
    pub(super) fn finish(&mut self) {
        self.unfinished = None;
    }

    /// Which file this is, so that a copy can be told from it.
    pub(super) fn inode(&self) -> Result<u64> {
        let metadata = self.file.metadata();
        metadata.map(|metadata| metadata.ino()).during(|| format!("look at `{}`", self.path.display()))
    }

    /// Notes a change, and tells how to take the note back.
    pub(super) fn note(&mut self, noted: &Noted) -> Result<LogMark> {
        let mark = LogMark { length: self.length, newest: self.newest };
        let mut line = serde_json::to_vec(noted).expect("a change is plain data");
        line.push(b'\n');
        if let Err(cause) = durable::write_at(&self.file, self.length, &line) {
            let _ = durable::cut(&self.file, self.length);
            return Err(cause).during(|| format!("note a change in `{}`", self.path.display()));
        }
        self.length += line.len() as u64;
        self.newest = noted.stamp;
        self.unmarked = noted.unmarked();
        self.unfinished = Some(noted.clone()).filter(Noted::has_more_to_do);
        Ok(mark)
    }

    /// Marks a change as safe, if it is the newest. The mark is not synced: a
    /// power cut that takes it leaves the lines.
    pub(super) fn confirm(&mut self, stamp: Stamp) {
        if self.unmarked.take_if(|unmarked| *unmarked == stamp).is_some() {
            // Without it, a damaged end of the file looks like one that was
            // never acknowledged. The change is safe.
            let _ = durable::write_at(&self.file, self.length - MARK, b"1");
        }
    }

    /// Takes a note back whose change did not happen. Nobody has read it: the lock was held all the time.
    pub(super) fn take_back(&mut self, mark: LogMark) {
        if durable::cut(&self.file, mark.length).is_ok() {
            (self.length, self.newest, self.unfinished, self.unmarked) =
                (mark.length, mark.newest, None, None);
        }
    }

    pub(super) fn sync(&self) -> Result<()> {
        self.file.sync_data().during(|| format!("sync `{}`", self.path.display()))
    }
}

/// Where the log ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogMark {
    length: u64,
    newest: Stamp,
}

/// The changes after a stamp, for those who follow them. What is being written is waited for.
pub(super) fn since(path: &Path, after: Stamp, wait: Duration) -> Result<Vec<Changed>> {
    let file = durable::open_to_read(path).during(|| format!("read `{}`", path.display()))?;
    // Under the lock only what has happened stands there, and after it what stands there stays.
    lock(&file, FlockOperation::NonBlockingLockShared, wait)?;
    let length = file.metadata().during(|| format!("read `{}`", path.display()))?.len();
    let _ = flock(&file, FlockOperation::Unlock);
    read_since(&file, length, after).during(|| format!("read `{}`", path.display()))
}

/// The changes after a stamp, as they are noted. The last one may not have
/// happened yet; nobody is waited for.
pub(super) fn noted_since(path: &Path, after: Stamp) -> Result<Vec<Changed>> {
    let read = || {
        let file = durable::open_to_read(path)?;
        read_since(&file, file.metadata()?.len(), after)
    };
    read().during(|| format!("read `{}`", path.display()))
}

/// The stamp of the newest change.
pub(super) fn newest(path: &Path) -> Result<Stamp> {
    Ok(newest_noted(path)?.map_or(0, |noted| noted.stamp))
}

/// The newest change. It may not have happened yet, those before it have: one at most is being written.
pub(super) fn newest_noted(path: &Path) -> Result<Option<Noted>> {
    let read = || {
        let file = durable::open_to_read(path)?;
        Ok(end_of(&file, file.metadata()?.len())?.1)
    };
    read().during(|| format!("read `{}`", path.display()))
}

/// What the log tells last of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastChange {
    /// A change that may never have been written.
    Begun,
    /// That it is stored, up to this change at least.
    Acknowledged(Stamp),
    Deleted,
}

impl LastChange {
    fn then(told: Option<Self>, noted: &Noted) -> Self {
        match noted.what {
            Happened::Deleted { .. } => Self::Deleted,
            _ if noted.done == Some(1) => Self::Acknowledged(noted.stamp),
            _ => told.unwrap_or(Self::Begun),
        }
    }
}

/// What the log tells after a stamp of each conversation.
pub(super) fn told_since(path: &Path, after: Stamp) -> Result<BTreeMap<ConversationId, LastChange>> {
    let mut all: BTreeMap<ConversationId, LastChange> = BTreeMap::new();
    tell_since(path, after, b"", &mut |noted| {
        let told = LastChange::then(all.get(&noted.conversation).copied(), noted);
        all.insert(noted.conversation, told);
    })?;
    Ok(all)
}

/// What the log tells after a stamp of one conversation.
pub(super) fn told_of(path: &Path, id: ConversationId, after: Stamp) -> Result<Option<LastChange>> {
    let mut told = None;
    tell_since(path, after, id.to_string().as_bytes(), &mut |noted| {
        if noted.conversation == id {
            told = Some(LastChange::then(told, noted));
        }
    })?;
    Ok(told)
}

/// Visits the notes after a stamp that hold a text. Without a log there are none.
fn tell_since(path: &Path, after: Stamp, text: &[u8], visit: &mut dyn FnMut(&Noted)) -> Result<()> {
    let mut read = || -> io::Result<()> {
        let file = durable::open_to_read(path)?;
        let length = file.metadata()?.len();
        let mut lines = FileLines::new(&file, begin(&file, length, after)?, length, LONGEST);
        while let Some(piece) = lines.next()? {
            if let LineBytes::Bytes(bytes) = piece.content
                && memmem::find(bytes, text).is_some()
                && let Ok(noted) = serde_json::from_slice::<Noted>(bytes)
                && noted.stamp > after
            {
                visit(&noted);
            }
        }
        Ok(())
    };
    match read() {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.during(|| format!("read `{}`", path.display())),
    }
}

fn read_since(file: &File, length: u64, after: Stamp) -> io::Result<Vec<Changed>> {
    let mut changes = Vec::new();
    let mut lines = FileLines::new(file, begin(file, length, after)?, length, LONGEST);
    while let Some(piece) = lines.next()? {
        let LineBytes::Bytes(bytes) = piece.content else { continue };
        // A damaged note is passed over: those who follow read the conversation, not the note.
        let Ok(noted) = serde_json::from_slice::<Noted>(bytes) else { continue };
        if noted.stamp > after {
            changes.push(noted.into_changed());
            if changes.len() == MOST {
                break;
            }
        }
    }
    Ok(changes)
}

impl Noted {
    /// A note of a change, which is not safe yet.
    pub(super) fn of(stamp: Stamp, change: &LogEntry) -> Self {
        let what = match &change.what {
            What::Stored { messages } => Happened::Stored { messages: *messages },
            What::Changed => Happened::Changed,
            What::Rewritten => Happened::Rewritten,
            What::Trimmed { reason } => Happened::Trimmed { reason: reason.clone() },
            What::Deleted { reason } => Happened::Deleted { reason: reason.clone() },
        };
        Self::that(stamp, change.at, change.conversation, what)
    }

    /// A note that something happens to a conversation.
    pub(super) const fn that(stamp: Stamp, at: Time, conversation: ConversationId, what: Happened) -> Self {
        Self { stamp, at, conversation, what, blobs: false, done: Some(0) }
    }

    /// True when blobs of others have to be changed, or bytes to be overwritten, after the change itself.
    fn has_more_to_do(&self) -> bool {
        self.blobs || self.leaves_old_bytes()
    }

    /// True when something took away what a file said, so that the old bytes have to be overwritten.
    pub(super) const fn leaves_old_bytes(&self) -> bool {
        match self.what {
            Happened::Stored { .. } | Happened::Changed => false,
            Happened::Rewritten | Happened::Trimmed { .. } | Happened::Deleted { .. } => true,
        }
    }

    fn unmarked(&self) -> Option<Stamp> {
        (self.done == Some(0)).then_some(self.stamp)
    }

    fn into_changed(self) -> Changed {
        let what = match self.what {
            Happened::Stored { messages } => What::Stored { messages },
            Happened::Changed => What::Changed,
            Happened::Rewritten => What::Rewritten,
            Happened::Trimmed { reason } => What::Trimmed { reason },
            Happened::Deleted { reason } => What::Deleted { reason },
        };
        Changed { stamp: self.stamp, at: self.at, conversation: self.conversation, what }
    }
}

/// What is read of a note to find a place in the log.
#[derive(Deserialize)]
struct Stamped {
    stamp: Stamp,
}

/// A place from which no change after the stamp is missed.
fn begin(file: &File, length: u64, after: Stamp) -> io::Result<u64> {
    match near_end(file, length, after)? {
        Some(place) => Ok(place),
        None => begin_by_halves(file, length, after),
    }
}

/// The same, if it is near the end. Most who ask know all but the last few changes.
fn near_end(file: &File, length: u64, after: Stamp) -> io::Result<Option<u64>> {
    const NEAR: u64 = 1 << 11;
    let from = length.saturating_sub(NEAR);
    let mut tail = vec![0; usize::try_from(length - from).unwrap_or(usize::MAX)];
    let read = read_at(file, &mut tail, from)?;
    tail.truncate(read);
    let mut end = memchr::memrchr(b'\n', &tail).map_or(0, |at| at + 1);
    while end > 0 {
        let start = memchr::memrchr(b'\n', &tail[..end - 1]).map_or(0, |at| at + 1);
        // The first line may lack its beginning.
        if start == 0 && from > 0 {
            return Ok(None);
        }
        if serde_json::from_slice::<Stamped>(&tail[start..end]).is_ok_and(|noted| noted.stamp <= after) {
            return Ok(Some(from + end as u64));
        }
        end = start;
    }
    Ok((from == 0).then_some(0))
}

/// The same: stamps grow, so it is found by halves.
fn begin_by_halves(file: &File, length: u64, after: Stamp) -> io::Result<u64> {
    /// What is left is read from its beginning.
    const NEAR: u64 = 1 << 14;
    let (mut low, mut high) = (0, length);
    while high - low > NEAR {
        let middle = low + (high - low) / 2;
        match first_after(file, middle, high)? {
            Some((line, stamp)) if stamp <= after => low = line,
            Some(_) | None => high = middle,
        }
    }
    Ok(low)
}

/// The first whole note after a place, and where it begins.
fn first_after(file: &File, place: u64, end: u64) -> io::Result<Option<(u64, Stamp)>> {
    let mut lines = FileLines::new(file, place, end, LONGEST);
    // The place is most likely in the middle of a line.
    lines.next()?;
    while let Some(piece) = lines.next()? {
        if let LineBytes::Bytes(bytes) = piece.content
            && let Ok(noted) = serde_json::from_slice::<Stamped>(bytes)
        {
            return Ok(Some((piece.offset, noted.stamp)));
        }
    }
    Ok(None)
}

/// Where the last whole note ends, and the note.
fn end_of(file: &File, length: u64) -> io::Result<(u64, Option<Noted>)> {
    let mut size = 1 << 12;
    loop {
        let from = length.saturating_sub(size);
        let mut tail = vec![0; usize::try_from(length - from).unwrap_or(usize::MAX)];
        let read = read_at(file, &mut tail, from)?;
        tail.truncate(read);
        let mut end = memchr::memrchr(b'\n', &tail).map_or(0, |at| at + 1);
        while end > 0 {
            let start = memchr::memrchr(b'\n', &tail[..end - 1]).map_or(0, |at| at + 1);
            if start == 0 && from > 0 {
                break;
            }
            if let Ok(noted) = serde_json::from_slice::<Noted>(&tail[start..end]) {
                return Ok((from + end as u64, Some(noted)));
            }
            end = start;
        }
        if from == 0 {
            return Ok((0, None));
        }
        size *= 4;
    }
}

/// Waits for a lock, with a limit.
pub(super) fn lock(file: &File, kind: FlockOperation, wait: Duration) -> Result<()> {
    let began = Instant::now();
    let mut pause = Duration::from_micros(100);
    loop {
        match flock(file, kind) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::WOULDBLOCK) if began.elapsed() < wait => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(5));
            }
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(Error::new(ErrorKind::Locked, "another process is writing"));
            }
            Err(cause) => return Err(io::Error::from(cause)).during(|| "lock the store"),
        }
    }
}
