//! Writing: one at a time, noted first, synced before it is acknowledged.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::MutexGuard;

use crate::error::{Error, ErrorKind, Result};
use crate::model::{ConversationId, Time};
use crate::store::jsonl::changes::{Happened, Log, Noted};
use crate::store::jsonl::fault::During;
use crate::store::jsonl::line::Line;
use crate::store::jsonl::meta::Meta;
use crate::store::jsonl::scan::Known;
use crate::store::jsonl::{JsonlStore, lock};
use crate::store::{Stamp, durable};

/// What a handle needs to write.
#[derive(Debug, Default)]
pub(super) struct Writer {
    log: Option<Log>,
    /// Set when a sync failed: what the files hold is then unknown. A failed sync must not be tried again as if it
    /// could succeed.
    failed: bool,
    pub(super) wrote: bool,
}

/// The right to write, until it is dropped.
pub(super) struct Turnstile<'s> {
    store: &'s JsonlStore,
    writer: MutexGuard<'s, Writer>,
}

impl JsonlStore {
    /// Waits for all others who write, and finishes what one of them may have left unfinished.
    pub(super) fn begin_writing(&self) -> Result<Turnstile<'_>> {
        let mut writer = lock(&self.writer);
        if writer.failed {
            return Err(Error::new(
                ErrorKind::Unavailable,
                "an earlier write failed, so this store takes no more until it is opened again",
            ));
        }
        match &mut writer.log {
            Some(log) => log.lock(self.options.wait)?,
            none => {
                let mut log = Log::open(self.layout.changes(), self.options.wait)?;
                self.recover(&mut log)?;
                *none = Some(log);
            }
        }
        let mut turnstile = Turnstile { store: self, writer };
        if let Some(id) = turnstile.log().take_unfinished() {
            self.finish_blobs(id, turnstile.log().newest())?;
        }
        Ok(turnstile)
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
    /// To the end of a file.
    End(&'a Path, &'a Known),
    /// To a file that is made for them.
    New(&'a Path),
}

impl Turnstile<'_> {
    pub(super) fn log(&mut self) -> &mut Log {
        self.writer.log.as_mut().expect("it was opened before the turnstile was passed")
    }

    /// The stamp of the next change.
    pub(super) fn next_stamp(&mut self) -> Stamp {
        self.log().newest() + 1
    }

    /// Writes lines that belong together: all of them are there, synced, when this returns, or none.
    pub(super) fn write(&mut self, onto: &Onto<'_>, lines: &[u8], noted: &Noted) -> Result<()> {
        // Order: the note, the lines, the sync of the lines, and for a new file the sync of its name.
        let mark = self.log().note(noted)?;
        let written = match onto {
            Onto::New(path) => create(path, lines),
            Onto::End(path, known) => extend(path, known, noted.conversation, noted.at, lines),
        };
        let Err((failure, certainty)) = written else {
            self.writer.wrote = true;
            return Ok(());
        };
        self.log().take_back(mark);
        self.fail(certainty);
        let (Onto::New(path) | Onto::End(path, _)) = onto;
        Err(failure).during(|| format!("write to `{}`", path.display()))
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

type Written = std::result::Result<(), (io::Error, Certainty)>;

fn create(path: &Path, lines: &[u8]) -> Written {
    let unchanged = |cause| (cause, Certainty::Unchanged);
    let file = durable::create_to_write(path).map_err(unchanged)?;
    let written = durable::write_at(&file, 0, lines)
        .map_err(unchanged)
        .and_then(|()| file.sync_all().map_err(|cause| (cause, Certainty::Unknown)))
        .and_then(|()| durable::sync_parent(path).map_err(|cause| (cause, Certainty::Unknown)));
    if written.is_err() {
        // A file that stays is passed over: its turn may be whole, but was not acknowledged, and may be tried again.
        let _ = durable::remove(path);
    }
    written
}

fn extend(path: &Path, known: &Known, id: ConversationId, at: Time, lines: &[u8]) -> Written {
    let unchanged = |cause| (cause, Certainty::Unchanged);
    let file: File = durable::open_to_write(path).map_err(unchanged)?;
    let mut bytes = Vec::with_capacity(lines.len() + 256);
    if !known.is_terminated {
        bytes.push(b'\n');
    }
    if known.torn > 0 {
        durable::cut(&file, known.end).map_err(unchanged)?;
        let repaired = Meta::Repaired { bytes: known.torn };
        // A file that holds nothing else begins with what follows.
        if known.end > 0 {
            Line::meta(id, at).write(&repaired.to_json(), &mut bytes);
        }
    }
    bytes.extend_from_slice(lines);
    let written = durable::write_at(&file, known.end, &bytes)
        .map_err(unchanged)
        .and_then(|()| file.sync_data().map_err(|cause| (cause, Certainty::Unknown)));
    if written.is_err() {
        // What cannot be cut off is not whole or not acknowledged; the next writer sees to it.
        let _ = durable::cut(&file, known.end);
    }
    written
}

/// A note that something happened to a conversation.
pub(super) const fn noted(stamp: Stamp, at: Time, conversation: ConversationId, what: Happened) -> Noted {
    Noted { stamp, at, conversation, what, blobs: false }
}
