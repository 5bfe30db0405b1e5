//! Writing attachments: the card first, then chunk after chunk.

use std::collections::BTreeMap;
use std::io;

use sha2::{Digest as _, Sha256};

use crate::error::{Error, ErrorKind, Result};
use crate::model::{Attachment, AttachmentKind, ConversationId, Digest, Time};
use crate::ops::attachment::card::{self, Card};
use crate::ops::attachment::unused::erase;
use crate::ops::attachment::{Detached, chunks};
use crate::store::{Named, Put, Safety, Space, Store};

/// How many bytes are one write, unless a chunk is larger.
const AT_ONCE: usize = 1 << 20;

/// How many bytes of a stream are held. A longer one is stored under another name until its own is known.
const HELD: usize = 8 << 20;

/// Keeps attachments of one conversation.
#[derive(Clone, Copy)]
pub(crate) struct Keeper<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) owner: ConversationId,
    /// The size of a chunk.
    pub(crate) chunk_bytes: u64,
    pub(crate) now: Time,
}

impl Keeper<'_> {
    /// Keeps what was taken out of a block. What is there already and whole is not written again.
    ///
    /// Its card waits for the turn that refers to it.
    pub(crate) fn keep(&self, detached: &Detached) -> Result<()> {
        let Detached { kind, digest, bytes } = detached;
        if self.await_kept(*digest)? {
            return Ok(());
        }
        self.begin(*digest, *kind, bytes.len() as u64)?;
        let size = self.chunk_size();
        let pieces: Vec<_> =
            bytes.chunks(size).zip(0..).map(|(piece, n)| (chunks::name(*digest, n), piece)).collect();
        for some in pieces.chunks((AT_ONCE / size).max(1)) {
            let puts: Vec<Put<'_>> =
                some.iter().map(|(name, piece)| chunks::put(self.owner, name, Some(piece))).collect();
            self.store.put(&puts, Safety::Synced)?;
        }
        Ok(())
    }

    /// What stores attachments together with the turn that opens their conversation, which cannot own anything before.
    pub(crate) fn together(&self, detached: &[Detached]) -> Result<Together> {
        let mut together = Together::default();
        for Detached { kind, digest, bytes } in detached {
            let card = Card::settled(*kind, bytes.len() as u64, self.count(bytes.len() as u64)?);
            together.blobs.insert((Space::State, card::name(*digest)), card.to_bytes());
            for (piece, number) in bytes.chunks(self.chunk_size()).zip(0..) {
                let name = chunks::name(*digest, number).to_vec();
                together.blobs.insert((Space::Attachment, name), piece.to_vec());
            }
        }
        Ok(together)
    }

    /// Keeps what a reader gives, of at most `most` bytes. `stand_in` is a name that nothing else has.
    pub(crate) fn keep_stream(
        &self,
        kind: AttachmentKind,
        bytes: &mut dyn io::Read,
        most: u64,
        stand_in: Digest,
    ) -> Result<Attachment> {
        let mut held = Vec::new();
        read_up_to(bytes, HELD, &mut held)?;
        if held.len() < HELD {
            check(held.len() as u64, most)?;
            let detached = Detached::new(kind, held);
            self.keep(&detached)?;
            let (digest, byte_length) = detached.size();
            return Ok(Attachment { kind, digest, byte_length });
        }
        match self.stage(kind, bytes, held, most, stand_in) {
            Ok(staged) => self.rename(stand_in, staged),
            Err(error) => {
                // What is left of it goes like any other that nothing refers to.
                if let Ok(Some(card)) = card::card(self.store, self.owner, stand_in) {
                    let _ = erase(self.store, self.owner, stand_in, card.chunks);
                }
                Err(error)
            }
        }
    }

    /// Stores a stream under a name that stands in for its own. Returns its own.
    fn stage(
        &self,
        kind: AttachmentKind,
        bytes: &mut dyn io::Read,
        mut held: Vec<u8>,
        most: u64,
        stand_in: Digest,
    ) -> Result<Attachment> {
        let (size, card_name) = (self.chunk_size(), card::name(stand_in));
        let (mut hash, mut length, mut number) = (Sha256::new(), 0, 0);
        loop {
            if held.len() < size {
                read_up_to(bytes, size, &mut held)?;
            }
            let piece: Vec<u8> = held.drain(..size.min(held.len())).collect();
            if piece.is_empty() {
                break;
            }
            hash.update(&piece);
            length += piece.len() as u64;
            check(length, most)?;
            let name = chunks::name(stand_in, number);
            number += 1;
            // The card tells all chunks that may be there, so it is stored with each.
            let card = Card::waiting(kind, length, number, self.now).to_bytes();
            let puts = [
                card::put(self.owner, &card_name, Some(&card)),
                chunks::put(self.owner, &name, Some(&piece)),
            ];
            self.store.put(&puts, Safety::Synced)?;
        }
        let digest = Digest::from_bytes(hash.finalize().into());
        Ok(Attachment { kind, digest, byte_length: length })
    }

    /// Gives what was staged its own name, chunk by chunk.
    fn rename(&self, stand_in: Digest, own: Attachment) -> Result<Attachment> {
        let staged = card::card(self.store, self.owner, stand_in)?.map_or(0, |card| card.chunks);
        if !self.await_kept(own.digest)? {
            self.begin(own.digest, own.kind, own.byte_length)?;
            for number in 0..staged {
                let (from, to) = (chunks::name(stand_in, number), chunks::name(own.digest, number));
                let mut piece = None;
                self.store.get(Space::Attachment, Some(self.owner), Named::One(&from), &mut |_, bytes| {
                    piece = Some(bytes.to_vec());
                    Ok(())
                })?;
                let missing =
                    || Error::corrupt(format!("chunk `{number}` of `{staged}` that were stored is missing"));
                let piece = piece.ok_or_else(missing)?;
                self.store.put(&[chunks::put(self.owner, &to, Some(&piece))], Safety::Synced)?;
            }
        }
        erase(self.store, self.owner, stand_in, staged)?;
        Ok(own)
    }

    /// True when it is there and whole; then its card waits again, so that nobody erases it meanwhile.
    fn await_kept(&self, digest: Digest) -> Result<bool> {
        let Some(card) = card::card(self.store, self.owner, digest)? else { return Ok(false) };
        self.put_card(digest, &Card { waiting_since: Some(self.now), ..card })?;
        match chunks::read(self.store, self.owner, digest, &mut |_| Ok(())) {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NotFound) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Stores the card of what will be there, and takes away chunks that would be too many.
    fn begin(&self, digest: Digest, kind: AttachmentKind, length: u64) -> Result<()> {
        let count = self.count(length)?;
        let before = card::card(self.store, self.owner, digest)?.map_or(0, |card| card.chunks);
        let surplus: Vec<_> = (count..before).map(|number| chunks::name(digest, number)).collect();
        let card = Card::waiting(kind, length, count, self.now).to_bytes();
        let name = card::name(digest);
        let mut puts = vec![card::put(self.owner, &name, Some(&card))];
        puts.extend(surplus.iter().map(|name| chunks::put(self.owner, name, None)));
        self.store.put(&puts, Safety::Synced)
    }

    fn put_card(&self, digest: Digest, card: &Card) -> Result<()> {
        let bytes = card.to_bytes();
        self.store.put(&[card::put(self.owner, &card::name(digest), Some(&bytes))], Safety::Synced)
    }

    /// How many chunks so many bytes have.
    fn count(&self, length: u64) -> Result<u32> {
        u32::try_from(length.div_ceil(self.chunk_size() as u64))
            .map_err(|_| Error::invalid(format!("an attachment of `{length}` bytes has too many chunks")))
    }

    fn chunk_size(&self) -> usize {
        usize::try_from(self.chunk_bytes).unwrap_or(usize::MAX).max(1)
    }
}

/// Attachments that are stored in one step with what refers to them.
#[derive(Debug, Default)]
pub(crate) struct Together {
    blobs: BTreeMap<(Space, Vec<u8>), Vec<u8>>,
}

impl Together {
    pub(crate) fn puts(&self, owner: ConversationId) -> Vec<Put<'_>> {
        self.blobs
            .iter()
            .map(|((space, name), bytes)| Put { space: *space, owner: Some(owner), name, bytes: Some(bytes) })
            .collect()
    }
}

fn check(length: u64, most: u64) -> Result<()> {
    if length > most {
        return Err(Error::invalid(format!(
            "the attachment has more than the {most} bytes that `limits.conversation_bytes` leaves"
        )));
    }
    Ok(())
}

/// Reads until so many bytes are held, or there are no more.
fn read_up_to(bytes: &mut dyn io::Read, count: usize, held: &mut Vec<u8>) -> Result<()> {
    let missing = count.saturating_sub(held.len()) as u64;
    let read = io::Read::read_to_end(&mut io::Read::take(bytes, missing), held);
    read.map(drop)
        .map_err(|cause| Error::new(ErrorKind::Unavailable, "read what is to be attached").because(cause))
}
