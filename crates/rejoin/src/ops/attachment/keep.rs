//! Writing attachments: the card first, then chunk after chunk.

use std::collections::BTreeMap;
use std::io;

use sha2::{Digest as _, Sha256};

use crate::error::{Error, ErrorKind, Result};
use crate::model::{Attachment, AttachmentKind, ConversationId, Digest, Time};
use crate::ops::attachment::card::{self, Card};
use crate::ops::attachment::chunks::ChunkSet;
use crate::ops::attachment::unused::erase;
use crate::ops::attachment::{Detached, chunks};
use crate::store::{BlobNames, Put, Safety, Space, Store};

/// How many bytes are one write, unless a chunk is larger.
const AT_ONCE: usize = 1 << 20;

/// How many bytes of a stream are held. A longer one is stored under another name until its own is known.
const HELD: usize = 8 << 20;

/// Keeps attachments of one conversation.
#[derive(Clone, Copy)]
pub(crate) struct AttachmentWriter<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) owner: ConversationId,
    /// The size of a chunk.
    pub(crate) chunk_bytes: u64,
    pub(crate) now: Time,
}

impl AttachmentWriter<'_> {
    /// Keeps what was taken out of a block. What is there already and whole is not written again.
    ///
    /// Its card waits for the turn that refers to it.
    pub(crate) fn keep(&self, detached: &Detached) -> Result<()> {
        let digest = &detached.digest;
        if self.await_kept(*digest)? {
            return Ok(());
        }
        // Whoever began it, and may still be at it, decided how it is cut.
        let begun = card::card(self.store, self.owner, *digest)?.and_then(|card| card.chunk_bytes);
        let like = Self { chunk_bytes: begun.map_or(self.chunk_bytes, u64::from), ..*self };
        like.write(detached)
    }

    /// Keeps what is small in one write. The cards wait for the turn that refers to them.
    pub(crate) fn keep_at_once(&self, detached: &[Detached]) -> Result<()> {
        let mut small = Together::default();
        for detached in detached {
            if detached.bytes.len() > AT_ONCE {
                self.keep(detached)?;
                continue;
            }
            let Detached { kind, digest, bytes } = detached;
            let card = self.card(*kind, bytes.len() as u64)?;
            for (name, piece) in card.set().names(*digest).zip(bytes.chunks(self.chunk_size())) {
                small.blobs.insert((Space::Attachment, name), piece.to_vec());
            }
            small.blobs.insert((Space::State, card::name(*digest)), card.waiting(self.now).to_bytes());
        }
        let puts = small.puts(self.owner);
        if puts.is_empty() { Ok(()) } else { self.store.put(&puts, Safety::Synced) }
    }

    fn write(&self, Detached { kind, digest, bytes }: &Detached) -> Result<()> {
        let card = self.card(*kind, bytes.len() as u64)?;
        self.put_card(*digest, &card.clone().waiting(self.now))?;
        let size = self.chunk_size();
        let pieces: Vec<_> = card.set().names(*digest).zip(bytes.chunks(size)).collect();
        for some in pieces.chunks((AT_ONCE / size).max(1)) {
            let puts: Vec<Put<'_>> =
                some.iter().map(|(name, piece)| chunks::put(self.owner, name, Some(piece))).collect();
            self.store.put(&puts, Safety::Synced)?;
        }
        Ok(())
    }

    /// Stores once more what a turn refers to that is stored, if somebody erased it meanwhile: whoever looked
    /// for references before the turn was there found none.
    pub(crate) fn confirm(&self, detached: &[Detached]) -> Result<()> {
        for detached in detached {
            let card = card::card(self.store, self.owner, detached.digest)?;
            let is_there = match &card {
                Some(card) => card.set().is_there(self.store, self.owner, detached.digest)?,
                None => false,
            };
            if !is_there {
                self.write(detached)?;
                let card = self.card(detached.kind, detached.bytes.len() as u64)?;
                self.put_card(detached.digest, &card)?;
            }
        }
        Ok(())
    }

    /// What stores attachments together with the turn that opens their
    /// conversation, which cannot own anything before.
    pub(crate) fn together(&self, detached: &[Detached]) -> Result<Together> {
        let mut together = Together::default();
        for Detached { kind, digest, bytes } in detached {
            let card = self.card(*kind, bytes.len() as u64)?;
            together.blobs.insert((Space::State, card::name(*digest)), card.to_bytes());
            for (name, piece) in card.set().names(*digest).zip(bytes.chunks(self.chunk_size())) {
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
                    let _ = erase(self.store, self.owner, stand_in, card.set().names(stand_in));
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
            // The card tells all chunks that may be there, so it is stored with each.
            let card = Card::new(kind, length, number + 1, self.chunk_bytes()).waiting(self.now);
            let (name, card) = (card.set().name(stand_in, number), card.to_bytes());
            number += 1;
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
        let staged = card::card(self.store, self.owner, stand_in)?;
        let staged = staged.map_or(ChunkSet { chunk_bytes: None, count: 0 }, |card| card.set());
        if !self.await_kept(own.digest)? {
            let card = self.card(own.kind, own.byte_length)?;
            self.put_card(own.digest, &card.clone().waiting(self.now))?;
            for (from, to) in staged.names(stand_in).zip(card.set().names(own.digest)) {
                let mut piece = None;
                self.store.get(
                    Space::Attachment,
                    Some(self.owner),
                    BlobNames::One(&from),
                    &mut |_, bytes| {
                        piece = Some(bytes.to_vec());
                        Ok(())
                    },
                )?;
                let piece = piece.ok_or_else(|| Error::corrupt("a chunk that was stored is missing"))?;
                self.store.put(&[chunks::put(self.owner, &to, Some(&piece))], Safety::Synced)?;
            }
        }
        erase(self.store, self.owner, stand_in, staged.names(stand_in))?;
        Ok(own)
    }

    /// True when it is there and whole; then its card waits again, so that nobody erases it meanwhile.
    fn await_kept(&self, digest: Digest) -> Result<bool> {
        let Some(card) = card::card(self.store, self.owner, digest)? else { return Ok(false) };
        self.put_card(digest, &card.waiting(self.now))?;
        match chunks::read(self.store, self.owner, digest, &mut |_| Ok(())) {
            // Somebody may have been about to erase it.
            Ok(_) => Ok(card::card(self.store, self.owner, digest)?.is_some()),
            Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NotFound) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The card of what will be there.
    fn card(&self, kind: AttachmentKind, length: u64) -> Result<Card> {
        Ok(Card::new(kind, length, self.count(length)?, self.chunk_bytes()))
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
        self.chunk_bytes() as usize
    }

    /// The size of a chunk, as their names have it.
    fn chunk_bytes(&self) -> u32 {
        u32::try_from(self.chunk_bytes).unwrap_or(u32::MAX).max(1)
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
