//! Erasing attachments that no message refers to any more.

use std::collections::BTreeSet;

use crate::error::Result;
use crate::model::{Attachment, ConversationId, Digest, Message, Time, digest_in, uri_of};
use crate::ops::attachment::card::{self, Card, cards};
use crate::ops::attachment::{chunks, referred};
use crate::store::{BlobNames, ListQuery, Order, Put, Safety, Selection, Space, Store};

/// How long a turn may be under way after its attachments were written: as long
/// as a store may fail and come back.
const UNDER_WAY: i64 = 60 * 60 * 1_000_000;

/// Erases the attachments of a conversation that nothing refers to, and tells which. One whose turn may still
/// be under way stays, unless it is named in `certain`.
pub(crate) fn erase_unused(
    store: &dyn Store,
    owner: ConversationId,
    certain: &[Digest],
    now: Time,
) -> Result<Vec<Attachment>> {
    let mut unused = cards(store, owner)?;
    let is_under_way = |card: &Card| {
        card.waiting_since.is_some_and(|since| now.as_micros() < since.as_micros().saturating_add(UNDER_WAY))
    };
    unused.retain(|(attachment, card)| certain.contains(&attachment.digest) || !is_under_way(card));
    if unused.is_empty() {
        return Ok(Vec::new());
    }
    let referred = used(store, owner)?;
    unused.retain(|(attachment, _)| !referred.contains(&attachment.digest));
    let (mut erased, mut held) = (Vec::new(), Vec::new());
    for (attachment, before) in unused {
        let pieces = Pieces::of(store, owner, attachment.digest, &before)?;
        // Somebody may have begun to use it meanwhile.
        if card::card(store, owner, attachment.digest)?.as_ref() == Some(&before) {
            erase(store, owner, attachment.digest, pieces.names.iter().cloned())?;
            held.push((attachment, before, pieces));
        }
    }
    let referred = if held.is_empty() { BTreeSet::new() } else { used(store, owner)? };
    for (attachment, before, pieces) in held {
        if referred.contains(&attachment.digest) {
            pieces.put_back(store, owner, attachment.digest, before)?;
        } else {
            erased.push(attachment);
        }
    }
    Ok(erased)
}

/// How many bytes of an attachment that goes are held.
const HELD: u64 = 8 << 20;

/// What is erased of an attachment. A turn that refers to it may be stored between the last look and the
/// erasing: it is held until the next look, unless it is large.
struct Pieces {
    names: BTreeSet<Vec<u8>>,
    held: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Pieces {
    fn of(store: &dyn Store, owner: ConversationId, digest: Digest, card: &Card) -> Result<Self> {
        let (mut names, mut held, mut size) = (BTreeSet::from_iter(card.set().names(digest)), Vec::new(), 0);
        chunks::each(store, owner, digest, &mut |name, bytes| {
            names.insert(name.to_vec());
            size += bytes.len() as u64;
            if size <= HELD {
                held.push((name.to_vec(), bytes.to_vec()));
            } else {
                held.clear();
            }
        })?;
        Ok(Self { names, held })
    }

    fn put_back(&self, store: &dyn Store, owner: ConversationId, digest: Digest, card: Card) -> Result<()> {
        let (name, card) = (card::name(digest), Card { waiting_since: None, ..card }.to_bytes());
        let mut puts: Vec<Put<'_>> =
            self.held.iter().map(|(name, bytes)| chunks::put(owner, name, Some(bytes))).collect();
        puts.push(card::put(owner, &name, Some(&card)));
        store.put(&puts, Safety::Synced)
    }
}

/// Erases an attachment with its card, in one step.
pub(super) fn erase(
    store: &dyn Store,
    owner: ConversationId,
    digest: Digest,
    pieces: impl Iterator<Item = Vec<u8>>,
) -> Result<()> {
    let (names, card): (Vec<Vec<u8>>, _) = (pieces.collect(), card::name(digest));
    let mut puts: Vec<Put<'_>> = names.iter().map(|name| chunks::put(owner, name, None)).collect();
    puts.push(card::put(owner, &card, None));
    store.put(&puts, Safety::Synced)
}

/// What messages and unfinished replies of a conversation refer to.
fn used(store: &dyn Store, owner: ConversationId) -> Result<BTreeSet<Digest>> {
    let mut used = BTreeSet::new();
    let all = Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX };
    store.read(owner, all, &mut |seen| {
        if mentions(seen.body).next().is_some() {
            match Message::from_body(seen.body) {
                Ok(message) => used.extend(referred(&message)),
                // What cannot be read may mean whatever it mentions.
                Err(_) => used.extend(mentions(seen.body)),
            }
        }
        Ok(())
    })?;
    // What belongs to the whole conversation is named in its header.
    let one = ListQuery { only: Some(&[owner]), limit: 1, ..ListQuery::default() };
    for row in store.list(&one)?.items {
        used.extend(mentions(&row.header));
    }
    store.get(Space::OpenTurn, Some(owner), BlobNames::ALL, &mut |_, bytes| {
        used.extend(mentions(&String::from_utf8_lossy(bytes)));
        Ok(())
    })?;
    Ok(used)
}

/// The attachments whose addresses stand somewhere in a text.
fn mentions(text: &str) -> impl Iterator<Item = Digest> {
    let length = uri_of(Digest::from_bytes([0; 32])).len();
    let starts = text.match_indices("attachment:sha256:").map(|(start, _)| start);
    starts.filter_map(move |start| digest_in(text.get(start..start + length)?))
}
