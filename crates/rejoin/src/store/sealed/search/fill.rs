//! Fills the search index after the append, in slices.
//!
//! The log of changes says where to look, so that catching up costs what is new. A stamp is kept up to which
//! everything was looked at; losing it costs a look at every conversation, and nothing else.

use std::collections::{HashMap, VecDeque};
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{ErrorKind, Result};
use crate::model::{ConversationId, WORDS_VERSION};
use crate::store::backend::{Backend as _, Batch, CommitHint};
use crate::store::body::Searchable;
use crate::store::index::{DraftSegment, Ids, merge};
use crate::store::sealed::batch::Attempts;
use crate::store::sealed::keys::data_key::KeyUse;
use crate::store::sealed::keys::key_cache::{OpenError, OwnerKeys};
use crate::store::sealed::rows::SealedRows;
use crate::store::sealed::scan::{ScanNext, Scanned};
use crate::store::sealed::search::segments::{IndexCoverage, NewSegment, SegmentChain};
use crate::store::sealed::{SEGMENTS, Sealed};
use crate::store::{BlobNames, Order, Progress, Put, Safety, Selection, Stamp, What};

/// How much sealed text one slice takes before others get a turn: tens of milliseconds.
const SLICE: u64 = 1 << 20;

/// Words of segments are merged up to this size, so that neither merging nor looking up takes long at once.
const LARGEST: usize = 1 << 20;

/// The blob, without owner, that holds how far everything was looked at.
pub(crate) const REACHED: &[u8] = b"words";

pub(crate) const REACHED_CONTEXT: &str = "rejoin/vault/reached/1\n";

/// The form of that blob.
const FORM: u8 = 1;

/// What stands before the stamp in it: the form, and what counts as a word.
fn reached_head() -> [u8; 5] {
    let [a, b, c, d] = WORDS_VERSION.to_be_bytes();
    [FORM, a, b, c, d]
}

/// What is left to index.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    /// Changes up to here are in the queue, or done; none before the first look.
    reached: Option<Stamp>,
    /// What the inner store was last told.
    kept: Option<Stamp>,
    /// With the first change of each that was not looked at.
    queue: VecDeque<(Stamp, ConversationId)>,
    waiting: HashMap<ConversationId, UnindexedConversation>,
}

/// What is wrong with the segments of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SegmentDoubt {
    /// They do not cover all of it.
    Behind,
    /// They do not fit it, or do not open.
    Unfit,
}

/// A conversation, by its inner name, that may have messages that are not indexed.
#[derive(Debug)]
struct UnindexedConversation {
    /// How many messages there are to index, at most.
    left: u64,
    /// True when its segments may say what is not so any more.
    is_stale: bool,
}

impl Backlog {
    /// Adds a conversation behind the others, unless it is among them.
    fn add(&mut self, inner: ConversationId, since: Stamp, left: u64) -> &mut UnindexedConversation {
        let queue = &mut self.queue;
        self.waiting.entry(inner).or_insert_with(|| {
            queue.push_back((since, inner));
            UnindexedConversation { left: left.max(1), is_stale: false }
        })
    }

    /// The conversation to look at next, and whether its segments have to be made anew.
    fn first(&self) -> Option<(ConversationId, bool)> {
        let (_, inner) = *self.queue.front()?;
        Some((inner, self.waiting.get(&inner).is_some_and(|waiting| waiting.is_stale)))
    }

    /// Notes what was done of the first.
    fn went(&mut self, sliced: &Sliced) {
        let Some((_, inner)) = self.queue.front().copied() else { return };
        if sliced.left == 0 {
            self.queue.pop_front();
            self.waiting.remove(&inner);
        } else {
            self.waiting.insert(inner, UnindexedConversation { left: sliced.left, is_stale: false });
        }
    }

    /// Everything up to here was looked at.
    fn done(&self) -> Option<Stamp> {
        let reached = self.reached?;
        let first = self.queue.iter().map(|(since, _)| since.saturating_sub(1)).min();
        Some(first.map_or(reached, |first| first.min(reached)))
    }
}

/// What one slice did.
struct Sliced {
    done: u64,
    left: u64,
}

const FINISHED: Sliced = Sliced { done: 0, left: 0 };

impl Sealed {
    /// Indexes what is not indexed yet, a slice at a time, until the budget is spent.
    pub(crate) fn fill_index(&self, budget: Duration) -> Result<Progress> {
        let until = Instant::now().checked_add(budget);
        let mut backlog = self.backlog();
        self.look_for_changes(&mut backlog)?;
        let mut done = 0;
        while let Some((inner, is_stale)) = backlog.first() {
            if is_stale {
                self.forget_stale(inner)?;
            }
            let sliced = self.index_slice(inner)?;
            done += sliced.done;
            backlog.went(&sliced);
            if until.is_some_and(|until| Instant::now() >= until) {
                break;
            }
        }
        self.keep_reached(&mut backlog)?;
        let left = backlog.waiting.values().map(|waiting| waiting.left).sum();
        tracing::debug!(done, left, "search index filled");
        Ok(Progress { done, left, ..Progress::default() })
    }

    /// Notes what is wrong with a conversation's segments, for the next time the index is filled.
    pub(crate) fn suspect(&self, inner: ConversationId, doubt: SegmentDoubt) {
        // Whoever fills the index at this moment need not be waited for.
        if let Ok(mut backlog) = self.backlog.try_lock() {
            // No change says so.
            backlog.add(inner, Stamp::MAX, 1).is_stale |= doubt == SegmentDoubt::Unfit;
        }
    }

    fn backlog(&self) -> MutexGuard<'_, Backlog> {
        self.backlog.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look_for_changes(&self, backlog: &mut Backlog) -> Result<()> {
        let mut reached = match backlog.reached {
            Some(reached) => reached,
            None => self.read_reached()?,
        };
        backlog.kept.get_or_insert(reached);
        loop {
            let changes = self.inner.changes(reached, Duration::ZERO)?;
            let Some(newest) = changes.last() else { break };
            reached = newest.stamp;
            for change in changes {
                match change.what {
                    What::Stored { messages } => {
                        backlog.add(change.conversation, change.stamp, messages);
                    }
                    What::Trimmed { .. } | What::Rewritten => {
                        backlog.add(change.conversation, change.stamp, 1).is_stale = true;
                    }
                    // Segments say nothing of what is changed so, and those of one that is gone went with it.
                    What::Changed | What::Deleted { .. } => {}
                }
            }
        }
        backlog.reached = Some(reached);
        Ok(())
    }

    /// Erases segments that may say what is not so any more; those of a conversation that is gone are gone.
    fn forget_stale(&self, inner: ConversationId) -> Result<()> {
        match self.forget_segments(inner) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            forgotten => forgotten,
        }
    }

    /// How far everything was looked at, as it is stored. What does not open says nothing.
    fn read_reached(&self) -> Result<Stamp> {
        let mut sealed = None;
        self.inner.get(SEGMENTS, None, BlobNames::One(REACHED), &mut |_, bytes| {
            sealed = Some(bytes.to_vec());
            Ok(())
        })?;
        let Some(mut sealed) = sealed else { return Ok(0) };
        let mut keys = self.key_cache.owner_keys(None);
        let inside = match keys.open(KeyUse::Blobs, REACHED_CONTEXT, &[], &mut sealed) {
            Ok(inside) => inside,
            Err(OpenError::Broken(_)) => return Ok(0),
            Err(OpenError::Failed(error)) => return Err(error),
        };
        let stamp = inside.split_first_chunk::<5>().filter(|(head, _)| **head == reached_head());
        Ok(stamp.and_then(|(_, stamp)| stamp.try_into().ok()).map_or(0, Stamp::from_be_bytes))
    }

    fn keep_reached(&self, backlog: &mut Backlog) -> Result<()> {
        let done = backlog.done();
        if done == backlog.kept {
            return Ok(());
        }
        let Some(stamp) = done else { return Ok(()) };
        let attempts = Attempts::new();
        let hint = CommitHint { attempt: "store blobs", ..CommitHint::default() };
        self.backend.commit(&hint, Safety::Unsynced, &mut |rows| {
            let keys = SealedRows::new(self, rows).keys(None);
            let keys = keys.map_err(|failure| failure.of("the key of what belongs to no conversation"))?;
            let inside: [&[u8]; 2] = [&reached_head(), &stamp.to_be_bytes()];
            let sealed: &Vec<u8> =
                attempts.keep(keys.newest().seal(KeyUse::Blobs, REACHED_CONTEXT, &[], &inside));
            let put = Put { space: SEGMENTS, owner: None, name: REACHED, bytes: Some(sealed) };
            Ok(Batch { blobs: vec![put].into(), ..Batch::NOTHING })
        })?;
        backlog.kept = done;
        Ok(())
    }

    /// Indexes the next messages of a conversation. One that is gone or cannot be opened is finished.
    fn index_slice(&self, inner: ConversationId) -> Result<Sliced> {
        match self.try_slice(inner) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Corrupt) => {
                tracing::debug!(%error, "a conversation is not indexed");
                Ok(FINISHED)
            }
            sliced => sliced,
        }
    }

    fn try_slice(&self, inner: ConversationId) -> Result<Sliced> {
        let Some(kept) = self.extent_now(inner)? else { return Ok(FINISHED) };
        let mut owner_keys = self.key_cache.owner_keys(Some(inner));
        let mut chain = self.chain_of(inner, &mut owner_keys)?;
        if chain.is_broken {
            self.forget_segments(inner)?;
            chain = SegmentChain::default();
        }
        if chain.extent() == kept {
            return Ok(FINISHED);
        }
        let draft = match self.draft_after(inner, &mut owner_keys, &chain, kept)? {
            Some(draft) => draft,
            None => {
                // Messages were removed or rewritten: what is indexed of the
                // conversation may no longer be so.
                self.forget_segments(inner)?;
                chain = SegmentChain::default();
                let draft = self.draft_after(inner, &mut owner_keys, &chain, kept)?;
                draft.unwrap_or_else(|| DraftSegment::after(0))
            }
        };
        let done = u64::from(draft.span().messages);
        let Some((ids, words)) = draft.finish() else { return Ok(FINISHED) };
        self.store_merged(inner, &mut owner_keys, &mut chain, ids, words)?;
        // Somebody may have removed messages since they were read. Their words must not stay.
        let now = self.extent_now(inner)?.unwrap_or_default();
        let covered = chain.extent().messages;
        if covered > now.messages {
            self.forget_segments(inner)?;
            return Ok(Sliced { done, left: now.messages });
        }
        Ok(Sliced { done, left: now.messages - covered })
    }

    /// How much the inner store has of a conversation; none when it is gone.
    pub(crate) fn extent_now(&self, inner: ConversationId) -> Result<Option<IndexCoverage>> {
        Ok(self.raw_rows(Some(&[inner]))?.first().map(IndexCoverage::of))
    }

    /// A segment of the messages after those that are covered; none when the
    /// segments do not fit the messages.
    fn draft_after(
        &self,
        inner: ConversationId,
        owner_keys: &mut OwnerKeys<'_>,
        chain: &SegmentChain,
        kept: IndexCoverage,
    ) -> Result<Option<DraftSegment>> {
        let (covered, extent) = (chain.covered(), chain.extent());
        if covered > 0 && (extent.messages >= kept.messages || extent.bytes > kept.bytes) {
            return Ok(None);
        }
        // The last message that is covered comes first, to see that it is still where it was.
        let offset = extent.messages.saturating_sub(1);
        let mut fits = covered == 0;
        let mut draft = DraftSegment::after(covered);
        let all = Selection::All { order: Order::OldestFirst, offset, limit: u64::MAX };
        self.scan(inner, owner_keys, all, &mut |Scanned { seq, id, body, size }| {
            if seq <= covered {
                fits = seq == covered;
                return if fits { ScanNext::Go } else { ScanNext::Stop };
            }
            if !fits {
                return ScanNext::Stop;
            }
            let said = body.and_then(Searchable::of);
            let (text, time) = said.map(|said| (said.text, said.time)).unwrap_or_default();
            draft.add(seq, id, time, &text, size);
            if draft.span().bytes < SLICE { ScanNext::Go } else { ScanNext::Stop }
        })?;
        Ok(fits.then_some(draft))
    }

    /// Stores a segment, merged with those before it that are not much larger: so there are few, and
    /// a message is merged a few times only.
    fn store_merged(
        &self,
        inner: ConversationId,
        owner_keys: &mut OwnerKeys<'_>,
        chain: &mut SegmentChain,
        mut ids: Ids,
        mut words: Vec<u8>,
    ) -> Result<()> {
        let mut replaced = Vec::new();
        while let Some(before) = chain.segments.last() {
            if before.span.messages / 2 > ids.span.messages {
                break;
            }
            let Some(older) = self.words_of(inner, owner_keys, before)? else { break };
            if older.len() + words.len() > LARGEST {
                break;
            }
            words = merge(&older, &words)?;
            let before = chain.segments.pop().expect("it was just looked at");
            replaced.push(before.span.first);
            ids = before.join(&ids)?;
        }
        let fresh = NewSegment { ids: &ids, words: &words, replaced: &replaced };
        loop {
            let keys = self.keys_of(None, Some(inner))?;
            match self.put_segment(inner, keys.newest(), &fresh) {
                // The keys at hand are those that were found instead.
                Err(error) if error.kind() == ErrorKind::Conflict => {}
                put => break put?,
            }
        }
        chain.segments.push(ids);
        Ok(())
    }
}
