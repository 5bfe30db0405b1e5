//! New conversations that wait to be stored together.
//!
//! A commit writes whole pages and syncs, so a small conversation on its own costs many times its bytes. One
//! that is new, and read to its end, waits here for others, also of other sources; anything else is stored at
//! once. What waits is bounded in number and in bytes.
//!
//! Nothing that waits counts as imported: whoever tells that a source was imported asks
//! [`ImportQueue::first_waiting`] before. An import looks for a conversation with
//! [`ImportDestination::row_of`], which stores what waits of it first.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};

use crate::error::{Error, ErrorKind, Result};
use crate::model::{ConversationId, Time};
use crate::ops::import::ImportDestination;
use crate::ops::import::activity::Dating;
use crate::ops::import::batch::{Creation, ImportBatch, TurnParts};
use crate::ops::import::header::row_of;
use crate::store::{Facets, Row, Store, Turn};

/// So many conversations are one commit. Their ids are spread over the indexes of a store, so that small
/// commits write a page for nearly every one.
const CONVERSATIONS: usize = 10_000;

/// So many bytes are one commit: a quarter of the memory that an import may take, because
/// a store holds most of them once more.
const BYTES: usize = 24 << 20;

/// What a conversation takes beside what it says and its header, while it waits and while it is stored: its
/// ids, room in lists, the parts of a turn.
const OVERHEAD: usize = 4 << 10;

/// A conversation with more bytes than this is stored at once: its own bytes
/// are most of what its commit writes.
const SMALL: usize = 1 << 20;

/// New conversations that wait to be stored together.
#[derive(Default)]
pub(crate) struct ImportQueue {
    waiting: RefCell<WaitingConversations>,
}

#[derive(Default)]
struct WaitingConversations {
    /// In the order they were read, with the numbers of their sources.
    wholes: Vec<(usize, WholeConversation)>,
    ids: HashSet<ConversationId>,
    bytes: usize,
    /// How many sources there were.
    sources: usize,
    /// Why conversations of a source were not stored, by its number: the first reason.
    refused: BTreeMap<usize, Error>,
}

/// A new conversation with everything that its source has of it.
pub(super) struct WholeConversation {
    pub(super) id: ConversationId,
    pub(super) facets: Facets,
    pub(super) header: String,
    pub(super) created: Time,
    pub(super) now: Time,
    pub(super) batch: ImportBatch,
}

impl WholeConversation {
    fn bytes(&self) -> usize {
        self.batch.bytes() + self.header.len()
    }

    fn parts(&self) -> TurnParts<'_> {
        self.batch.parts(self.id, &[])
    }

    fn turn<'a>(&'a self, parts: &'a TurnParts<'a>) -> Turn<'a> {
        let creation = Creation { facets: &self.facets, header: &self.header, created: self.created };
        self.batch.turn(parts, self.id, Some(creation), Dating::BySource, self.now)
    }
}

impl ImportQueue {
    /// Begins another source, and returns its number. What is added from now on is of this one.
    pub(crate) fn begin_source(&self) -> usize {
        let mut waiting = self.waiting.borrow_mut();
        waiting.sources += 1;
        waiting.sources
    }

    /// The first source of which something waits. All before it are stored, as far as they are not refused.
    pub(crate) fn first_waiting(&self) -> Option<usize> {
        self.waiting.borrow().wholes.first().map(|(source, _)| *source)
    }

    /// Why something of a source was not stored, if that is so.
    pub(crate) fn take_refusal(&self, source: usize) -> Option<Error> {
        self.waiting.borrow_mut().refused.remove(&source)
    }

    /// Has a conversation wait. An error is of the source that it is from.
    pub(super) fn add(&self, store: &dyn Store, mut whole: WholeConversation) -> Result<()> {
        whole.batch.rest();
        let is_full = {
            let mut waiting = self.waiting.borrow_mut();
            waiting.bytes += whole.bytes() + OVERHEAD;
            waiting.ids.insert(whole.id);
            let source = waiting.sources;
            waiting.wholes.push((source, whole));
            waiting.wholes.len() >= CONVERSATIONS || waiting.bytes >= BYTES
        };
        if is_full { self.flush_in_source(store) } else { Ok(()) }
    }

    /// Stores what waits. What cannot be stored is a refusal of its source.
    pub(crate) fn flush(&self, store: &dyn Store) {
        let mut wholes = {
            let mut waiting = self.waiting.borrow_mut();
            (waiting.bytes, waiting.ids) = (0, HashSet::new());
            std::mem::take(&mut waiting.wholes)
        };
        if wholes.is_empty() {
            return;
        }
        // In the order of an index each page of it is changed once.
        wholes.sort_by_key(|(_, whole)| whole.id);
        let parts: Vec<TurnParts<'_>> = wholes.iter().map(|(_, whole)| whole.parts()).collect();
        let turns: Vec<Turn<'_>> =
            wholes.iter().zip(&parts).map(|((_, whole), parts)| whole.turn(parts)).collect();
        let sources = wholes.iter().map(|(source, _)| *source);
        match store.append_all(&turns) {
            Ok(_) => {}
            // One of them is at fault. On its own each gets its own answer, and the others are stored.
            Err(error) if is_of_turn(&error) => {
                let each = turns.iter().zip(sources);
                each.for_each(|(turn, source)| self.note(source, store.append(turn).map(drop)));
            }
            Err(error) => {
                let kind = error.kind();
                self.note(sources.clone().min().unwrap_or_default(), Err(error));
                sources.for_each(|source| self.note(source, Err(Error::new(kind, "store what was read"))));
            }
        }
    }

    /// Stores what waits, while a source is read. An error is of this source.
    fn flush_in_source(&self, store: &dyn Store) -> Result<()> {
        self.flush(store);
        let source = self.waiting.borrow().sources;
        self.take_refusal(source).map_or(Ok(()), Err)
    }

    fn note(&self, source: usize, stored: Result<()>) {
        if let Err(error) = stored {
            self.waiting.borrow_mut().refused.entry(source).or_insert(error);
        }
    }
}

/// True when a conversation with these messages and this header is worth waiting for others.
pub(super) const fn is_small(batch: &ImportBatch, header: &str) -> bool {
    batch.bytes() + header.len() <= SMALL
}

/// True when a turn is refused, and not the store at fault.
fn is_of_turn(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Conflict | ErrorKind::NotFound | ErrorKind::Invalid)
}

impl ImportDestination<'_> {
    /// The conversation as the store has it, once nothing of it waits.
    pub(super) fn row_of(&self, id: ConversationId) -> Result<Option<Row>> {
        let waits = self.queue.waiting.borrow().ids.contains(&id);
        if waits {
            self.queue.flush_in_source(self.store)?;
        }
        row_of(self.store, id)
    }
}
