//! `Rows` of SQLite: what a transaction sees.

use std::cell::Cell;

use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, params};

use crate::error::{Error, Result};
use crate::model::{ConversationId, Digest, MessageId, Time};
use crate::store::backend::{ConversationRow, MessageRow, Node, Presence, Rows, State, VisitMessage, Which};
use crate::store::sqlite::fault::DuringSql;
use crate::store::sqlite::{blob, list};
use crate::store::{BlobNames, Order, Space, VisitBlob};

const ATTEMPT: &str = "read messages";

pub(super) const PINNED: i64 = 1;
pub(super) const FORKED: i64 = 2;

/// The columns of a message, in the order that [`show`] expects.
const COLUMNS: &str = "m.key & 0xffffffff, m.id, m.parent, m.turn, m.flags, m.digest, m.label, m.body";

/// A message without its body, with the columns in the order that [`node`] expects.
const NODE: &str = "SELECT key & 0xffffffff, id, parent, depth, children, flags, digest, octet_length(body)
     FROM message WHERE key >> 32 = ?1 AND id = ?2";

/// All of them.
const NODES: &str = "SELECT key & 0xffffffff, id, parent, depth, children, flags, digest, octet_length(body)
     FROM message WHERE key BETWEEN ?1 AND ?2 ORDER BY key";

/// The rows that a transaction sees.
pub(super) struct SqliteRows<'c> {
    pub(super) connection: &'c Connection,
    /// The conversation that was asked for last.
    known: Cell<Option<NumberedConversation>>,
}

/// What is known of a conversation: its number, and its state where that was read.
#[derive(Clone, Copy)]
pub(super) struct NumberedConversation {
    id: ConversationId,
    pub(super) n: i64,
    pub(super) state: State,
}

impl<'c> SqliteRows<'c> {
    pub(super) const fn new(connection: &'c Connection) -> Self {
        Self { connection, known: Cell::new(None) }
    }

    /// Returns what is known of a conversation, if it is there.
    pub(super) fn known(&self, id: ConversationId) -> Result<Option<NumberedConversation>> {
        if let Some(known) = self.known.get().filter(|known| known.id == id) {
            return Ok(Some(known));
        }
        let known = self
            .connection
            .prepare_cached(
                "SELECT n, version, next, messages, roots, bytes, head, active, first <> ''
                 FROM conversation WHERE id = ?1",
            )
            .during(ATTEMPT)?
            .query_row([id.as_bytes()], |row| {
                let number = |place: usize| row.get::<_, i64>(place);
                let state = State {
                    version: number(1)?.unsigned_abs(),
                    next: sequence(number(2)?),
                    messages: number(3)?.unsigned_abs(),
                    roots: sequence(number(4)?),
                    bytes: number(5)?.unsigned_abs(),
                    head: row.get::<_, Option<i64>>(6)?.map(sequence),
                    active: Time::from_micros(number(7)?),
                    has_first: row.get(8)?,
                };
                Ok(NumberedConversation { id, n: number(0)?, state })
            })
            .optional()
            .during(ATTEMPT)?;
        self.known.set(known);
        Ok(known)
    }

    fn number(&self, id: ConversationId) -> Result<Option<i64>> {
        Ok(self.known(id)?.map(|known| known.n))
    }
}

impl Rows for SqliteRows<'_> {
    fn has(&self, id: ConversationId) -> Result<bool> {
        Ok(self.known(id)?.is_some())
    }

    fn state(&self, id: ConversationId) -> Result<Presence> {
        Ok(self.known(id)?.map_or(Presence::Absent, |known| Presence::Stored(known.state)))
    }

    fn active(&self, _: ConversationId, state: &State) -> Result<Time> {
        Ok(state.active)
    }

    fn node(&self, id: ConversationId, message: MessageId) -> Result<Option<Node>> {
        let Some(n) = self.number(id)? else { return Ok(None) };
        let mut statement = self.connection.prepare_cached(NODE).during(ATTEMPT)?;
        let mut rows = statement.query(params![n, message.as_str()]).during(ATTEMPT)?;
        rows.next().during(ATTEMPT)?.map(node).transpose()
    }

    fn vouches(&self, node: &Node, link: Digest) -> bool {
        node.link == link
    }

    fn nodes(&self, id: ConversationId, visit: &mut dyn FnMut(&Node) -> Result<()>) -> Result<()> {
        let Some(n) = self.number(id)? else { return Ok(()) };
        let mut statement = self.connection.prepare_cached(NODES).during(ATTEMPT)?;
        let mut rows = statement.query(range(n)).during(ATTEMPT)?;
        while let Some(row) = rows.next().during(ATTEMPT)? {
            visit(&node(row)?)?;
        }
        Ok(())
    }

    fn messages(&self, id: ConversationId, which: Which<'_>, visit: &mut VisitMessage<'_>) -> Result<()> {
        let Some(n) = self.number(id)? else { return Ok(()) };
        match which {
            Which::Path(target) => path(self.connection, n, target.into(), visit),
            Which::Range(order, offset, limit) => all(self.connection, n, order, offset, limit, visit),
            Which::These(seqs) => {
                let mut statement = single(self.connection)?;
                seqs.iter().try_for_each(|seq| show_one(&mut statement, n, (*seq).into(), visit))
            }
        }
    }

    fn conversation(&self, id: ConversationId) -> Result<Option<ConversationRow>> {
        list::one(self.connection, id)
    }

    fn conversations(&self, visit: &mut dyn FnMut(ConversationRow) -> Result<()>) -> Result<()> {
        list::each(self.connection, visit)
    }

    fn blobs(
        &self,
        space: Space,
        owner: Option<ConversationId>,
        named: BlobNames<'_>,
        visit: &mut VisitBlob<'_>,
    ) -> Result<()> {
        blob::get(self.connection, space, owner, named, visit)
    }
}

/// The key of a message: its conversation's number above its sequence.
pub(super) const fn key(n: i64, seq: i64) -> i64 {
    (n << 32) + seq
}

/// The least and the greatest key of a conversation's messages.
pub(super) const fn range(n: i64) -> [i64; 2] {
    [key(n, 1), key(n, u32::MAX as i64)]
}

pub(super) fn sequence(seq: i64) -> u32 {
    u32::try_from(seq).unwrap_or(u32::MAX)
}

fn node(row: &Row<'_>) -> Result<Node> {
    let number = |place: usize| row.get::<_, i64>(place).during(ATTEMPT);
    let (id, link) = identity(row, 1, 6)?;
    Ok(Node {
        id,
        seq: sequence(number(0)?),
        parent: row.get::<_, Option<i64>>(2).during(ATTEMPT)?.map(sequence),
        depth: sequence(number(3)?),
        children: sequence(number(4)?),
        forked: number(5)? & FORKED != 0,
        link,
        size: number(7)?.unsigned_abs(),
    })
}

/// The id and the digest of a message, in these columns.
fn identity(row: &Row<'_>, id: usize, digest: usize) -> Result<(MessageId, Digest)> {
    let column = |place: usize| row.get_ref(place).during(ATTEMPT);
    let id: MessageId = column(id)?.as_str().map_err(|cause| shape(row, cause))?.parse()?;
    let digest = column(digest)?.as_blob().ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
    let digest = digest.ok_or_else(|| Error::corrupt(format!("message `{id}` has no digest")))?;
    Ok((id, Digest::from_bytes(digest)))
}

fn path(connection: &Connection, n: i64, target: i64, visit: &mut VisitMessage<'_>) -> Result<()> {
    let depth: i64 = connection
        .prepare_cached("SELECT depth FROM message WHERE key = ?1")
        .during(ATTEMPT)?
        .query_row([key(n, target)], |row| row.get(0))
        .optional()
        .during(ATTEMPT)?
        .ok_or_else(|| missing(target))?;
    // The target has `depth` ancestors, all with lower sequences. When there are exactly as many lower
    // sequences, every message up to the target is on the path, and one scan reads it.
    if depth + 1 == target {
        return scan(connection, n, target, visit);
    }
    let mut statement =
        connection.prepare_cached("SELECT parent FROM message WHERE key = ?1").during(ATTEMPT)?;
    let mut seqs = vec![target];
    let mut at = target;
    while let Some(parent) = statement
        .query_row([key(n, at)], |row| row.get::<_, Option<i64>>(0))
        .optional()
        .during(ATTEMPT)?
        .ok_or_else(|| missing(at))?
    {
        if parent >= at {
            return Err(Error::corrupt(format!("message number {at} comes before its parent")));
        }
        seqs.push(parent);
        at = parent;
    }
    let mut statement = single(connection)?;
    seqs.into_iter().rev().try_for_each(|seq| show_one(&mut statement, n, seq, visit))
}

fn missing(seq: i64) -> Error {
    Error::corrupt(format!("message number {seq} is missing"))
}

/// Visits everything up to `target`, where each message's parent is the one before it.
fn scan(connection: &Connection, n: i64, target: i64, visit: &mut VisitMessage<'_>) -> Result<()> {
    let mut statement = connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM message m WHERE m.key BETWEEN ?1 AND ?2 ORDER BY m.key"
        ))
        .during(ATTEMPT)?;
    let mut rows = statement.query([key(n, 1), key(n, target)]).during(ATTEMPT)?;
    let (mut before, mut at) = (None, 0);
    while let Some(row) = rows.next().during(ATTEMPT)? {
        let (seq, parent): (i64, Option<i64>) = (|| Ok((row.get(0)?, row.get(2)?)))().during(ATTEMPT)?;
        if seq != at + 1 || parent.unwrap_or(0) != at {
            return Err(Error::corrupt(format!("message number {seq} does not follow number {at}")));
        }
        before = Some(show(row, before, visit)?);
        at = seq;
    }
    if at == target { Ok(()) } else { Err(missing(target)) }
}

fn all(
    connection: &Connection,
    n: i64,
    order: Order,
    offset: u64,
    limit: u64,
    visit: &mut VisitMessage<'_>,
) -> Result<()> {
    let direction = match order {
        Order::OldestFirst => "ASC",
        Order::NewestFirst => "DESC",
    };
    let mut statement = connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS}, p.id FROM message m LEFT JOIN message p ON p.key = (m.key >> 32 << 32) + m.parent
             WHERE m.key BETWEEN ?1 AND ?2 ORDER BY m.key {direction} LIMIT ?3 OFFSET ?4"
        ))
        .during(ATTEMPT)?;
    let clamp = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let [first, last] = range(n);
    let mut rows = statement.query(params![first, last, clamp(limit), clamp(offset)]).during(ATTEMPT)?;
    while let Some(row) = rows.next().during(ATTEMPT)? {
        show(row, parent_id(row)?, visit)?;
    }
    Ok(())
}

fn single(connection: &Connection) -> Result<CachedStatement<'_>> {
    connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS}, p.id FROM message m LEFT JOIN message p ON p.key = (m.key >> 32 << 32) + m.parent
             WHERE m.key = ?1"
        ))
        .during(ATTEMPT)
}

fn show_one(
    statement: &mut CachedStatement<'_>,
    n: i64,
    seq: i64,
    visit: &mut VisitMessage<'_>,
) -> Result<()> {
    let mut rows = statement.query([key(n, seq)]).during(ATTEMPT)?;
    let row = rows.next().during(ATTEMPT)?.ok_or_else(|| missing(seq))?;
    let parent = parent_id(row)?;
    show(row, parent, visit).map(drop)
}

fn parent_id(row: &Row<'_>) -> Result<Option<MessageId>> {
    let id = row.get_ref(8).during(ATTEMPT)?.as_str_or_null().map_err(|cause| shape(row, cause))?;
    let parent: Option<i64> = row.get(2).during(ATTEMPT)?;
    if parent.is_some() && id.is_none() {
        return Err(Error::corrupt(format!(
            "the parent of message `{}` is missing",
            row.get::<_, String>(1).during(ATTEMPT)?
        )));
    }
    id.map(str::parse).transpose()
}

/// Visits one row and returns its id.
fn show(row: &Row<'_>, parent: Option<MessageId>, visit: &mut VisitMessage<'_>) -> Result<MessageId> {
    let number = |place: usize| row.get::<_, i64>(place).during(ATTEMPT);
    let (id, link) = identity(row, 1, 5)?;
    let bytes = |place: usize| match row.get_ref(place).during(ATTEMPT)? {
        ValueRef::Null => Ok(None),
        value => value.as_bytes().map(Some).map_err(|cause| shape(row, cause)),
    };
    let (label, body) = (bytes(6)?, bytes(7)?.unwrap_or_default());
    let flags = number(4)?;
    visit(&MessageRow {
        id,
        parent,
        seq: sequence(number(0)?),
        turn: sequence(number(3)?),
        forked: flags & FORKED != 0,
        link,
        label,
        is_pinned: flags & PINNED != 0,
        body,
        size: body.len() as u64,
    })?;
    Ok(id)
}

fn shape(row: &Row<'_>, cause: impl std::error::Error + Send + Sync + 'static) -> Error {
    let seq = row.get::<_, i64>(0).unwrap_or_default();
    Error::corrupt(format!("message number {seq} has a column of the wrong type")).because(cause)
}
