//! Erasing attachments that no message refers to any more.

use std::collections::BTreeSet;

use crate::error::Result;
use crate::model::{Attachment, ConversationId, Digest, Message, Time, digest_in, uri_of};
use crate::ops::attachment::card::{self, Card, cards};
use crate::ops::attachment::{chunks, referred};
use crate::store::{Named, Order, Put, Safety, Selection, Space, Store};

/// How long a turn may be under way after its attachments were written: as long as a store may fail and come back.
const UNDER_WAY: i64 = 60 * 60 * 1_000_000;

/// Erases the attachments of a conversation that nothing refers to, and tells which. One whose turn may still be under
/// way stays, unless it is named in `certain`.
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
    let used = used(store, owner)?;
    unused.retain(|(attachment, _)| !used.contains(&attachment.digest));
    let mut erased = Vec::new();
    for (attachment, before) in unused {
        // Somebody may have begun to use it meanwhile.
        if card::card(store, owner, attachment.digest)?.as_ref() == Some(&before) {
            erase(store, owner, attachment.digest, before.chunks)?;
            erased.push(attachment);
        }
    }
    Ok(erased)
}

/// Erases an attachment with its card, in one step.
pub(super) fn erase(store: &dyn Store, owner: ConversationId, digest: Digest, chunks: u32) -> Result<()> {
    let names: Vec<_> = (0..chunks).map(|number| chunks::name(digest, number)).collect();
    let card = card::name(digest);
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
    store.get(Space::OpenTurn, Some(owner), Named::ALL, &mut |_, bytes| {
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
