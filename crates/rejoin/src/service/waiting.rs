//! Writes for which there was no room: they wait here, in order, and are made once a purge has freed some.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fmt;
use std::sync::{MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use crate::archive::{Archive, Breaker, Strains, is_for_want_of_room, is_in_doubt};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{ConversationId, Digest, Time};
use crate::service::{
    ConversationRecordInput, ConversationRecordMutation, ConversationStorageService, snapshot, write,
};

/// What a caller is told whose write waits.
const FULL: &str = "there is no room left to save; the record waits and is saved once some space is free";

/// What a caller is told whose write cannot wait: the version it names could not be looked at.
const BEHIND: &str =
    "there is no room left to save; a change of a certain version cannot wait, so make it again later";

/// What a caller is told whose write cannot wait, because so much does.
const TOO_MUCH: &str = "there is no room left to save, and too much waits for some; make it again later";

/// What a caller is told whose record was purged before its write could wait.
const PURGED: &str = "there is no room left to save; the record was purged meanwhile, so nothing waits";

/// So many bytes may wait: a few of the largest records, or the talks of a day.
const MOST_BYTES: usize = 64 << 20;

/// What waits, and what nobody was told yet.
#[derive(Default)]
pub(super) struct WaitingWrites {
    writes: VecDeque<Waiter>,
    /// The writes that are being made for their callers. A purge strikes those
    /// of its record, which then do not wait.
    under_way: BTreeMap<Ticket, ConversationId>,
    last_ticket: Ticket,
    pub(super) strains: Strains,
    breaker: Breaker,
    /// True when there was no room at the last failure.
    is_full: bool,
    reopen: Option<Box<ReopenService>>,
    is_store_in_doubt: bool,
}

type ReopenService = dyn FnMut() -> Result<Archive> + Send;

/// Tells one write from another.
type Ticket = u64;

/// A write that was noted.
enum Begun {
    /// It is to be made.
    Now(Ticket),
    /// It has to wait.
    Later(Ticket),
}

/// A write that waits.
#[derive(Clone, Debug)]
struct Waiter {
    ticket: Ticket,
    id: ConversationId,
    write: PendingWrite,
    /// How many bytes it has, as it would be written.
    bytes: usize,
}

impl WaitingWrites {
    fn issue(&mut self) -> Ticket {
        self.last_ticket += 1;
        self.last_ticket
    }

    fn is_waiting(&self, id: ConversationId) -> bool {
        self.writes.iter().any(|one| one.id == id)
    }

    /// Lets a write wait, unless the last one of its record that waits is the same.
    /// Tells its caller what becomes of it.
    fn push(&mut self, ticket: Ticket, id: ConversationId, write: PendingWrite) -> &'static str {
        if self.writes.iter().rfind(|one| one.id == id).is_some_and(|last| last.write == write) {
            return FULL;
        }
        let (bytes, held) = (write.bytes(), self.writes.iter().map(|one| one.bytes).sum::<usize>());
        if held.saturating_add(bytes) > MOST_BYTES {
            return TOO_MUCH;
        }
        self.writes.push_back(Waiter { ticket, id, write, bytes });
        FULL
    }

    fn succeeded(&mut self) {
        self.breaker.succeeded();
        self.is_full = false;
    }
}

/// A write that can be made later, whatever of it was made before.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PendingWrite {
    /// A record is to be new.
    Create(ConversationRecordInput),
    /// A record is to be there, in place of this snapshot of its session.
    Commit(ConversationRecordInput, Option<Digest>),
    /// A record is to change.
    Change(ConversationId, ConversationRecordMutation),
}

impl PendingWrite {
    const fn names_version(&self) -> bool {
        matches!(self, Self::Change(_, ConversationRecordMutation { blob_version: Some(_), .. }))
    }

    fn bytes(&self) -> usize {
        let written = match self {
            Self::Create(record) | Self::Commit(record, _) => serde_json::to_vec(record),
            Self::Change(_, mutation) => serde_json::to_vec(mutation),
        };
        written.expect("a record is plain data").len()
    }

    fn make(&self, archive: &Archive) -> Result<()> {
        match self {
            Self::Create(record) => write::create(archive, record.conversation_id.parse()?, record),
            Self::Commit(record, seen) => {
                let id = record.conversation_id.parse()?;
                write::commit(archive, id, record)?;
                // The session may have gone on meanwhile, and then it has another.
                if seen.is_some() && snapshot::digest(archive, id)? == *seen {
                    snapshot::forget(archive, id)?;
                }
                Ok(())
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
    /// Sets how to open the store again. A store whose file system failed once
    /// takes no more until that is done.
    #[must_use]
    pub fn reopening(self, open: impl FnMut() -> Result<Archive> + Send + 'static) -> Self {
        self.waiting().reopen = Some(Box::new(open));
        self
    }

    /// Sets how to find out how many bytes may still be written, so that little
    /// room is told before there is none.
    #[must_use]
    pub fn watching_room(self, room: impl Fn() -> Option<u64> + Send + 'static) -> Self {
        self.waiting().strains.watch_room(room);
        self
    }

    /// How many writes wait for room.
    pub fn waiting_writes(&self) -> usize {
        self.waiting().writes.len()
    }

    /// Makes the writes that wait for room, in order, however recently the store failed, and returns how
    /// many are left. A purge does this too.
    ///
    /// A change of a record that is gone is dropped. Whatever else cannot be made goes on
    /// waiting, before what waits for the same record; the others are made, and the first error
    /// that is not for want of room is returned.
    pub fn retry(&self) -> Result<usize> {
        self.make_waiting(&|| Some(self.alone()))
    }

    /// Makes what waits before the program ends, as [`ConversationStorageService::retry`]
    /// does. What is on disk needs nothing.
    ///
    /// An error says how many writes could not be stored. They wait on, and are lost with the service:
    /// whoever can frees some space and closes again.
    pub fn close(&self) -> Result<()> {
        let tried = self.retry();
        let left = self.waiting_writes();
        if left == 0 {
            return Ok(());
        }
        let told =
            format!("of the writes that wait, {left} could not be stored and are lost with the service");
        Err(match tried {
            Ok(_) => Error::new(ErrorKind::Unavailable, told),
            Err(error) => error.during(told),
        })
    }

    /// Makes what waits, one write at a time, each while nobody else makes one or
    /// purges. Stops where `alone` gives nothing.
    fn make_waiting<'a>(&'a self, alone: &dyn Fn() -> Option<MutexGuard<'a, ()>>) -> Result<usize> {
        let (mut tried, mut held, mut refused) = (HashSet::new(), HashSet::new(), None);
        while let Some(_alone) = alone() {
            let is_next = |one: &&Waiter| !tried.contains(&one.ticket) && !held.contains(&one.id);
            let Some(next) = self.waiting().writes.iter().find(is_next).cloned() else { break };
            tried.insert(next.ticket);
            match self.opened().and_then(|archive| next.write.make(&archive)) {
                Ok(()) => self.waiting().succeeded(),
                Err(error) if error.kind() == ErrorKind::Unavailable => {
                    self.note_failure(&error);
                    if !is_for_want_of_room(&error) {
                        refused.get_or_insert(error);
                    }
                    break;
                }
                Err(error)
                    if error.kind() == ErrorKind::NotFound
                        && matches!(next.write, PendingWrite::Change(..)) =>
                {
                    tracing::warn!(record = %next.id, "a change waited for a record that is gone");
                }
                Err(error) => {
                    held.insert(next.id);
                    refused.get_or_insert(error);
                    continue;
                }
            }
            self.waiting().writes.retain(|one| one.ticket != next.ticket);
        }
        refused.map_or_else(|| Ok(self.waiting_writes()), Err)
    }

    /// Makes a write, or lets it wait when there is no room for it.
    ///
    /// A store that failed is left alone for a while: what is to wait does, and
    /// for the rest it is an error at once.
    pub(super) fn write(
        &self,
        id: ConversationId,
        later: impl FnOnce() -> PendingWrite,
        work: impl FnOnce(&Archive) -> Result<()>,
    ) -> Result<()> {
        let begun = (self.clock)();
        if self.waiting().breaker.allows(begun) && self.waiting_writes() > 0 {
            log_failure(self.make_waiting(&|| self.alone_at_once()));
        }
        let ticket = match self.begin_write(id, begun)? {
            Begun::Now(ticket) => ticket,
            Begun::Later(ticket) => {
                let write = later();
                let told = if write.names_version() { BEHIND } else { self.let_wait(ticket, id, write) };
                self.waiting().under_way.remove(&ticket);
                return Err(Error::new(ErrorKind::Unavailable, told));
            }
        };
        let made = self.opened().and_then(|archive| work(&archive).map(|()| archive));
        let archive = match made {
            Ok(archive) => archive,
            Err(error) => {
                self.note_failure(&error);
                let is_to_wait = is_for_want_of_room(&error);
                let error = if is_to_wait { error.during(self.let_wait(ticket, id, later())) } else { error };
                self.waiting().under_way.remove(&ticket);
                return Err(error);
            }
        };
        self.waiting().under_way.remove(&ticket);
        let took = archive.now().as_micros() - begun.as_micros();
        let mut waiting = self.waiting();
        waiting.succeeded();
        waiting.strains.wrote(Duration::from_micros(u64::try_from(took).unwrap_or(0)));
        archive.tell_strains(&mut waiting.strains, id);
        Ok(())
    }

    /// Notes that a write is being made, now or later, unless the store is left alone.
    fn begin_write(&self, id: ConversationId, now: Time) -> Result<Begun> {
        let mut waiting = self.waiting();
        let (ticket, pause) = (waiting.issue(), waiting.breaker.pause(now));
        let has_to_wait = waiting.is_waiting(id) || (waiting.is_full && !pause.is_zero());
        if !has_to_wait && !pause.is_zero() {
            let told = format!("the store failed and is left alone for `{}` ms", pause.as_millis());
            return Err(Error::new(ErrorKind::Unavailable, told));
        }
        waiting.under_way.insert(ticket, id);
        Ok(if has_to_wait { Begun::Later(ticket) } else { Begun::Now(ticket) })
    }

    /// Lets a write wait that was begun, unless its record was purged meanwhile.
    /// Tells its caller what becomes of it.
    fn let_wait(&self, ticket: Ticket, id: ConversationId, write: PendingWrite) -> &'static str {
        let mut waiting = self.waiting();
        if waiting.under_way.remove(&ticket).is_none() {
            return PURGED;
        }
        waiting.push(ticket, id, write)
    }

    /// Makes what waits, as far as it goes.
    pub(super) fn try_waiting(&self) {
        log_failure(self.retry());
    }

    pub(super) fn note_failure(&self, error: &Error) {
        let now = (self.clock)();
        let mut waiting = self.waiting();
        if error.kind() == ErrorKind::Unavailable {
            waiting.is_store_in_doubt |= is_in_doubt(error);
            waiting.breaker.failed(now);
            waiting.is_full = is_for_want_of_room(error);
        }
        waiting.strains.failed(error);
    }

    /// Waits until no write that waited is being made, nor a purge: then nothing comes back that is purged.
    pub(super) fn alone(&self) -> MutexGuard<'_, ()> {
        self.making.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, or none when it would have to wait: somebody else makes what waits then.
    fn alone_at_once(&self) -> Option<MutexGuard<'_, ()>> {
        match self.making.try_lock() {
            Ok(alone) => Some(alone),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Drops the writes of a record that is to go. The answer is to be held until it is gone.
    pub(super) fn forget_writes(&self, id: ConversationId) -> MutexGuard<'_, ()> {
        let mut waiting = self.waiting();
        waiting.writes.retain(|one| one.id != id);
        waiting.under_way.retain(|_, own| *own != id);
        drop(waiting);
        self.alone()
    }

    /// Drops every write. The answer is to be held until everything is gone.
    pub(super) fn forget_all_writes(&self) -> MutexGuard<'_, ()> {
        let mut waiting = self.waiting();
        waiting.writes.clear();
        waiting.under_way.clear();
        drop(waiting);
        self.alone()
    }

    /// The records that a write is to change, now or later.
    pub(super) fn awaited(&self) -> Vec<ConversationId> {
        let waiting = self.waiting();
        waiting.writes.iter().map(|one| one.id).chain(waiting.under_way.values().copied()).collect()
    }

    /// The archive, opened again if its store failed and somebody said how.
    ///
    /// It is closed before: what a process knows of a file, SQLite shares among its connections.
    /// While it cannot be opened there is none.
    pub(super) fn opened(&self) -> Result<Archive> {
        let mut waiting = self.waiting();
        let mut archive = self.archive.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.is_store_in_doubt
            && let Some(open) = &mut waiting.reopen
        {
            *archive = None;
            *archive = Some(open()?);
            waiting.is_store_in_doubt = false;
        }
        let closed = || Error::new(ErrorKind::Unavailable, "the store failed and was not opened again");
        archive.clone().ok_or_else(closed)
    }
}

fn log_failure(tried: Result<usize>) {
    if let Err(error) = tried {
        tracing::warn!(?error, "some of what waits could not be made");
    }
}

impl fmt::Debug for WaitingWrites {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting").field("writes", &self.writes).finish_non_exhaustive()
    }
}
