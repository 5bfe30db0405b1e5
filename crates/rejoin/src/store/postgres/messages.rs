//! Visiting messages: a path, a range, or some by their sequence.

use tokio_postgres::Row;

use crate::error::{Error, Result};
use crate::model::{ConversationId, MessageId};
use crate::store::Order;
use crate::store::backend::{MessageRow, VisitMessage};
use crate::store::postgres::rows::{FORKED, PINNED, PgRows, link, sequence};
use crate::store::postgres::value::{Uuid, values};

const ATTEMPT: &str = "read messages";

/// The columns of a message, in the order that [`show`] expects.
const COLUMNS: &str = "m.seq, m.id, m.parent, m.turn, m.flags, m.digest, m.label, m.body";

/// The id of a message's parent, looked up row by row, so that rows come as they are read.
const PARENT: &str =
    "(SELECT p.id FROM ~message p WHERE p.conversation = m.conversation AND p.seq = m.parent)";

/// Visits the path to a message, whose depth may be known.
pub(super) fn path(
    rows: &PgRows<'_>,
    id: ConversationId,
    (target, depth): (u32, Option<u32>),
    visit: &mut VisitMessage<'_>,
) -> Result<()> {
    let (own, last) = (Uuid::from(id), i64::from(target));
    let depth = match depth {
        Some(depth) => depth,
        None => {
            let sql = "SELECT depth FROM ~message WHERE conversation = $1 AND seq = $2";
            let found = rows.ask(ATTEMPT, sql, &values![own => UUID, last => INT8])?;
            sequence(found.first().ok_or_else(|| missing(target))?.get(0))
        }
    };
    // The target has `depth` ancestors, all with lower sequences. When there are exactly as many lower
    // sequences, every message up to the target is on the path, and one scan reads it.
    let sql = if depth.checked_add(1) == Some(target) {
        format!("SELECT {COLUMNS} FROM ~message m WHERE m.conversation = $1 AND m.seq <= $2 ORDER BY m.seq")
    } else {
        format!(
            "WITH RECURSIVE path (seq, parent) AS (
                 SELECT seq, parent FROM ~message WHERE conversation = $1 AND seq = $2
                 UNION ALL SELECT m.seq, m.parent FROM path p
                 JOIN ~message m ON m.conversation = $1 AND m.seq = p.parent AND m.seq < p.seq)
             SELECT {COLUMNS} FROM path JOIN ~message m ON m.conversation = $1 AND m.seq = path.seq
             ORDER BY m.seq"
        )
    };
    let (mut before, mut at) = (None, None);
    rows.each(ATTEMPT, &sql, &values![own => UUID, last => INT8], &mut |row| {
        let seq = sequence(row.get(0));
        if row.get::<_, Option<i64>>(2).map(sequence) != at {
            let after = at.unwrap_or(0);
            return Err(Error::corrupt(format!("message number {seq} does not follow number {after}")));
        }
        before = Some(show(row, before, visit)?);
        at = Some(seq);
        Ok(())
    })?;
    if at == Some(target) { Ok(()) } else { Err(missing(target)) }
}

/// Visits all messages in an order, after so many and at most so many.
pub(super) fn range(
    rows: &PgRows<'_>,
    id: ConversationId,
    order: Order,
    (offset, limit): (u64, u64),
    visit: &mut VisitMessage<'_>,
) -> Result<()> {
    let direction = match order {
        Order::OldestFirst => "ASC",
        Order::NewestFirst => "DESC",
    };
    let sql = format!(
        "SELECT {COLUMNS}, {PARENT} FROM ~message m WHERE m.conversation = $1
         ORDER BY m.seq {direction} LIMIT $2 OFFSET $3"
    );
    let clamp = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let (own, limit, offset) = (Uuid::from(id), clamp(limit), clamp(offset));
    let values = values![own => UUID, limit => INT8, offset => INT8];
    rows.each(ATTEMPT, &sql, &values, &mut |row| show(row, parent(row)?, visit).map(drop))
}

/// Visits the messages with these sequences, in this order.
pub(super) fn these(
    rows: &PgRows<'_>,
    id: ConversationId,
    seqs: &[u32],
    visit: &mut VisitMessage<'_>,
) -> Result<()> {
    let sql = format!(
        "SELECT {COLUMNS}, {PARENT}, wanted.seq FROM unnest($2) WITH ORDINALITY AS wanted (seq, place)
         LEFT JOIN ~message m ON m.conversation = $1 AND m.seq = wanted.seq ORDER BY wanted.place"
    );
    let own = Uuid::from(id);
    let wanted: Vec<i64> = seqs.iter().copied().map(i64::from).collect();
    rows.each(ATTEMPT, &sql, &values![own => UUID, wanted => INT8_ARRAY], &mut |row| {
        if row.get::<_, Option<i64>>(0).is_none() {
            return Err(missing(sequence(row.get(9))));
        }
        show(row, parent(row)?, visit).map(drop)
    })
}

fn missing(seq: u32) -> Error {
    Error::corrupt(format!("message number {seq} is missing"))
}

fn parent(row: &Row) -> Result<Option<MessageId>> {
    let id: Option<&str> = row.get(8);
    if id.is_none() && row.get::<_, Option<i64>>(2).is_some() {
        let own: &str = row.get(1);
        return Err(Error::corrupt(format!("the parent of message `{own}` is missing")));
    }
    id.map(str::parse).transpose()
}

/// Visits one row and returns its id.
fn show(row: &Row, parent: Option<MessageId>, visit: &mut VisitMessage<'_>) -> Result<MessageId> {
    let id: MessageId = row.get::<_, &str>(1).parse()?;
    let (flags, body): (i16, &[u8]) = (row.get(4), row.get(7));
    visit(&MessageRow {
        id,
        parent,
        seq: sequence(row.get(0)),
        turn: sequence(row.get(3)),
        forked: flags & FORKED != 0,
        link: link(row.get(5), id)?,
        label: row.get(6),
        is_pinned: flags & PINNED != 0,
        body,
        size: body.len() as u64,
    })?;
    Ok(id)
}
