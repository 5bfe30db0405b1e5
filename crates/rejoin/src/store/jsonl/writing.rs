//! Writing: one at a time, noted first, synced before it is acknowledged.

use std::io;
use std::path::Path;
use std::sync::MutexGuard;
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::model::{ConversationId, Time};
use crate::store::jsonl::change_log::{ChangeLog, Noted};
use crate::store::jsonl::fault::DuringIo;
use crate::store::jsonl::files::{FileIdentity, LockedFile};
use crate::store::jsonl::line::Line;
use crate::store::jsonl::line::meta::Meta;
use crate::store::jsonl::lines::read_at;
use crate::store::jsonl::scan::ScannedFile;
use crate::store::jsonl::{Jsonl, lock};
use crate::store::reserve::Reserve;
use crate::store::{Stamp, durable};

/// What a handle needs to write.
#[derive(Debug, Default)]
pub(super) struct LogWriter {
    log: Option<ChangeLog>,
    /// The process that opened the log.
    process: u32,
    /// Set when a sync failed: what the files hold is then unknown. A failed sync must not
    /// be tried again as if it could succeed.
    failed: bool,
    pub(super) wrote: bool,
}

impl LogWriter {
    /// True when something was written, and nothing failed.
    pub(super) const fn is_sound(&self) -> bool {
        self.wrote && !self.failed
    }
}

/// The right to write, until it is dropped.
pub(super) struct Turnstile<'s> {
    store: &'s Jsonl,
    writer: MutexGuard<'s, LogWriter>,
}

impl Jsonl {
    /// Waits for all others who write, and finishes what one of them may have left unfinished.
    pub(super) fn begin_writing(&self) -> Result<Turnstile<'_>> {
        let mut writer = lock(&self.writer);
        if writer.failed {
            return Err(Error::new(
                ErrorKind::Unavailable,
                "an earlier write failed, so this store accepts no more until it is reopened",
            ));
        }
        let process = std::process::id();
        // A lock that was inherited from another process does not keep that one out.
        let is_own = writer.process == process;
        match writer.log.as_mut().filter(|_| is_own) {
            Some(log) => log.lock(self.options.wait)?,
            None => {
                let mut log = ChangeLog::open(self.layout.changes(), self.options.wait)?;
                self.recover(&mut log)?;
                self.tidy_up(Duration::ZERO)?;
                self.finish_pending()?;
                self.reserve().keep();
                (writer.log, writer.process) = (Some(log), process);
            }
        }
        let mut turnstile = Turnstile { store: self, writer };
        turnstile.finish()?;
        Ok(turnstile)
    }

    /// The room that is kept for removing something when the disk is full.
    pub(super) fn reserve(&self) -> Reserve {
        Reserve::at(self.layout.reserve())
    }
}

impl Drop for Turnstile<'_> {
    fn drop(&mut self) {
        if let Some(log) = &self.writer.log {
            log.unlock();
        }
        *lock(&self.store.bell.0) += 1;
        self.store.bell.1.notify_all();
    }
}

/// Where lines go.
pub(super) enum Onto<'a> {
    /// To the end of a file that was opened to write, of which all is known.
    End(&'a LockedFile, &'a ScannedFile),
    /// To a file that is made for them.
    New(&'a Path),
}

impl Turnstile<'_> {
    pub(super) fn log(&mut self) -> &mut ChangeLog {
        self.writer.log.as_mut().expect("it was opened before the turnstile was passed")
    }

    /// Finishes what a process that was killed left undone.
    fn finish(&mut self) -> Result<()> {
        let Some(noted) = self.log().unfinished() else { return Ok(()) };
        if noted.blobs {
            self.store.finish_blobs(&[noted.conversation], noted.stamp - 1)?;
        }
        if noted.leaves_old_bytes() {
            self.store.finish_removal(noted.conversation, Duration::ZERO)?;
        }
        self.log().finish();
        Ok(())
    }

    /// The stamp of the next change, which is above all that the log and a file have. They differ where
    /// files or the log were copied or put back.
    pub(super) fn next_stamp(&mut self, in_files: Stamp) -> Stamp {
        self.log().newest().max(in_files) + 1
    }

    /// Writes lines that belong together: all of them are there, synced, when this returns, or none.
    pub(super) fn write(&mut self, onto: &Onto<'_>, lines: &[u8], noted: &Noted) -> Result<()> {
        // Order: the note, the lines, the sync of the lines, for a new file the sync
        // of its name, and the mark of the note.
        let mark = self.log().note(noted)?;
        let id = noted.conversation;
        let (path, before, written) = match onto {
            Onto::New(path) => (*path, None, create(&self.store.layout.temporary(), path, lines)),
            Onto::End(opened, known) => {
                let extended = extend(opened, known, id, noted.at, lines);
                // Whoever made the file may have been killed before its name was safe.
                let is_named = !known.is_young() || self.store.has_named(id);
                let path = opened.path.as_path();
                let named = |after| if is_named { Ok(after) } else { sync_name(path).map(|()| after) };
                (path, Some(opened.seen), extended.and_then(named))
            }
        };
        match written {
            Ok(after) => {
                self.log().confirm(noted.stamp);
                self.writer.wrote = true;
                self.store.note_growth(id, before, after);
                Ok(())
            }
            Err((failure, certainty)) => {
                self.log().take_back(mark);
                self.fail(certainty);
                Err(failure).during(|| format!("write to `{}`", path.display()))
            }
        }
    }

    /// Makes sure that what stands in a file up to a change, written by whomever, is safe.
    pub(super) fn secure(&mut self, opened: &LockedFile, stamp: Stamp) -> Result<()> {
        let secured = opened.file.sync_data().and_then(|()| durable::sync_parent(&opened.path));
        match secured {
            Ok(()) => self.log().confirm(stamp),
            Err(_) => self.fail(Certainty::Unknown),
        }
        secured.during(|| format!("sync `{}`", opened.path.display()))
    }

    /// Remembers that what is on disk is unknown.
    pub(super) fn fail(&mut self, certainty: Certainty) {
        self.writer.failed |= certainty == Certainty::Unknown;
    }
}

/// What a failure leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certainty {
    /// What was there before.
    Unchanged,
    /// Nobody knows.
    Unknown,
}

type WriteResult<T> = std::result::Result<T, (io::Error, Certainty)>;

/// Makes a file that is whole when it gets its name, so that no crash leaves one that
/// holds nothing. Answers how it looks.
fn create(temporary: &Path, path: &Path, lines: &[u8]) -> WriteResult<FileIdentity> {
    let unchanged = |cause| (cause, Certainty::Unchanged);
    // Order: the lines, their sync, the name, and the sync of the name.
    let draft = durable::draft_in(temporary, path).map_err(unchanged)?;
    durable::write_at(draft.as_file(), 0, lines).map_err(unchanged)?;
    draft.as_file().sync_all().map_err(|cause| (cause, Certainty::Unknown))?;
    let seen = FileIdentity::of(&draft.as_file().metadata().map_err(unchanged)?);
    durable::name(draft, path).map_err(unchanged)?;
    let named = sync_name(path);
    if named.is_err() {
        // A file that stays is passed over: its turn may be whole, but was not
        // acknowledged, and may be tried again.
        let _ = durable::remove(path);
    }
    named.map(|()| seen)
}

fn sync_name(path: &Path) -> WriteResult<()> {
    durable::sync_parent(path).map_err(|cause| (cause, Certainty::Unknown))
}

/// Writes lines to the end of a file. Answers how it looks then.
fn extend(
    opened: &LockedFile,
    known: &ScannedFile,
    id: ConversationId,
    at: Time,
    lines: &[u8],
) -> WriteResult<FileIdentity> {
    let unchanged = |cause| (cause, Certainty::Unchanged);
    let file = &opened.file;
    if file.metadata().map_err(unchanged)?.len() != known.end + known.torn {
        return Err(unchanged(interfered()));
    }
    let mut bytes = Vec::with_capacity(lines.len() + 256);
    if !known.is_terminated {
        bytes.push(b'\n');
    }
    let mut repaired = Vec::new();
    if known.torn > 0 {
        let cut_off = torn_bytes(opened, known).map_err(unchanged)?;
        durable::cut(file, known.end).map_err(unchanged)?;
        Line::meta(id, at).write(&Meta::repaired(&cut_off).to_json(), &mut repaired);
    }
    // A file begins with its first turn, whatever else it holds.
    let in_order = if known.end > 0 { [repaired.as_slice(), lines] } else { [lines, repaired.as_slice()] };
    in_order.into_iter().for_each(|part| bytes.extend_from_slice(part));
    let written = durable::write_at(file, known.end, &bytes)
        .map_err(unchanged)
        .and_then(|()| file.sync_data().map_err(|cause| (cause, Certainty::Unknown)));
    if let Err((cause, certainty)) = written {
        // What cannot be cut off is not whole or not acknowledged; the next writer sees to it.
        let is_cut = durable::cut(file, known.end).is_ok();
        return Err((cause, if is_cut { certainty } else { Certainty::Unknown }));
    }
    // The lines must be in the file that has the name, not in one that another program put aside.
    let there = FileIdentity::of(&opened.path.symlink_metadata().map_err(unchanged)?);
    if there.is_same_file(&opened.seen) { Ok(there) } else { Err(unchanged(interfered())) }
}

/// What stands in a file after its last whole turn.
fn torn_bytes(opened: &LockedFile, known: &ScannedFile) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(known.torn).unwrap_or_default()];
    let read = read_at(&opened.file, &mut bytes, known.end)?;
    bytes.truncate(read);
    Ok(bytes)
}

fn interfered() -> io::Error {
    io::Error::other("another program changed it at the same time")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::store::JsonlStore;
    use crate::store::jsonl::files::Purpose;
    use crate::{Archive, Conversation, Message};

    #[test]
    fn lines_are_not_written_to_a_file_that_another_program_put_aside() {
        let directory = tempfile::tempdir().unwrap();
        let store = std::sync::Arc::new(JsonlStore::open(directory.path()).unwrap());
        let archive = Archive::with_store(std::sync::Arc::clone(&store) as _);
        let id = archive.start(Conversation::titled("Lisbon")).unwrap().id();
        let (opened, known) = store.backend().must_open(Purpose::Write, id).unwrap();
        let aside = directory.path().join("aside");
        fs::copy(&opened.path, &aside).unwrap();

        fs::rename(&aside, &opened.path).unwrap();
        let replaced = extend(&opened, &known, id, Time::now(), b"lost\n");
        fs::write(&opened.path, fs::read_to_string(&opened.path).unwrap() + "by another\n").unwrap();
        let (opened, _) = store.backend().must_open(Purpose::Write, id).unwrap();
        let grown = extend(&opened, &known, id, Time::now(), b"lost\n");

        let certainties = [replaced, grown].map(|written| written.unwrap_err().1);
        assert_eq!(certainties, [Certainty::Unchanged; 2]);
        assert!(fs::read_to_string(&opened.path).unwrap().ends_with("by another\n"));
    }

    #[test]
    fn a_handle_that_was_carried_into_another_process_takes_a_lock_of_its_own() {
        let directory = tempfile::tempdir().unwrap();
        let wait = Duration::from_millis(5);
        let options = crate::store::JsonlOptions { wait, ..Default::default() };
        let store = std::sync::Arc::new(JsonlStore::open_with(directory.path(), options).unwrap());
        let archive = Archive::with_store(std::sync::Arc::clone(&store) as _);
        let mut talk = archive.start(Conversation::titled("Lisbon")).unwrap();
        // A fork shares the open log, and the lock with it: what that process
        // holds does not keep this one out.
        let inherited = {
            let mut writer = lock(&store.backend().writer);
            writer.process = 0;
            let mut log = writer.log.take().unwrap();
            log.lock(options.wait).unwrap();
            log
        };

        let refused = talk.append(Message::user("one")).unwrap_err();
        drop(inherited);
        talk.append(Message::user("one")).unwrap();

        assert_eq!(refused.kind(), ErrorKind::Locked);
    }
}
