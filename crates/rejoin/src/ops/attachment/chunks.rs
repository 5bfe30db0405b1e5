//! The chunks of an attachment, read one at a time.

use sha2::{Digest as _, Sha256};

use crate::error::{Error, Result};
use crate::model::{ConversationId, Digest};
use crate::ops::attachment::card;
use crate::store::{Named, Put, Read, Space};

/// The name of a chunk: the digest of the whole, and the chunk's number.
pub(super) fn name(digest: Digest, number: u32) -> [u8; 36] {
    let mut name = [0; 36];
    name[..32].copy_from_slice(digest.as_bytes());
    name[32..].copy_from_slice(&number.to_be_bytes());
    name
}

/// Stores a chunk, or erases it.
pub(super) const fn put<'a>(owner: ConversationId, name: &'a [u8], bytes: Option<&'a [u8]>) -> Put<'a> {
    Put { space: Space::Attachment, owner: Some(owner), name, bytes }
}

/// SHA-256 of some bytes.
pub(super) fn digest_of(bytes: &[u8]) -> Digest {
    Digest::from_bytes(Sha256::digest(bytes).into())
}

/// Hands over the bytes of an attachment, one chunk after the other, and tells how many there are.
///
/// One that is not there is not found. One that lacks a chunk, or is not what its digest says, is corrupt; what was handed
/// over by then has to be thrown away.
pub(crate) fn read(
    store: &dyn Read,
    owner: ConversationId,
    digest: Digest,
    take: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<u64> {
    let count = card::card(store, owner, digest)?.map(|card| card.chunks);
    let (mut hash, mut length, mut number) = (Sha256::new(), 0, 0);
    while count.is_none_or(|count| number < count) {
        let mut found = false;
        let got =
            store.get(Space::Attachment, Some(owner), Named::One(&name(digest, number)), &mut |_, bytes| {
                found = true;
                hash.update(bytes);
                length += bytes.len() as u64;
                take(bytes)
            });
        got.map_err(|error| error.during(format!("read chunk `{number}` of attachment `{digest}`")))?;
        match (found, count) {
            (true, _) => number += 1,
            (false, Some(count)) => {
                return Err(Error::corrupt(format!(
                    "chunk `{number}` of `{count}` of attachment `{digest}` is missing"
                )));
            }
            (false, None) if number == 0 => {
                return Err(Error::not_found(format!("there is no attachment `{digest}`")));
            }
            // Without a card, the chunks that are there are all there are.
            (false, None) => break,
        }
    }
    if Digest::from_bytes(hash.finalize().into()) != digest {
        return Err(Error::corrupt(format!("attachment `{digest}` does not match its digest")));
    }
    Ok(length)
}
