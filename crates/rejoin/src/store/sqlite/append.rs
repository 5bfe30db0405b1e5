//! Appending a turn: one transaction, one sync.

use rusqlite::{OptionalExtension, Transaction, params};

use crate::error::{Error, Result};
use crate::model::{Digest, MessageId, Time};
use crate::store::activity::last_activity;
use crate::store::sqlite::fault::During;
use crate::store::sqlite::{blob, change, no_message, unknown};
use crate::store::{Appended, Stale, Turn};

const ATTEMPT: &str = "append a turn";

pub(super) const PINNED: i64 = 1;
pub(super) const FORKED: i64 = 2;

/// The row of a conversation that an append reads and writes back.
struct Conversation {
    n: i64,
    next: i64,
    messages: i64,
    bytes: i64,
    roots: i64,
    head: Option<i64>,
    active: i64,
}

/// Writes back what an append changes.
const GROWN: &str = "UPDATE conversation SET next = ?2, messages = ?3, bytes = ?4, roots = ?5, head = ?6,
         first = iif(first = '', ?8, first), last = iif(?9 = '', last, ?9)
     WHERE n = ?1";

/// The same, and when it was active. To set that column, even to what it is, writes the pages of two indexes.
const GROWN_LATER: &str =
    "UPDATE conversation SET next = ?2, messages = ?3, bytes = ?4, roots = ?5, head = ?6,
         active = ?7, first = iif(first = '', ?8, first), last = iif(?9 = '', last, ?9)
     WHERE n = ?1";

/// A message that an entry hangs on.
#[derive(Clone, Copy)]
struct Parent {
    id: MessageId,
    seq: i64,
    depth: i64,
    children: i64,
    digest: [u8; 32],
}

/// Where an entry goes.
struct Place {
    seq: i64,
    parent: Option<Parent>,
    depth: i64,
    children: i64,
    forks: bool,
}

pub(super) fn append(transaction: &Transaction<'_>, turn: &Turn<'_>) -> Result<Appended> {
    let mut conversation = match (find(transaction, turn)?, &turn.opening) {
        (Some(conversation), None) => conversation,
        (None, Some(_)) => create(transaction, turn)?,
        (None, None) => return Err(unknown(turn.conversation)),
        (Some(_), Some(_)) => {
            return Err(Error::conflict(format!("conversation `{}` exists already", turn.conversation)));
        }
    };
    let appended = write(transaction, &mut conversation, turn)?;
    if let (Some(branch), Some(head)) = (turn.branch, conversation.head) {
        transaction
            .prepare_cached("UPDATE branch SET head = ?3 WHERE n = ?1 AND id = ?2")
            .during(ATTEMPT)?
            .execute(params![conversation.n, branch.as_str(), head])
            .during(ATTEMPT)?;
    }
    blob::put(transaction, turn.blobs)?;
    change::stored(transaction, turn.active, turn.conversation, conversation.messages)?;
    Ok(appended)
}

fn find(transaction: &Transaction<'_>, turn: &Turn<'_>) -> Result<Option<Conversation>> {
    transaction
        .prepare_cached(
            "SELECT n, next, messages, bytes, roots, head, active FROM conversation WHERE id = ?1",
        )
        .during(ATTEMPT)?
        .query_row([turn.conversation.as_bytes()], |row| {
            Ok(Conversation {
                n: row.get(0)?,
                next: row.get(1)?,
                messages: row.get(2)?,
                bytes: row.get(3)?,
                roots: row.get(4)?,
                head: row.get(5)?,
                active: row.get(6)?,
            })
        })
        .optional()
        .during(ATTEMPT)
}

fn create(transaction: &Transaction<'_>, turn: &Turn<'_>) -> Result<Conversation> {
    let opening = turn.opening.as_ref().expect("the caller saw the opening");
    let facets = opening.facets;
    transaction
        .prepare_cached(
            "INSERT INTO conversation (id, short, project, kind, slug, status, hold, expires, created, active,
                 version, next, indexed, messages, bytes, roots, branches, head, first, last, header)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 1, 1, 0, 0, 0, 0, 0, NULL, '', '', ?11)",
        )
        .during(ATTEMPT)?
        .execute(params![
            turn.conversation.as_bytes(),
            turn.conversation.short().as_str(),
            facets.project,
            facets.kind,
            facets.slug,
            facets.status as i64,
            facets.hold as i64,
            facets.expires.map(|time| time.as_micros()),
            opening.created.as_micros(),
            turn.active.as_micros(),
            opening.header,
        ])
        .during(ATTEMPT)?;
    Ok(Conversation {
        n: transaction.last_insert_rowid(),
        next: 1,
        messages: 0,
        bytes: 0,
        roots: 0,
        head: None,
        active: turn.active.as_micros(),
    })
}

fn write(
    transaction: &Transaction<'_>,
    conversation: &mut Conversation,
    turn: &Turn<'_>,
) -> Result<Appended> {
    let places = place(transaction, conversation, turn)?;
    if conversation.next + turn.entries.len() as i64 > i64::from(u32::MAX) {
        return Err(Error::invalid("a conversation holds at most 4,294,967,294 messages"));
    }
    insert(transaction, conversation, turn, &places)?;
    let last = places.last().map(|place| place.seq);
    conversation.next += places.len() as i64;
    conversation.messages += places.len() as i64;
    conversation.bytes += turn.entries.iter().map(|entry| entry.body.len() as i64).sum::<i64>();
    conversation.head = last.or(conversation.head);
    let active = last_activity(Time::from_micros(conversation.active), turn).as_micros();
    transaction
        .prepare_cached(if active == conversation.active { GROWN } else { GROWN_LATER })
        .during(ATTEMPT)?
        .execute(params![
            conversation.n,
            conversation.next,
            conversation.messages,
            conversation.bytes,
            conversation.roots,
            conversation.head,
            active,
            turn.tip.first,
            turn.tip.last,
        ])
        .during(ATTEMPT)?;
    Ok(Appended {
        seq: last.map_or(0, sequence),
        forked: places.iter().any(|place| place.forks),
        replayed: false,
    })
}

/// Finds each entry's parent and counts the children that the turn itself brings, so that a row is written once.
fn place(
    transaction: &Transaction<'_>,
    conversation: &mut Conversation,
    turn: &Turn<'_>,
) -> Result<Vec<Place>> {
    let mut places: Vec<Place> = Vec::with_capacity(turn.entries.len());
    let mut touched: Vec<Parent> = Vec::new();
    for (entry, seq) in turn.entries.iter().zip(conversation.next..) {
        let Some(anchor) = entry.parent else {
            refuse_stale(turn, places.is_empty(), None, conversation.head)?;
            let forks = conversation.roots > 0;
            conversation.roots += 1;
            places.push(Place { seq, parent: None, depth: 0, children: 0, forks });
            continue;
        };
        let within = turn.entries[..places.len()].iter().rposition(|earlier| earlier.id == anchor.id);
        let (parent, forks) = if let Some(within) = within {
            let earlier = &mut places[within];
            earlier.children += 1;
            let digest = *turn.entries[within].link.as_bytes();
            (
                Parent { id: anchor.id, seq: earlier.seq, depth: earlier.depth, children: 0, digest },
                earlier.children > 1,
            )
        } else {
            let place = match touched.iter().position(|known| known.id == anchor.id) {
                Some(place) => place,
                None => {
                    touched.push(parent(transaction, conversation.n, anchor.id)?);
                    touched.len() - 1
                }
            };
            let known = &mut touched[place];
            let forks = known.children > 0;
            known.children += 1;
            add_child(transaction, conversation.n, known.seq)?;
            (*known, forks)
        };
        if parent.digest != *anchor.link.as_bytes() {
            return Err(Error::conflict(format!("message `{}` was rewritten meanwhile", anchor.id)));
        }
        refuse_stale(turn, places.is_empty(), Some(parent.seq), conversation.head)?;
        places.push(Place { seq, parent: Some(parent), depth: parent.depth + 1, children: 0, forks });
    }
    Ok(places)
}

fn refuse_stale(turn: &Turn<'_>, is_first: bool, parent: Option<i64>, head: Option<i64>) -> Result<()> {
    if is_first && turn.stale == Stale::Refuse && parent != head {
        return Err(Error::conflict("the conversation has moved on since its head was read"));
    }
    Ok(())
}

fn parent(transaction: &Transaction<'_>, n: i64, id: MessageId) -> Result<Parent> {
    transaction
        .prepare_cached(
            "SELECT key & 0xffffffff, depth, children, digest FROM message WHERE key >> 32 = ?1 AND id = ?2",
        )
        .during(ATTEMPT)?
        .query_row(params![n, id.as_str()], |row| {
            Ok(Parent {
                id,
                seq: row.get(0)?,
                depth: row.get(1)?,
                children: row.get(2)?,
                digest: row.get(3)?,
            })
        })
        .optional()
        .during(ATTEMPT)?
        .ok_or_else(|| no_message(id))
}

/// Zero and one take no space in a record, so the first child of a message changes one byte of its row.
fn add_child(transaction: &Transaction<'_>, n: i64, seq: i64) -> Result<()> {
    transaction
        .prepare_cached("UPDATE message SET children = children + 1 WHERE key = ?1")
        .during(ATTEMPT)?
        .execute([key(n, seq)])
        .during(ATTEMPT)?;
    Ok(())
}

fn insert(
    transaction: &Transaction<'_>,
    conversation: &Conversation,
    turn: &Turn<'_>,
    places: &[Place],
) -> Result<()> {
    let mut statement = transaction
        .prepare_cached(
            "INSERT INTO message (key, id, parent, children, depth, turn, flags, digest, label, body)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )
        .during(ATTEMPT)?;
    for (entry, place) in turn.entries.iter().zip(places) {
        let flags = if entry.note.is_pinned { PINNED } else { 0 } | if place.forks { FORKED } else { 0 };
        statement
            .execute(params![
                key(conversation.n, place.seq),
                entry.id.as_str(),
                place.parent.map(|parent| parent.seq),
                place.children,
                place.depth,
                conversation.next,
                flags,
                entry.link.as_bytes(),
                entry.note.label,
                entry.body,
            ])
            .during(&format!("store message `{}`", entry.id))?;
    }
    Ok(())
}

/// The answer to an append that already happened, if this turn is exactly that append.
///
/// It is asked for after a turn was refused and rolled back, so that it never meets the turn's own rows.
pub(super) fn replay(transaction: &Transaction<'_>, turn: &Turn<'_>) -> Result<Option<Appended>> {
    let Some(Conversation { n, .. }) = find(transaction, turn)? else { return Ok(None) };
    let mut statement = transaction
        .prepare_cached(
            "SELECT key & 0xffffffff, flags, digest FROM message WHERE key >> 32 = ?1 AND id = ?2",
        )
        .during(ATTEMPT)?;
    let mut answer = None;
    for entry in turn.entries {
        let stored = statement
            .query_row(params![n, entry.id.as_str()], |row| {
                Ok((row.get(0)?, row.get::<_, i64>(1)?, row.get(2)?))
            })
            .optional()
            .during(ATTEMPT)?;
        let Some((seq, flags, digest)) = stored else { return Ok(None) };
        if Digest::from_bytes(digest) != entry.link {
            return Ok(None);
        }
        let forked = flags & FORKED != 0 || answer.is_some_and(|answer: Appended| answer.forked);
        answer = Some(Appended { seq: sequence(seq), forked, replayed: true });
    }
    Ok(answer)
}

/// The key of a message: its conversation's number above its sequence.
pub(super) const fn key(n: i64, seq: i64) -> i64 {
    (n << 32) + seq
}

pub(super) fn sequence(seq: i64) -> u32 {
    u32::try_from(seq).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use crate::model::{ConversationId, Digest, Time};
    use crate::store::{Entry, Facets, Note, Opening, SqliteStore, Stale, Store as _, Tip, Turn};

    /// Appends a message at a time, and counts the pages that were written for it.
    fn pages(store: &SqliteStore, name: &str, micros: i64) -> i64 {
        let log = Connection::open(&store.path).unwrap();
        let fold =
            || -> i64 { log.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get(1)).unwrap() };
        let (facets, active) = (Facets::default(), Time::from_micros(micros));
        let opening = Opening { facets: &facets, header: "{}", created: active };
        let id = name.parse().unwrap();
        let entry =
            Entry { id, parent: None, link: Digest::chain(None, b"d"), note: Note::default(), body: "{}" };
        fold();
        let turn = Turn {
            conversation: ConversationId::from_bytes([7; 16]),
            opening: (name == "a").then_some(opening),
            stale: Stale::Branch,
            entries: &[entry],
            tip: Tip::default(),
            branch: None,
            active,
            now: active,
            blobs: &[],
        };
        store.append(&turn).unwrap();
        fold()
    }

    #[test]
    fn a_turn_that_is_no_later_leaves_the_order_of_activity_alone() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path().join("history.db")).unwrap();
        pages(&store, "a", 10);

        let [later, same, earlier] =
            [("b", 20), ("c", 20), ("d", 15)].map(|(name, at)| pages(&store, name, at));

        assert_eq!([later - same, later - earlier], [2, 2]);
    }
}
