//! The log of changes, so that a follower in any process sees each one.

use std::time::{Duration, Instant};

use rusqlite::types::Value;
use rusqlite::{Connection, params};

use crate::error::{Error, Result};
use crate::model::{ConversationId, Time};
use crate::store::sqlite::fault::During;
use crate::store::sqlite::{SqliteStore, lock};
use crate::store::{Change, Changed, Stamp, What};

/// How often another process's changes are looked for.
const LOOK: Duration = Duration::from_millis(50);

/// How many changes one answer holds at most; a follower asks again.
const MOST: usize = 10_000;

const STORED: i64 = 1;
const CHANGED: i64 = 2;
const TRIMMED: i64 = 3;
const DELETED: i64 = 4;
const REWRITTEN: i64 = 5;

pub(super) fn stored(connection: &Connection, at: Time, id: ConversationId, messages: i64) -> Result<()> {
    tell(connection, at, id, STORED, Value::Integer(messages))
}

pub(super) fn changed(
    connection: &Connection,
    at: Time,
    id: ConversationId,
    change: &Change<'_>,
) -> Result<()> {
    let what = if matches!(change, Change::Rewrite { .. }) { REWRITTEN } else { CHANGED };
    tell(connection, at, id, what, Value::Null)
}

pub(super) fn trimmed(connection: &Connection, at: Time, id: ConversationId, reason: &str) -> Result<()> {
    tell(connection, at, id, TRIMMED, Value::Text(reason.to_owned()))
}

pub(super) fn deleted(connection: &Connection, at: Time, id: ConversationId, reason: &str) -> Result<()> {
    tell(connection, at, id, DELETED, Value::Text(reason.to_owned()))
}

fn tell(connection: &Connection, at: Time, id: ConversationId, what: i64, detail: Value) -> Result<()> {
    connection
        .prepare_cached("INSERT INTO change (at, id, what, detail) VALUES (?1, ?2, ?3, ?4)")
        .during("note a change")?
        .execute(params![at.as_micros(), id.as_bytes(), what, detail])
        .during("note a change")?;
    Ok(())
}

impl SqliteStore {
    pub(super) fn wait_for_changes(&self, after: Stamp, wait: Duration) -> Result<Vec<Changed>> {
        let until = Instant::now().checked_add(wait);
        loop {
            let rung = *lock(&self.bell.0);
            let changes = self.reading(|connection| since(connection, after))?;
            let left = until.map_or(LOOK, |until| until.saturating_duration_since(Instant::now()));
            if !changes.is_empty() || left.is_zero() {
                return Ok(changes);
            }
            let (bell, ring) = &self.bell;
            // A poisoned bell still rings.
            let _ = ring.wait_timeout_while(lock(bell), left.min(LOOK), |now| *now == rung);
        }
    }
}

fn since(connection: &Connection, after: Stamp) -> Result<Vec<Changed>> {
    let attempt = "read the log of changes";
    let mut statement = connection
        .prepare_cached(
            "SELECT stamp, at, id, what, detail FROM change WHERE stamp > ?1 ORDER BY stamp LIMIT ?2",
        )
        .during(attempt)?;
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![after, MOST as i64]).during(attempt)?;
    let mut changes = Vec::new();
    while let Some(row) = rows.next().during(attempt)? {
        let (stamp, at, id, what, detail): (i64, i64, [u8; 16], i64, Value) =
            (|| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))().during(attempt)?;
        let what = match (what, detail) {
            (STORED, Value::Integer(messages)) => What::Stored { messages: messages.unsigned_abs() },
            (CHANGED, _) => What::Changed,
            (REWRITTEN, _) => What::Rewritten,
            (TRIMMED, Value::Text(reason)) => What::Trimmed { reason },
            (DELETED, Value::Text(reason)) => What::Deleted { reason },
            (other, _) => return Err(Error::corrupt(format!("change {stamp} has the unknown kind {other}"))),
        };
        let (stamp, at) = (stamp.unsigned_abs(), Time::from_micros(at));
        changes.push(Changed { stamp, at, conversation: ConversationId::from_bytes(id), what });
    }
    Ok(changes)
}
