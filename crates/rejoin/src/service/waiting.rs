//! Writes for which there was no room: they wait here, in order, and are made once a purge has freed some.

use std::collections::VecDeque;
use std::fmt;
use std::sync::PoisonError;
use std::time::Duration;

use crate::archive::{Archive, StoreUrl, Strains, is_for_want_of_room};
use crate::error::{Error, ErrorKind, Result};
use crate::model::ConversationId;
use crate::service::{
    ConversationRecordInput, ConversationRecordMutation, ConversationStorageService, snapshot, write,
};

/// What a caller is told whose write waits.
const FULL: &str = "there is no room left to save; the record waits and is saved once some space is free";

/// What waits, and what nobody was told yet.
#[derive(Default)]
pub(super) struct Waiting {
    writes: VecDeque<Write>,
    pub(super) strains: Strains,
    reopen: Option<Box<Reopen>>,
    is_store_in_doubt: bool,
}

type Reopen = dyn FnMut() -> Result<Archive> + Send;

/// A write that can be made later, whatever of it was made before.
#[derive(Clone, Debug)]
pub(super) enum Write {
    /// A record is to be there.
    Record(ConversationRecordInput),
    /// A record is to change.
    Change(ConversationId, ConversationRecordMutation),
}

impl Write {
    fn is_of(&self, id: ConversationId) -> bool {
        match self {
            Self::Record(record) => record.conversation_id.parse().is_ok_and(|own: ConversationId| own == id),
            Self::Change(own, _) => *own == id,
        }
    }

    fn make(&self, archive: &Archive) -> Result<()> {
        match self {
            Self::Record(record) => {
                let id = record.conversation_id.parse()?;
                write::commit(archive, id, record)?;
                snapshot::forget(archive, id)
            }
            // The version was looked at when it was asked for.
            Self::Change(id, mutation) => write::change(
                archive,
                *id,
                &ConversationRecordMutation { blob_version: None, ..mutation.clone() },
                &|_| (),
            ),
        }
    }
}

impl ConversationStorageService {
    /// Sets how to open the store again. A store whose file system failed once takes no more until that is done.
    #[must_use]
    pub fn reopening(self, open: impl FnMut() -> Result<Archive> + Send + 'static) -> Self {
        self.waiting().reopen = Some(Box::new(open));
        self
    }

    /// Sets how to find out how many bytes may still be written, so that little room is told before there is none.
    #[must_use]
    pub fn watching_room(self, room: impl Fn() -> Option<u64> + Send + 'static) -> Self {
        self.waiting().strains.watch_room(room);
        self
    }

    /// How many writes wait for room.
    pub fn waiting_writes(&self) -> usize {
        self.waiting().writes.len()
    }

    /// Makes the writes that wait for room, in order, and returns how many are left. A purge does this too.
    ///
    /// One that cannot be made for another reason, such as a record that is gone, is dropped.
    pub fn retry(&self) -> Result<usize> {
        let archive = self.opened()?;
        loop {
            let Some(first) = self.waiting().writes.front().cloned() else { return Ok(0) };
            match first.make(&archive) {
                Err(error) if is_for_want_of_room(&error) => {
                    self.note_failure(&error);
                    return Ok(self.waiting_writes());
                }
                Err(error) => tracing::warn!(?error, "a write that waited cannot be made"),
                Ok(()) => {}
            }
            self.waiting().writes.pop_front();
        }
    }

    /// Makes a write, or lets it wait when there is no room for it.
    pub(super) fn write(
        &self,
        id: ConversationId,
        later: impl FnOnce() -> Write,
        work: impl FnOnce(&Archive) -> Result<()>,
    ) -> Result<()> {
        if self.waiting_writes() > 0 {
            self.try_waiting();
        }
        if self.waiting().writes.iter().any(|write| write.is_of(id)) {
            self.waiting().writes.push_back(later());
            return Err(Error::new(ErrorKind::Unavailable, FULL));
        }
        let archive = match self.opened() {
            Ok(archive) => archive,
            Err(error) => return Err(self.wait_if_full(error, later)),
        };
        let begun = archive.now();
        if let Err(error) = work(&archive) {
            return Err(self.wait_if_full(error, later));
        }
        let took = archive.now().as_micros() - begun.as_micros();
        let mut waiting = self.waiting();
        waiting.strains.wrote(Duration::from_micros(u64::try_from(took).unwrap_or(0)));
        archive.tell_strains(&mut waiting.strains, id);
        Ok(())
    }

    /// Lets a write wait if it failed for want of room; what its caller is told either way.
    fn wait_if_full(&self, error: Error, later: impl FnOnce() -> Write) -> Error {
        self.note_failure(&error);
        if !is_for_want_of_room(&error) {
            return error;
        }
        self.waiting().writes.push_back(later());
        error.during(FULL)
    }

    /// Makes what waits, as far as it goes.
    pub(super) fn try_waiting(&self) {
        if let Err(error) = self.retry() {
            tracing::warn!(?error, "what waits for room could not be tried again");
        }
    }

    pub(super) fn note_failure(&self, error: &Error) {
        let mut waiting = self.waiting();
        waiting.is_store_in_doubt |= error.kind() == ErrorKind::Unavailable;
        waiting.strains.failed(error);
    }

    /// Drops the writes of a record that is to go.
    pub(super) fn forget_writes(&self, id: ConversationId) {
        self.waiting().writes.retain(|write| !write.is_of(id));
    }

    /// Drops every write.
    pub(super) fn forget_all_writes(&self) {
        self.waiting().writes.clear();
    }

    /// The archive, opened again if its store failed and somebody said how.
    ///
    /// It is closed before: what a process knows of a file, SQLite shares among its connections. While it cannot be opened
    /// this is an error, so that nothing is written to the empty store that stands there.
    pub(super) fn opened(&self) -> Result<Archive> {
        let mut waiting = self.waiting();
        let mut archive = self.archive.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.is_store_in_doubt
            && let Some(open) = &mut waiting.reopen
        {
            *archive = Archive::with_store(StoreUrl::Memory.open()?);
            *archive = open()?;
            waiting.is_store_in_doubt = false;
        }
        Ok(archive.clone())
    }
}

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting").field("writes", &self.writes).finish_non_exhaustive()
    }
}
