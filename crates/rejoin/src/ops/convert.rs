//! Copying everything from one store into another: conversations with their ids, digests, notes and branches, and blobs.
//!
//! It can be interrupted and begun again: what is there is recognised by its ids and links. Nothing is taken away from
//! the source.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::model::{ConversationId, Digest, MessageId, Time};
use crate::store::{
    Anchor, Change, Cursor, Entry, ListQuery, Named, Note, Opening, Order, Put, Read, Row, Safety, Selection,
    Space, Stale, Stamp, Store, Tip, Turn,
};

/// How many conversations are listed at a time.
const PAGE: usize = 500;

/// How many messages are held at a time, so that a long conversation does not have to fit into memory.
const BATCH: u64 = 200;

/// How often what changed meanwhile is copied before it is an error that somebody keeps writing.
const ROUNDS: usize = 20;

/// Told how many conversations are done, and how many there are.
pub(crate) type Report<'a> = dyn FnMut(u64, u64) + 'a;

/// Copies everything until both hold the same, and compares them.
pub(crate) fn convert(
    from: &dyn Store,
    to: &dyn Store,
    spaces: &[Space],
    report: &mut Report<'_>,
) -> Result<()> {
    for _ in 0..ROUNDS {
        let before = newest(from)?;
        let rows = rows(from)?;
        remove_gone(&rows, to)?;
        for (done, row) in rows.iter().enumerate() {
            report(done as u64, rows.len() as u64);
            copy_conversation(from, to, row, spaces)?;
        }
        report(rows.len() as u64, rows.len() as u64);
        for space in spaces {
            copy_blobs(from, to, *space, None)?;
        }
        if newest(from)? == before {
            return Ok(());
        }
    }
    Err(Error::conflict("the store keeps changing while it is copied; end the programs that use it"))
}

/// Compares two stores, conversation by conversation and link by link. The first difference is the error.
pub(crate) fn compare(from: &dyn Store, to: &dyn Store, report: &mut Report<'_>) -> Result<()> {
    let (ours, theirs) = (rows(from)?, rows(to)?);
    if ours.len() != theirs.len() {
        return Err(differs(&format!("`{}` conversations became `{}`", ours.len(), theirs.len())));
    }
    for (done, row) in ours.iter().enumerate() {
        report(done as u64, ours.len() as u64);
        let there = theirs.iter().find(|other| other.id == row.id);
        let is_same = there.is_some_and(|there| essence(row) == essence(there))
            && links(from, row.id)? == links(to, row.id)?;
        if !is_same {
            return Err(differs(&format!("conversation `{}` is not the same", row.id)));
        }
    }
    report(ours.len() as u64, ours.len() as u64);
    Ok(())
}

fn differs(what: &str) -> Error {
    Error::corrupt(format!("the copy is not what it was made of: {what}"))
}

/// What has to be the same about a conversation, beside its messages.
fn essence(row: &Row) -> impl PartialEq {
    let branches: Vec<_> =
        row.branches.iter().map(|branch| (branch.id, branch.title.clone(), branch.head)).collect();
    let head = row.head.as_ref().map(|head| (head.id, head.digest));
    (row.header.clone(), row.facets.clone(), head, branches, row.messages, row.created)
}

/// The links, parents and notes of all messages, by id.
type Links = BTreeMap<MessageId, (Option<MessageId>, Digest, Option<String>, bool)>;

fn links(store: &dyn Read, id: ConversationId) -> Result<Links> {
    let mut links = BTreeMap::new();
    let all = Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX };
    store.read(id, all, &mut |seen| {
        let Note { label, is_pinned } = seen.note;
        links.insert(seen.id, (seen.parent, seen.link, label.map(str::to_owned), is_pinned));
        Ok(())
    })?;
    Ok(links)
}

fn newest(store: &dyn Read) -> Result<Stamp> {
    let mut newest = 0;
    while let Some(last) = store.changes(newest, Duration::ZERO)?.last() {
        newest = last.stamp;
    }
    Ok(newest)
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
fn remove_gone(rows: &[Row], to: &dyn Store) -> Result<()> {
    let known: std::collections::BTreeSet<ConversationId> = rows.iter().map(|row| row.id).collect();
    for row in self::rows(to)?.iter().filter(|row| !known.contains(&row.id)) {
        to.remove(&[crate::store::Target::Conversation(row.id)], "copied anew", row.active)?;
    }
    Ok(())
}

fn copy_conversation(from: &dyn Store, to: &dyn Store, row: &Row, spaces: &[Space]) -> Result<()> {
    let there = find(to, row.id)?;
    let is_whole = there.as_ref().is_some_and(|there| essence(there) == essence(row));
    if !is_whole {
        // Messages that are gone from the source must not stay in a copy that was begun.
        if there.as_ref().is_some_and(|there| there.messages > row.messages) {
            to.remove(&[crate::store::Target::Conversation(row.id)], "copied anew", row.active)?;
        }
        copy_messages(from, to, row)?;
    }
    for space in spaces {
        copy_blobs(from, to, *space, Some(row.id))?;
    }
    Ok(())
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
    let mut known: BTreeMap<MessageId, Digest> = BTreeMap::new();
    let mut offset = 0;
    loop {
        let mut batch: Vec<Carried> = Vec::new();
        let what = Selection::All { order: Order::OldestFirst, offset, limit: BATCH };
        from.read(row.id, what, &mut |seen| {
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
        let is_last = (batch.len() as u64) < BATCH;
        known.extend(batch.iter().map(|carried| (carried.id, carried.link)));
        for turn in batch.chunk_by(|one, next| one.turn == next.turn) {
            let entries: Vec<Entry<'_>> = turn.iter().map(|carried| entry(carried, &known)).collect();
            append(to, row, None, &entries)?;
        }
        for carried in batch.iter().filter(|carried| carried.label.is_some() || carried.is_pinned) {
            let note = Note { label: carried.label.as_deref(), is_pinned: carried.is_pinned };
            to.amend(row.id, None, &Change::Note(carried.id, note), row.active)?;
        }
        if is_last {
            break;
        }
    }
    settle(to, row)
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
        tip: Tip { first, last },
        branch: None,
        active: if entries.is_empty() { row.created } else { row.active },
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

/// Copies the blobs of a space and an owner, in bounded pieces, and erases those that the source does not have.
fn copy_blobs(from: &dyn Store, to: &dyn Store, space: Space, owner: Option<ConversationId>) -> Result<()> {
    let mut held: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    let mut kept = std::collections::BTreeSet::new();
    from.get(space, owner, Named::Beginning(b""), &mut |name, bytes| {
        kept.insert(name.to_vec());
        if !has(to, space, owner, name, bytes)? {
            held.push((name.to_vec(), bytes.to_vec()));
        }
        if held.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() > 1 << 22 {
            put(to, space, owner, &std::mem::take(&mut held))?;
        }
        Ok(())
    })?;
    put(to, space, owner, &held)?;
    let mut gone = Vec::new();
    to.get(space, owner, Named::Beginning(b""), &mut |name, _| {
        if !kept.contains(name) {
            gone.push(name.to_vec());
        }
        Ok(())
    })?;
    let erased: Vec<Put<'_>> = gone.iter().map(|name| Put { space, owner, name, bytes: None }).collect();
    if erased.is_empty() { Ok(()) } else { to.put(&erased, Safety::Synced) }
}

fn has(
    store: &dyn Read,
    space: Space,
    owner: Option<ConversationId>,
    name: &[u8],
    bytes: &[u8],
) -> Result<bool> {
    let mut is_same = false;
    store.get(space, owner, Named::One(name), &mut |_, found| {
        is_same = found == bytes;
        Ok(())
    })?;
    Ok(is_same)
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
