//! The segments of a conversation's search index: sealed, in the inner store.
//!
//! They can be made again at any time. So a segment that does not open, or does not follow on, counts as
//! absent, and whoever reads them compares what they cover with what the inner store counts.

use crate::error::Result;
use crate::model::{ConversationId, WordQuery};
use crate::store::backend::ConversationRow;
use crate::store::index::{Ids, IndexedMessage, Words};
use crate::store::sealed::keys::data_key::{DataKey, KeyUse};
use crate::store::sealed::keys::key_cache::{OpenError, OwnerKeys};
use crate::store::sealed::search::fill::SegmentDoubt;
use crate::store::sealed::{SEGMENTS, Sealed};
use crate::store::{BlobNames, Put, Safety, Store as _};

const SEGMENT: &str = "rejoin/vault/segment/1\n";

/// How the names of both blobs of a segment begin.
pub(crate) const IDS: &[u8] = b"ids";
pub(crate) const WORDS: &[u8] = b"words";

/// How much the inner store keeps of a conversation, or segments cover of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct IndexCoverage {
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
}

impl IndexCoverage {
    /// What the inner store counts.
    pub(crate) const fn of(raw: &ConversationRow) -> Self {
        Self { messages: raw.messages, bytes: raw.bytes }
    }

    /// One message more.
    pub(crate) const fn add(&mut self, bytes: u64) {
        self.messages += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// Segments that follow each other, from the first message.
#[derive(Debug, Default)]
pub(crate) struct SegmentChain {
    pub(crate) segments: Vec<Ids>,
    /// True when there is something beside them that does not open or does not follow.
    pub(crate) is_broken: bool,
}

impl SegmentChain {
    /// The last sequence that is covered; 0 when nothing is.
    pub(crate) fn covered(&self) -> u32 {
        self.segments.last().map_or(0, |ids| ids.span.last)
    }

    /// How much is covered.
    pub(crate) fn extent(&self) -> IndexCoverage {
        self.segments.iter().fold(IndexCoverage::default(), |sum, ids| IndexCoverage {
            messages: sum.messages + u64::from(ids.span.messages),
            bytes: sum.bytes.saturating_add(ids.span.bytes),
        })
    }

    /// Adds a segment as it was opened. After one that does not follow, none does.
    fn follow(&mut self, inside: Option<&[u8]>) {
        let next = self.covered().saturating_add(1);
        let ids = inside.and_then(|inside| Ids::read(inside).ok());
        match ids.filter(|ids| ids.span.first == next && !self.is_broken) {
            Some(ids) => self.segments.push(ids),
            None => self.is_broken = true,
        }
    }
}

/// What the segments of a conversation say about a query.
#[derive(Debug, Default)]
pub(crate) struct SegmentMatches {
    pub(crate) chain: SegmentChain,
    /// Messages that have the words, oldest first, if they are still what they were.
    pub(crate) candidates: Vec<IndexedMessage>,
}

/// A segment to store, and those before it that it takes in.
pub(crate) struct NewSegment<'a> {
    pub(crate) ids: &'a Ids,
    pub(crate) words: &'a [u8],
    /// The first sequences of segments that are in it.
    pub(crate) replaced: &'a [u32],
}

impl Sealed {
    /// The segments of a conversation, without their words.
    pub(crate) fn chain_of(
        &self,
        inner: ConversationId,
        owner_keys: &mut OwnerKeys<'_>,
    ) -> Result<SegmentChain> {
        let (mut chain, mut buffer) = (SegmentChain::default(), Vec::new());
        self.inner.get(SEGMENTS, Some(inner), BlobNames::Prefix(IDS), &mut |name, bytes| {
            chain.follow(open(owner_keys, inner, name, bytes, &mut buffer)?);
            Ok(())
        })?;
        Ok(chain)
    }

    /// Looks words up in the segments of a conversation.
    pub(crate) fn look_up_words(
        &self,
        inner: ConversationId,
        owner_keys: &mut OwnerKeys<'_>,
        query: &WordQuery,
    ) -> Result<SegmentMatches> {
        let mut looked = SegmentMatches::default();
        let (mut buffer, mut with_words) = (Vec::new(), 0);
        // In order of name, so that all ids come before the words.
        self.inner.get(SEGMENTS, Some(inner), BlobNames::ALL, &mut |name, bytes| {
            if name.starts_with(IDS) {
                looked.chain.follow(open(owner_keys, inner, name, bytes, &mut buffer)?);
                return Ok(());
            }
            let Some(ids) = looked.chain.segments.get(with_words) else { return Ok(()) };
            if name != words_name(ids.span.first) {
                return Ok(());
            }
            let opened = open(owner_keys, inner, name, bytes, &mut buffer)?;
            let words = opened.and_then(|inside| Words::read(inside).ok());
            let found = words.filter(|words| words.span == ids.span).map(|words| words.matches(query));
            if let Some(Ok(found)) = found {
                looked.candidates.extend(found.iter().filter_map(|seq| ids.of(*seq)));
                with_words += 1;
            }
            Ok(())
        })?;
        // What lacks its words covers nothing.
        looked.chain.is_broken |= with_words < looked.chain.segments.len();
        looked.chain.segments.truncate(with_words);
        Ok(looked)
    }

    /// The words of a segment; none when they are not there or do not open.
    pub(crate) fn words_of(
        &self,
        inner: ConversationId,
        owner_keys: &mut OwnerKeys<'_>,
        ids: &Ids,
    ) -> Result<Option<Vec<u8>>> {
        let (name, mut buffer, mut found) = (words_name(ids.span.first), Vec::new(), None);
        self.inner.get(SEGMENTS, Some(inner), BlobNames::One(&name), &mut |name, bytes| {
            let opened = open(owner_keys, inner, name, bytes, &mut buffer)?;
            let is_own = |inside: &&[u8]| Words::read(inside).is_ok_and(|words| words.span == ids.span);
            found = opened.filter(is_own).map(<[u8]>::to_vec);
            Ok(())
        })?;
        Ok(found)
    }

    /// Stores a segment in place of those it takes in.
    pub(crate) fn put_segment(
        &self,
        inner: ConversationId,
        key: &DataKey,
        fresh: &NewSegment<'_>,
    ) -> Result<()> {
        let first = fresh.ids.span.first;
        let (ids_name, words_name) = (ids_name(first), words_name(first));
        let ids = seal(key, inner, &ids_name, &fresh.ids.write());
        let words = seal(key, inner, &words_name, fresh.words);
        let gone = fresh.replaced.iter().filter(|replaced| **replaced != first);
        let gone: Vec<Vec<u8>> =
            gone.flat_map(|first| [self::ids_name(*first), self::words_name(*first)]).collect();
        let put = |name, bytes| Put { space: SEGMENTS, owner: Some(inner), name, bytes };
        let mut puts = vec![put(&ids_name, Some(ids.as_slice())), put(&words_name, Some(words.as_slice()))];
        puts.extend(gone.iter().map(|name| put(name, None)));
        self.inner_for(inner, key).put(&puts, Safety::Unsynced)
    }

    /// Erases all segments of a conversation: what they say may no longer be so.
    pub(crate) fn forget_segments(&self, inner: ConversationId) -> Result<()> {
        let mut names: Vec<Vec<u8>> = Vec::new();
        for prefix in [IDS, WORDS] {
            self.inner.get(SEGMENTS, Some(inner), BlobNames::Prefix(prefix), &mut |name, _| {
                names.push(name.to_vec());
                Ok(())
            })?;
        }
        if names.is_empty() {
            return Ok(());
        }
        self.suspect(inner, SegmentDoubt::Behind);
        let erase = |name| Put { space: SEGMENTS, owner: Some(inner), name, bytes: None };
        let puts: Vec<Put<'_>> = names.iter().map(|name| erase(name.as_slice())).collect();
        self.inner.put(&puts, Safety::Synced)
    }
}

fn ids_name(first: u32) -> Vec<u8> {
    [IDS, &first.to_be_bytes()].concat()
}

fn words_name(first: u32) -> Vec<u8> {
    [WORDS, &first.to_be_bytes()].concat()
}

fn seal(key: &DataKey, inner: ConversationId, name: &[u8], inside: &[u8]) -> Vec<u8> {
    key.seal(KeyUse::Blobs, SEGMENT, &[inner.as_bytes(), name], &[inside])
}

/// Opens a blob into a buffer; none when it does not open.
fn open<'b>(
    owner_keys: &mut OwnerKeys<'_>,
    inner: ConversationId,
    name: &[u8],
    envelope: &[u8],
    buffer: &'b mut Vec<u8>,
) -> Result<Option<&'b [u8]>> {
    buffer.clear();
    buffer.extend_from_slice(envelope);
    match owner_keys.open(KeyUse::Blobs, SEGMENT, &[inner.as_bytes(), name], buffer) {
        Ok(inside) => Ok(Some(inside)),
        Err(OpenError::Broken(_)) => Ok(None),
        Err(OpenError::Failed(error)) => Err(error),
    }
}
