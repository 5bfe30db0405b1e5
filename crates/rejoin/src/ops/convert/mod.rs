//! Copying everything from one store into another: conversations with their ids,
//! digests, notes and branches, and blobs.
//!
//! It can be interrupted and begun again: what is there is recognised by its ids and links. Nothing is taken
//! away from the source, and nothing from the copy but what the source once had and removed. Once a copy was
//! whole, what is changed in it is its own and stays (`base.rs`).

mod base;
mod diverged;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sha2::{Digest as _, Sha256};

pub(crate) use base::Base;
use base::{BlobOwner, Since, hash, is_own, state};

use crate::error::{Error, Result};
use crate::model::{ConversationId, Digest, MessageId, Time};
use crate::store::{
    Anchor, BlobNames, Change, Cursor, Entry, ListQuery, Note, Opening, Order, PreviewUpdate, Put, Read, Row,
    Safety, Selection, Space, Stale, Stamp, Store, Target, Turn, What, newest_stamp,
};

/// How many conversations are listed at a time.
const PAGE: usize = 500;

/// How many messages are held at a time, so that a long conversation does not have to fit into memory.
const BATCH: u64 = 200;

/// How often what changed meanwhile is copied before it is an error that somebody keeps writing.
const ROUNDS: usize = 20;

/// Told how many conversations are done, and how many there are.
pub(crate) type ConvertProgress<'a> = dyn FnMut(u64, u64) + 'a;

/// Copies everything until both hold the same, and compares them.
pub(crate) fn convert(
    from: &dyn Store,
    to: &dyn Store,
    spaces: &[Space],
    base: &mut Base,
    report: &mut ConvertProgress<'_>,
) -> Result<()> {
    let mut reduced = BTreeSet::new();
    for _ in 0..ROUNDS {
        let before = newest_stamp(from, 0)?;
        let rows = rows(from)?;
        remove_gone(&rows, from, to, base, &mut reduced)?;
        for (done, row) in rows.iter().enumerate() {
            report(done as u64, rows.len() as u64);
            copy_conversation(from, to, row, spaces, base, &mut reduced)?;
        }
        report(rows.len() as u64, rows.len() as u64);
        for space in spaces {
            copy_blobs(from, to, BlobOwner(*space, None), base)?;
        }
        if newest_stamp(from, before)? == before {
            return Ok(());
        }
    }
    Err(Error::conflict("the store keeps changing while it is copied; end the programs that use it"))
}

/// A moment of a store: while it is the same, nothing in it has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoreMoment {
    /// The newest change of a conversation.
    stamp: Stamp,
    /// All blobs, which change without a stamp.
    blobs: [u8; 32],
}

impl StoreMoment {
    /// The moment that a store is at.
    pub(crate) fn of(store: &dyn Store, spaces: &[Space]) -> Result<Self> {
        let stamp = newest_stamp(store, 0)?;
        let mut all = Sha256::new();
        for owner in owners(&rows(store)?) {
            for space in spaces {
                add(&mut all, &blobs(store, *space, owner)?);
            }
        }
        Ok(Self { stamp, blobs: all.finalize().into() })
    }
}

/// Compares two stores, link by link and blob by blob, and tells the moment at which the first was
/// the same as the second. The first difference is the error, unless the copy was changed since it
/// was whole. What was compared is noted.
pub(crate) fn compare(
    from: &dyn Store,
    to: &dyn Store,
    spaces: &[Space],
    base: &mut Base,
    report: &mut ConvertProgress<'_>,
) -> Result<StoreMoment> {
    let stamp = newest_stamp(from, 0)?;
    let (ours, theirs) = (rows(from)?, rows(to)?);
    let theirs: BTreeMap<ConversationId, Row> = theirs.into_iter().map(|row| (row.id, row)).collect();
    for (done, row) in ours.iter().enumerate() {
        report(done as u64, ours.len() as u64);
        let our_links = links(from, row.id)?;
        let is_same = match theirs.get(&row.id) {
            Some(there) => essence(row) == essence(there) && our_links == links(to, row.id)?,
            None => false,
        };
        let our_state = state(row, &our_links);
        if !is_same && base.conversation(row.id, Some(our_state), None) != Since::Kept {
            return Err(differs(&format!("conversation `{}` is not the same", row.id)));
        }
        base.note(row.id, our_state);
    }
    let mut all = Sha256::new();
    for owner in owners(&ours) {
        for space in spaces {
            let kept = blobs(from, *space, owner)?;
            add(&mut all, &kept);
            // What a copy lets go of takes its blobs with it.
            if owner.is_some_and(|owner| !theirs.contains_key(&owner)) {
                continue;
            }
            let (there, whose) = (blobs(to, *space, owner)?, BlobOwner(*space, owner));
            let is_same = match base.blobs(whose, hash(&kept), hash(&there)) {
                _ if kept == there => true,
                Since::Kept => true,
                Since::Both => kept.keys().all(|name| there.contains_key(name)),
                Since::Unknown | Since::Source => false,
            };
            if !is_same {
                let whose = owner.map_or_else(|| "the store".to_owned(), |id| format!("conversation `{id}`"));
                return Err(differs(&format!("what is kept beside the messages of {whose} is not the same")));
            }
            base.note_blobs(whose, &kept);
        }
    }
    base.note_whole();
    report(ours.len() as u64, ours.len() as u64);
    Ok(StoreMoment { stamp, blobs: all.finalize().into() })
}

/// Whose blobs there can be: those of the store, and of each conversation.
fn owners(rows: &[Row]) -> Vec<Option<ConversationId>> {
    let mut ids: Vec<ConversationId> = rows.iter().map(|row| row.id).collect();
    ids.sort();
    std::iter::once(None).chain(ids.into_iter().map(Some)).collect()
}

/// What blobs hold, by name, without holding it.
type Blobs = BTreeMap<Vec<u8>, [u8; 32]>;

fn blobs(store: &dyn Read, space: Space, owner: Option<ConversationId>) -> Result<Blobs> {
    let mut blobs = BTreeMap::new();
    store.get(space, owner, BlobNames::ALL, &mut |name, bytes| {
        if !is_own(space, name) {
            blobs.insert(name.to_vec(), Sha256::digest(bytes).into());
        }
        Ok(())
    })?;
    Ok(blobs)
}

/// Adds the blobs of one space and owner to a hash over all of them.
fn add(all: &mut Sha256, blobs: &Blobs) {
    all.update((blobs.len() as u64).to_be_bytes());
    for (name, hash) in blobs {
        all.update((name.len() as u64).to_be_bytes());
        all.update(name);
        all.update(hash);
    }
}

fn differs(what: &str) -> Error {
    Error::corrupt(format!("the copy differs from its source: {what}"))
}

/// What has to be the same about a conversation, beside its messages.
fn essence(row: &Row) -> impl PartialEq {
    let branches: Vec<_> =
        row.branches.iter().map(|branch| (branch.id, branch.title.clone(), branch.head)).collect();
    let head = row.head.as_ref().map(|head| (head.id, head.digest));
    (row.header.clone(), row.facets.clone(), head, branches, row.messages, row.created)
}

/// What has to be the same about a message.
#[derive(PartialEq, Eq)]
struct MessageLink {
    parent: Option<MessageId>,
    digest: Digest,
    label: Option<String>,
    is_pinned: bool,
}

/// The messages of a conversation, by id.
type Links = BTreeMap<MessageId, MessageLink>;

fn links(store: &dyn Read, id: ConversationId) -> Result<Links> {
    let mut links = BTreeMap::new();
    let all = Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX };
    store.read(id, all, &mut |seen| {
        let Note { label, is_pinned } = seen.note;
        let label = label.map(str::to_owned);
        links.insert(seen.id, MessageLink { parent: seen.parent, digest: seen.link, label, is_pinned });
        Ok(())
    })?;
    Ok(links)
}

/// Conversations of which something was removed or rewritten, so that a copy
/// may hold what the source does not.
type Reduced = BTreeSet<ConversationId>;

/// Those that a store tells of.
fn reduced(store: &dyn Read) -> Result<Reduced> {
    let (mut reduced, mut newest) = (BTreeSet::new(), 0);
    loop {
        let changes = store.changes(newest, Duration::ZERO)?;
        let Some(last) = changes.last() else { return Ok(reduced) };
        newest = last.stamp;
        let taken = changes.iter().filter(|change| takes_away(&change.what));
        reduced.extend(taken.map(|change| change.conversation));
    }
}

/// True when the source tells that something of a conversation was removed or rewritten.
fn is_reduced(from: &dyn Store, id: ConversationId, known: &mut Reduced) -> Result<bool> {
    if !known.contains(&id) {
        *known = reduced(from)?;
    }
    Ok(known.contains(&id))
}

const fn takes_away(what: &What) -> bool {
    match what {
        What::Rewritten | What::Trimmed { .. } | What::Deleted { .. } => true,
        What::Stored { .. } | What::Changed => false,
    }
}

fn rows(store: &dyn Read) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut after: Option<Cursor> = None;
    loop {
        let page = store.list(&ListQuery { after, limit: PAGE, ..ListQuery::default() })?;
        rows.extend(page.items);
        let Some(next) = page.next else { return Ok(rows) };
        after = Some(next);
    }
}

/// Removes what an earlier attempt copied and was removed from the source since.
fn remove_gone(
    rows: &[Row],
    from: &dyn Store,
    to: &dyn Store,
    base: &Base,
    reduced: &mut Reduced,
) -> Result<()> {
    let known: BTreeSet<ConversationId> = rows.iter().map(|row| row.id).collect();
    for row in self::rows(to)?.iter().filter(|row| !known.contains(&row.id)) {
        match base.conversation(row.id, None, Some(state(row, &links(to, row.id)?))) {
            // It was begun in a copy that was whole.
            Since::Unknown if base.is_of_whole_copy() => {}
            Since::Both => return Err(both_changed(row.id)),
            Since::Unknown | Since::Kept | Since::Source => remove(from, to, row, reduced)?,
        }
    }
    Ok(())
}

fn both_changed(id: ConversationId) -> Error {
    Error::conflict(format!("conversation `{id}` was changed here and in the store that is copied to"))
}

/// Removes a conversation from the copy, unless it holds what the source never had.
fn remove(from: &dyn Store, to: &dyn Store, row: &Row, reduced: &mut Reduced) -> Result<()> {
    if !is_reduced(from, row.id, reduced)? {
        let own = format!("conversation `{}` of the store that is copied to has messages of its own", row.id);
        return Err(Error::conflict(own));
    }
    to.remove(&[Target::Conversation(row.id)], "copied anew", row.active).map(drop)
}

fn copy_conversation(
    from: &dyn Store,
    to: &dyn Store,
    row: &Row,
    spaces: &[Space],
    base: &mut Base,
    reduced: &mut Reduced,
) -> Result<()> {
    let there = find(to, row.id)?;
    let theirs = there.as_ref().map(|_| links(to, row.id)).transpose()?;
    let ours = links(from, row.id)?;
    let their_state = there.as_ref().zip(theirs.as_ref()).map(|(there, theirs)| state(there, theirs));
    let since = base.conversation(row.id, Some(state(row, &ours)), their_state);
    let is_whole =
        theirs.as_ref() == Some(&ours) && there.as_ref().is_some_and(|there| essence(there) == essence(row));
    match since {
        _ if is_whole => {}
        Since::Kept if there.is_none() => return Ok(()),
        Since::Kept => {}
        Since::Both => {
            let Some((there, theirs)) = there.as_ref().zip(theirs.as_ref()) else {
                return Err(both_changed(row.id));
            };
            diverged::take_over(from, to, (row, &ours), (there, theirs))?;
            base.note(row.id, state(row, &ours));
        }
        Since::Unknown | Since::Source => {
            base.forget(row.id, to)?;
            // Messages that are gone from the source, or were rewritten, must not stay in the copy.
            let is_ahead = theirs.iter().flatten().any(|(id, link)| !is_of(link, ours.get(id)));
            match there.as_ref().zip(theirs.as_ref()).filter(|_| is_ahead) {
                // It was continued in the copy while it was copied.
                Some(both) if base.is_of_whole_copy() && !is_reduced(from, row.id, reduced)? => {
                    diverged::take_over(from, to, (row, &ours), both)?;
                    base.note(row.id, state(row, &ours));
                }
                Some((there, _)) => {
                    remove(from, to, there, reduced)?;
                    copy_messages(from, to, row)?;
                }
                None => copy_messages(from, to, row)?,
            }
        }
    }
    for space in spaces {
        copy_blobs(from, to, BlobOwner(*space, Some(row.id)), base)?;
    }
    Ok(())
}

/// True when a message of the copy is one of the source, whatever is noted of it.
fn is_of(theirs: &MessageLink, ours: Option<&MessageLink>) -> bool {
    ours.is_some_and(|ours| (ours.parent, ours.digest) == (theirs.parent, theirs.digest))
}

fn find(store: &dyn Store, id: ConversationId) -> Result<Option<Row>> {
    Ok(store.list(&ListQuery { only: Some(&[id]), limit: 1, ..ListQuery::default() })?.items.pop())
}

/// A message on its way.
struct Carried {
    id: MessageId,
    parent: Option<MessageId>,
    turn: u32,
    link: Digest,
    label: Option<String>,
    is_pinned: bool,
    body: String,
}

fn copy_messages(from: &dyn Store, to: &dyn Store, row: &Row) -> Result<()> {
    if find(to, row.id)?.is_none() {
        let opening = Opening { facets: &row.facets, header: &row.header, created: row.created };
        append(to, row, Some(opening), &[])?;
    }
    // An earlier attempt may have copied messages whose notes were changed since.
    let there = links(to, row.id)?;
    let mut known: BTreeMap<MessageId, Digest> = BTreeMap::new();
    carry(from, row.id, &mut |batch| {
        known.extend(batch.iter().map(|carried| (carried.id, carried.link)));
        for turn in batch.chunk_by(|one, next| one.turn == next.turn) {
            let entries: Vec<Entry<'_>> = turn.iter().map(|carried| entry(carried, &known)).collect();
            append(to, row, None, &entries)?;
        }
        for carried in batch.iter().filter(|carried| !is_noted(carried, there.get(&carried.id))) {
            let note = Note { label: carried.label.as_deref(), is_pinned: carried.is_pinned };
            to.amend(row.id, None, &Change::Note(carried.id, note), row.active)?;
        }
        Ok(())
    })?;
    settle(to, row)
}

/// Visits the messages of a conversation in bounded pieces, oldest first.
fn carry(
    from: &dyn Store,
    id: ConversationId,
    visit: &mut dyn FnMut(&[Carried]) -> Result<()>,
) -> Result<()> {
    let mut offset = 0;
    loop {
        let mut batch: Vec<Carried> = Vec::new();
        let what = Selection::All { order: Order::OldestFirst, offset, limit: BATCH };
        from.read(id, what, &mut |seen| {
            batch.push(Carried {
                id: seen.id,
                parent: seen.parent,
                turn: seen.turn,
                link: seen.link,
                label: seen.note.label.map(str::to_owned),
                is_pinned: seen.note.is_pinned,
                body: seen.body.to_owned(),
            });
            Ok(())
        })?;
        offset += batch.len() as u64;
        visit(&batch)?;
        if (batch.len() as u64) < BATCH {
            return Ok(());
        }
    }
}

/// True when the copy has the note of a message; one that is new comes with it.
fn is_noted(carried: &Carried, there: Option<&MessageLink>) -> bool {
    let is_same = |link: &MessageLink| (&link.label, link.is_pinned) == (&carried.label, carried.is_pinned);
    there.is_none_or(is_same)
}

fn entry<'a>(carried: &'a Carried, known: &BTreeMap<MessageId, Digest>) -> Entry<'a> {
    let parent = carried.parent.and_then(|id| Some(Anchor { id, link: *known.get(&id)? }));
    Entry {
        id: carried.id,
        parent,
        link: carried.link,
        note: Note { label: carried.label.as_deref(), is_pinned: carried.is_pinned },
        body: &carried.body,
    }
}

fn append(to: &dyn Store, row: &Row, opening: Option<Opening<'_>>, entries: &[Entry<'_>]) -> Result<()> {
    let (first, last) = if entries.is_empty() { ("", "") } else { (row.first.as_str(), row.last.as_str()) };
    let turn = Turn {
        conversation: row.id,
        opening,
        stale: Stale::Branch,
        entries,
        previews: PreviewUpdate { first, last },
        branch: None,
        active: if entries.is_empty() { row.created.min(row.active) } else { row.active },
        now: row.active,
        blobs: &[],
    };
    to.append(&turn).map(drop)
}

/// Brings header, head and branches to where the source has them.
fn settle(to: &dyn Store, row: &Row) -> Result<()> {
    let at: Time = row.active;
    to.amend(row.id, None, &Change::Header { facets: &row.facets, header: &row.header }, at)?;
    let there = find(to, row.id)?;
    for branch in there.iter().flat_map(|there| &there.branches) {
        if row.branches.iter().all(|kept| kept.id != branch.id) {
            to.amend(row.id, None, &Change::Unbranch(branch.id), at)?;
        }
    }
    for branch in &row.branches {
        to.amend(row.id, None, &Change::Branch(branch), at)?;
    }
    to.amend(row.id, None, &Change::Head(row.head.as_ref().map(|head| head.id)), at).map(drop)
}

/// Copies the blobs of a space and an owner, in bounded pieces, and erases those that the source
/// does not have. Where the copy was changed since it was whole, only names that it does not
/// have are copied, and nothing is erased.
fn copy_blobs(from: &dyn Store, to: &dyn Store, whose: BlobOwner, base: &mut Base) -> Result<()> {
    let BlobOwner(space, owner) = whose;
    let (ours, theirs) = (blobs(from, space, owner)?, blobs(to, space, owner)?);
    let since = base.blobs(whose, hash(&ours), hash(&theirs));
    if ours == theirs || since == Since::Kept {
        return Ok(());
    }
    if since != Since::Both {
        base.forget_blobs(whose, to)?;
    }
    let is_wanted = |name: &[u8], hash: &[u8; 32]| match theirs.get(name) {
        Some(there) => since != Since::Both && there != hash,
        None => true,
    };
    let mut held: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    from.get(space, owner, BlobNames::Prefix(b""), &mut |name, bytes| {
        if !is_own(space, name) && is_wanted(name, &Sha256::digest(bytes).into()) {
            held.push((name.to_vec(), bytes.to_vec()));
        }
        if held.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() > 1 << 22 {
            put(to, space, owner, &std::mem::take(&mut held))?;
        }
        Ok(())
    })?;
    put(to, space, owner, &held)?;
    let gone = theirs.keys().filter(|name| since != Since::Both && !ours.contains_key(*name));
    let erased: Vec<Put<'_>> = gone.map(|name| Put { space, owner, name, bytes: None }).collect();
    if erased.is_empty() { Ok(()) } else { to.put(&erased, Safety::Synced) }
}

fn put(
    to: &dyn Store,
    space: Space,
    owner: Option<ConversationId>,
    blobs: &[(Vec<u8>, Vec<u8>)],
) -> Result<()> {
    let puts: Vec<Put<'_>> =
        blobs.iter().map(|(name, bytes)| Put { space, owner, name, bytes: Some(bytes) }).collect();
    if puts.is_empty() { Ok(()) } else { to.put(&puts, Safety::Synced) }
}
