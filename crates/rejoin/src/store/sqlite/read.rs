//! Reading messages of one conversation.

use std::borrow::Cow;

use rusqlite::types::{FromSqlResult, ValueRef};
use rusqlite::{CachedStatement, OptionalExtension, Row, Transaction, params};

use crate::error::{Error, Result};
use crate::model::{ConversationId, Digest, MessageId};
use crate::store::sqlite::append::{PINNED, key, sequence};
use crate::store::sqlite::fault::During;
use crate::store::sqlite::{no_message, unknown};
use crate::store::{Note, Order, Seen, Selection, Visit};

const ATTEMPT: &str = "read messages";

/// The columns of a message, in the order that [`show`] expects.
const COLUMNS: &str = "m.key & 0xffffffff, m.id, m.parent, m.turn, m.flags, m.digest, m.label, m.body";

pub(super) fn read(
    transaction: &Transaction<'_>,
    id: ConversationId,
    what: Selection<'_>,
    visit: &mut Visit<'_>,
) -> Result<()> {
    let (n, head): (i64, Option<i64>) = transaction
        .prepare_cached("SELECT n, head FROM conversation WHERE id = ?1")
        .during(ATTEMPT)?
        .query_row([id.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
        .during(ATTEMPT)?
        .ok_or_else(|| unknown(id))?;
    match what {
        Selection::Path(None) => match head {
            Some(head) => path(transaction, n, head, visit),
            None => Ok(()),
        },
        Selection::Path(Some(target)) => path(transaction, n, seq_of(transaction, n, target)?, visit),
        Selection::All { order, offset, limit } => all(transaction, n, order, offset, limit, visit),
        Selection::Ids(ids) => {
            // Every id is looked up before the first is visited.
            let seqs = ids.iter().map(|id| seq_of(transaction, n, *id)).collect::<Result<Vec<_>>>()?;
            let mut statement = single(transaction)?;
            seqs.into_iter().try_for_each(|seq| show_one(&mut statement, n, seq, visit))
        }
    }
}

pub(super) fn seq_of(transaction: &Transaction<'_>, n: i64, id: MessageId) -> Result<i64> {
    transaction
        .prepare_cached("SELECT key & 0xffffffff FROM message WHERE key >> 32 = ?1 AND id = ?2")
        .during(ATTEMPT)?
        .query_row(params![n, id.as_str()], |row| row.get(0))
        .optional()
        .during(ATTEMPT)?
        .ok_or_else(|| no_message(id))
}

fn path(transaction: &Transaction<'_>, n: i64, target: i64, visit: &mut Visit<'_>) -> Result<()> {
    let depth: i64 = transaction
        .prepare_cached("SELECT depth FROM message WHERE key = ?1")
        .during(ATTEMPT)?
        .query_row([key(n, target)], |row| row.get(0))
        .optional()
        .during(ATTEMPT)?
        .ok_or_else(|| Error::corrupt(format!("message number {target} is missing")))?;
    // The target has `depth` ancestors, all with lower sequences. When there are exactly as many lower sequences,
    // every message up to the target is on the path, and one scan reads it.
    if depth + 1 == target {
        return scan(transaction, n, target, visit);
    }
    let mut statement =
        transaction.prepare_cached("SELECT parent FROM message WHERE key = ?1").during(ATTEMPT)?;
    let mut seqs = vec![target];
    let mut at = target;
    while let Some(parent) = statement
        .query_row([key(n, at)], |row| row.get::<_, Option<i64>>(0))
        .optional()
        .during(ATTEMPT)?
        .ok_or_else(|| Error::corrupt(format!("message number {at} is missing")))?
    {
        if parent >= at {
            return Err(Error::corrupt(format!("message number {at} comes before its parent")));
        }
        seqs.push(parent);
        at = parent;
    }
    let mut statement = single(transaction)?;
    seqs.into_iter().rev().try_for_each(|seq| show_one(&mut statement, n, seq, visit))
}

/// Visits everything up to `target`, where each message's parent is the one before it.
fn scan(transaction: &Transaction<'_>, n: i64, target: i64, visit: &mut Visit<'_>) -> Result<()> {
    let mut statement = transaction
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
    if at != target {
        return Err(Error::corrupt(format!("message number {target} is missing")));
    }
    Ok(())
}

fn all(
    transaction: &Transaction<'_>,
    n: i64,
    order: Order,
    offset: u64,
    limit: u64,
    visit: &mut Visit<'_>,
) -> Result<()> {
    let direction = match order {
        Order::OldestFirst => "ASC",
        Order::NewestFirst => "DESC",
    };
    let mut statement = transaction
        .prepare_cached(&format!(
            "SELECT {COLUMNS}, p.id FROM message m LEFT JOIN message p ON p.key = (m.key >> 32 << 32) + m.parent
             WHERE m.key BETWEEN ?1 AND ?2 ORDER BY m.key {direction} LIMIT ?3 OFFSET ?4"
        ))
        .during(ATTEMPT)?;
    let clamp = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let range = params![key(n, 1), key(n, i64::from(u32::MAX)), clamp(limit), clamp(offset)];
    let mut rows = statement.query(range).during(ATTEMPT)?;
    while let Some(row) = rows.next().during(ATTEMPT)? {
        show(row, parent_id(row)?, visit)?;
    }
    Ok(())
}

fn single<'t>(transaction: &'t Transaction<'_>) -> Result<CachedStatement<'t>> {
    transaction
        .prepare_cached(&format!(
            "SELECT {COLUMNS}, p.id FROM message m LEFT JOIN message p ON p.key = (m.key >> 32 << 32) + m.parent
             WHERE m.key = ?1"
        ))
        .during(ATTEMPT)
}

fn show_one(statement: &mut CachedStatement<'_>, n: i64, seq: i64, visit: &mut Visit<'_>) -> Result<()> {
    let mut rows = statement.query([key(n, seq)]).during(ATTEMPT)?;
    let row = rows.next().during(ATTEMPT)?;
    let row = row.ok_or_else(|| Error::corrupt(format!("message number {seq} is missing")))?;
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
fn show(row: &Row<'_>, parent: Option<MessageId>, visit: &mut Visit<'_>) -> Result<MessageId> {
    let column = |place: usize| row.get_ref(place).during(ATTEMPT);
    let number = |place: usize| row.get::<_, i64>(place).during(ATTEMPT);
    let id: MessageId = column(1)?.as_str().map_err(|cause| shape(row, cause))?.parse()?;
    let digest = column(5)?.as_blob().ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
    let digest = digest.ok_or_else(|| Error::corrupt(format!("message `{id}` has no digest")))?;
    let text = |place: usize| lenient(column(place)?).map_err(|cause| shape(row, cause));
    let (label, body) = (text(6)?, text(7)?.unwrap_or_default());
    visit(Seen {
        id,
        parent,
        seq: sequence(number(0)?),
        turn: sequence(number(3)?),
        link: Digest::from_bytes(digest),
        note: Note { label: label.as_deref(), is_pinned: number(4)? & PINNED != 0 },
        body: &body,
        size: body.len() as u64,
    })?;
    Ok(id)
}

/// A text, where there is one. One with bytes that are none does not fit its digest and does not open, like one with other
/// letters; what stands beside it is shown.
pub(super) fn lenient(value: ValueRef<'_>) -> FromSqlResult<Option<Cow<'_, str>>> {
    match value {
        ValueRef::Text(bytes) => Ok(Some(String::from_utf8_lossy(bytes))),
        other => Ok(other.as_str_or_null()?.map(Cow::Borrowed)),
    }
}

fn shape(row: &Row<'_>, cause: impl std::error::Error + Send + Sync + 'static) -> Error {
    let seq = row.get::<_, i64>(0).unwrap_or_default();
    Error::corrupt(format!("message number {seq} has a column of the wrong type")).because(cause)
}
