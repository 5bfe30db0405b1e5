//! The chunks of an attachment, read one at a time.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest as _, Sha256};

use crate::error::{Error, ErrorKind, Result};
use crate::model::{ConversationId, Digest};
use crate::ops::attachment::card;
use crate::store::{BlobNames, Put, Read, Space};

/// The chunks that make up an attachment when it is cut at a size. Those of another size have other names, so
/// that two who store the same bytes at once and cut them differently do not get into each other's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChunkSet {
    /// The size; none for chunks of an older store, whose names do not have it.
    pub(super) chunk_bytes: Option<u32>,
    pub(super) count: u32,
}

impl ChunkSet {
    /// The name of a chunk: the digest of the whole, the size, and the chunk's number.
    pub(super) fn name(self, digest: Digest, number: u32) -> Vec<u8> {
        let mut name = digest.as_bytes().to_vec();
        name.extend(self.chunk_bytes.iter().flat_map(|size| size.to_be_bytes()));
        name.extend(number.to_be_bytes());
        name
    }

    pub(super) fn names(self, digest: Digest) -> impl Iterator<Item = Vec<u8>> {
        (0..self.count).map(move |number| self.name(digest, number))
    }

    /// True when its last chunk is there: they are written in order.
    pub(super) fn is_there(self, store: &dyn Read, owner: ConversationId, digest: Digest) -> Result<bool> {
        let Some(last) = self.count.checked_sub(1) else { return Ok(true) };
        let mut found = false;
        store.get(
            Space::Attachment,
            Some(owner),
            BlobNames::One(&self.name(digest, last)),
            &mut |_, _| {
                found = true;
                Ok(())
            },
        )?;
        Ok(found)
    }

    /// Hands over the bytes; none when not even the first chunk is there.
    fn read(
        self,
        store: &dyn Read,
        owner: ConversationId,
        digest: Digest,
        take: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Option<u64>> {
        let (mut hash, mut length) = (Sha256::new(), 0);
        for (name, number) in self.names(digest).zip(0..) {
            let mut found = false;
            let got = store.get(Space::Attachment, Some(owner), BlobNames::One(&name), &mut |_, bytes| {
                found = true;
                hash.update(bytes);
                length += bytes.len() as u64;
                take(bytes)
            });
            got.map_err(|error| error.during(format!("read chunk `{number}` of attachment `{digest}`")))?;
            match (found, number) {
                (true, _) => {}
                (false, 0) => return Ok(None),
                (false, number) => return Err(self.missing(digest, number)),
            }
        }
        if Digest::from_bytes(hash.finalize().into()) != digest {
            return Err(Error::corrupt(format!("attachment `{digest}` does not match its digest")));
        }
        Ok(Some(length))
    }

    fn missing(self, digest: Digest, number: u32) -> Error {
        let count = self.count;
        Error::corrupt(format!("chunk `{number}` of `{count}` of attachment `{digest}` is missing"))
    }
}

/// The digest, the size and the number in the name of a chunk.
fn parts(name: &[u8]) -> Option<(Digest, Option<u32>, u32)> {
    let (digest, rest) = name.split_first_chunk::<32>()?;
    let (size, number) = match rest.len() {
        4 => (None, rest),
        8 => (Some(u32::from_be_bytes(rest[..4].try_into().ok()?)), &rest[4..]),
        _ => return None,
    };
    Some((Digest::from_bytes(*digest), size, u32::from_be_bytes(number.try_into().ok()?)))
}

/// Visits the names and the bytes of all chunks of an attachment, in whatever sizes it was cut.
pub(super) fn each(
    store: &dyn Read,
    owner: ConversationId,
    digest: Digest,
    visit: &mut dyn FnMut(&[u8], &[u8]),
) -> Result<()> {
    let seen = store.get(
        Space::Attachment,
        Some(owner),
        BlobNames::Prefix(digest.as_bytes()),
        &mut |name, bytes| {
            visit(name, bytes);
            Ok(())
        },
    );
    match seen {
        // What does not open is passed over.
        Err(error) if error.kind() == ErrorKind::Corrupt => Ok(()),
        seen => seen,
    }
}

/// The sets of chunks that are there without a gap, the one with the most bytes first.
fn sets(store: &dyn Read, owner: ConversationId, digest: Digest) -> Result<Vec<ChunkSet>> {
    let mut found: BTreeMap<Option<u32>, (BTreeSet<u32>, u64)> = BTreeMap::new();
    each(store, owner, digest, &mut |name, bytes| {
        if let Some((_, size, number)) = parts(name) {
            let set = found.entry(size).or_default();
            set.0.insert(number);
            set.1 += bytes.len() as u64;
        }
    })?;
    let mut whole: Vec<(u64, ChunkSet)> = found
        .into_iter()
        .filter(|(_, (numbers, _))| numbers.iter().copied().eq(0..numbers.len() as u32))
        .map(|(chunk_bytes, (numbers, bytes))| (bytes, ChunkSet { chunk_bytes, count: numbers.len() as u32 }))
        .collect();
    whole.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    Ok(whole.into_iter().map(|(_, set)| set).collect())
}

/// Stores a chunk, or erases it.
pub(super) const fn put<'a>(owner: ConversationId, name: &'a [u8], bytes: Option<&'a [u8]>) -> Put<'a> {
    Put { space: Space::Attachment, owner: Some(owner), name, bytes }
}

/// SHA-256 of some bytes.
pub(crate) fn digest_of(bytes: &[u8]) -> Digest {
    Digest::from_bytes(Sha256::digest(bytes).into())
}

/// Hands over the bytes of an attachment, one chunk after the other, and tells how many there are.
///
/// One that is not there is not found. One that lacks a chunk, or is not what its digest says, is corrupt;
/// what was handed over by then has to be thrown away.
pub(crate) fn read(
    store: &dyn Read,
    owner: ConversationId,
    digest: Digest,
    take: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<u64> {
    let told = card::card(store, owner, digest)?.map(|card| card.set());
    if let Some(set) = told
        && (set.count <= 1 || set.is_there(store, owner, digest)?)
        && let Some(length) = set.read(store, owner, digest, take)?
    {
        return Ok(length);
    }
    // Whoever wrote the card may still be writing its chunks, or have died. Others may be whole.
    let Some(set) = sets(store, owner, digest)?.into_iter().next().or(told) else {
        return Err(Error::not_found(format!("no attachment `{digest}`")));
    };
    set.read(store, owner, digest, take)?.ok_or_else(|| set.missing(digest, 0))
}
