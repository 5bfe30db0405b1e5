//! The card of an attachment: what is known of it without reading it.
//!
//! It is state of the conversation, so all cards are found at the cost of a few short blobs.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::model::{Attachment, AttachmentKind, ConversationId, Digest, Time, digest_in, uri_of};
use crate::ops::attachment::chunks::ChunkSet;
use crate::store::{BlobNames, Put, Read, Space};

/// The beginning of the names of cards, which are the addresses of their attachments.
pub(crate) const CARDS: &[u8] = b"attachment:";

const VERSION: u32 = 1;

/// What is known of an attachment without reading it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Card {
    pub(super) version: u32,
    pub(crate) kind: AttachmentKind,
    pub(crate) byte_length: u64,
    pub(crate) chunks: u32,
    /// How large each chunk but the last is, which is part of their names; none for those of an older store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) chunk_bytes: Option<u32>,
    /// Since when a turn that refers to it may be under way; none once one is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) waiting_since: Option<Time>,
}

impl Card {
    /// A card of so many bytes, in so many chunks of a size.
    pub(super) const fn new(kind: AttachmentKind, byte_length: u64, chunks: u32, chunk_bytes: u32) -> Self {
        let chunk_bytes = Some(chunk_bytes);
        Self { version: VERSION, kind, byte_length, chunks, chunk_bytes, waiting_since: None }
    }

    /// The same, waiting for the turn that refers to it.
    pub(super) const fn waiting(self, since: Time) -> Self {
        Self { waiting_since: Some(since), ..self }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a card is plain data")
    }

    /// The chunks it tells of.
    pub(super) const fn set(&self) -> ChunkSet {
        ChunkSet { chunk_bytes: self.chunk_bytes, count: self.chunks }
    }

    pub(super) const fn of(&self, digest: Digest) -> Attachment {
        Attachment { kind: self.kind, digest, byte_length: self.byte_length }
    }
}

/// The name of a card.
pub(super) fn name(digest: Digest) -> Vec<u8> {
    uri_of(digest).into_bytes()
}

/// Stores a card.
pub(super) const fn put<'a>(owner: ConversationId, name: &'a [u8], bytes: Option<&'a [u8]>) -> Put<'a> {
    Put { space: Space::State, owner: Some(owner), name, bytes }
}

/// The card of one attachment.
pub(super) fn card(store: &dyn Read, owner: ConversationId, digest: Digest) -> Result<Option<Card>> {
    let mut found = None;
    store.get(Space::State, Some(owner), BlobNames::One(&name(digest)), &mut |_, bytes| {
        found = serde_json::from_slice(bytes).ok();
        Ok(())
    })?;
    Ok(found)
}

/// The cards of all attachments of a conversation, by digest.
pub(crate) fn cards(store: &dyn Read, owner: ConversationId) -> Result<Vec<(Attachment, Card)>> {
    let mut found = Vec::new();
    store.get(Space::State, Some(owner), BlobNames::Prefix(CARDS), &mut |name, bytes| {
        let digest = str::from_utf8(name).ok().and_then(digest_in);
        match (digest, serde_json::from_slice::<Card>(bytes)) {
            (Some(digest), Ok(card)) => found.push((card.of(digest), card)),
            _ => tracing::warn!(%owner, "the card of an attachment cannot be read"),
        }
        Ok(())
    })?;
    Ok(found)
}

/// A card that no longer waits, to be stored with the turn that refers to it.
#[derive(Debug)]
pub(crate) struct SettledCard {
    name: Vec<u8>,
    bytes: Vec<u8>,
}

impl SettledCard {
    pub(crate) fn put(&self, owner: ConversationId) -> Put<'_> {
        put(owner, &self.name, Some(&self.bytes))
    }
}

/// What a turn has to store along with its references: their cards, settled. What has no card is not settled.
pub(crate) fn settle(
    store: &dyn Read,
    owner: ConversationId,
    referred: impl IntoIterator<Item = Digest>,
) -> Result<Vec<SettledCard>> {
    let mut settled = Vec::new();
    for digest in referred {
        if let Some(card) = card(store, owner, digest)? {
            let bytes = Card { waiting_since: None, ..card }.to_bytes();
            settled.push(SettledCard { name: name(digest), bytes });
        }
    }
    Ok(settled)
}
