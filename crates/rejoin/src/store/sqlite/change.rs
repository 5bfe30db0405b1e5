//! The log of changes, so that a follower in any process sees each one.

use std::time::{Duration, Instant};

use rusqlite::types::{Null, ToSqlOutput, Value};
use rusqlite::{Connection, params};

use crate::error::{Error, Result};
use crate::model::{ConversationId, Time};
use crate::store::backend::LogEntry;
use crate::store::sqlite::fault::DuringSql;
use crate::store::sqlite::{Sqlite, lock};
use crate::store::{Changed, Stamp, What};

/// How often another process's changes are looked for.
const LOOK: Duration = Duration::from_millis(50);

/// How many changes one answer holds at most; a follower asks again.
const MOST: usize = 10_000;

const STORED: i64 = 1;
const CHANGED: i64 = 2;
const TRIMMED: i64 = 3;
const DELETED: i64 = 4;
const REWRITTEN: i64 = 5;

/// Adds an entry to the log.
pub(super) fn note(connection: &Connection, entry: &LogEntry) -> Result<()> {
    let (what, detail) = match &entry.what {
        What::Stored { messages } => (STORED, ToSqlOutput::from(messages.cast_signed())),
        What::Changed => (CHANGED, ToSqlOutput::from(Null)),
        What::Rewritten => (REWRITTEN, ToSqlOutput::from(Null)),
        What::Trimmed { reason } => (TRIMMED, ToSqlOutput::from(reason.as_str())),
        What::Deleted { reason } => (DELETED, ToSqlOutput::from(reason.as_str())),
    };
    connection
        .prepare_cached("INSERT INTO change (at, id, what, detail) VALUES (?1, ?2, ?3, ?4)")
        .during("note a change")?
        .execute(params![entry.at.as_micros(), entry.conversation.as_bytes(), what, detail])
        .during("note a change")?;
    Ok(())
}

impl Sqlite {
    pub(super) fn wait_for_changes(&self, after: Stamp, wait: Duration) -> Result<Vec<Changed>> {
        let until = Instant::now().checked_add(wait);
        loop {
            let rung = *lock(&self.bell.0);
            let changes = self.glancing(|connection| since(connection, after))?;
            let left = until.map_or(LOOK, |until| until.saturating_duration_since(Instant::now()));
            if !changes.is_empty() || left.is_zero() {
                return Ok(changes);
            }
            // Nobody writes to files that were taken away, so there would be nothing to wait for.
            self.refuse_displaced()?;
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
            (other, _) => {
                return Err(Error::corrupt(format!(
                    "the log of changes has the unknown kind {other} at {stamp}"
                )));
            }
        };
        let (stamp, at) = (stamp.unsigned_abs(), Time::from_micros(at));
        changes.push(Changed { stamp, at, conversation: ConversationId::from_bytes(id), what });
    }
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sqlite::blob;
    use crate::store::sqlite::open::ConnectionUse;
    use crate::store::{BlobNames, Put, Read as _, Safety, Space, SqliteStore, Store as _};

    fn stored(connection: &Connection, conversation: ConversationId, messages: u64) -> Result<()> {
        note(connection, &LogEntry { conversation, at: Time::default(), what: What::Stored { messages } })
    }

    fn put(store: &SqliteStore, bytes: &[u8]) {
        let put = Put { space: Space::State, owner: None, name: b"data", bytes: Some(bytes) };
        store.put(&[put], Safety::Synced).unwrap();
    }

    fn key(store: &SqliteStore) -> Vec<u8> {
        let mut found = Vec::new();
        store
            .get(Space::State, None, BlobNames::One(b"data"), &mut |_, bytes| {
                found = bytes.to_vec();
                // Whoever is shown a key may write.
                put(store, b"replaced");
                Ok(())
            })
            .unwrap();
        found
    }

    #[test]
    fn a_handle_that_wrote_sees_what_another_wrote_after_it() {
        let folder = tempfile::tempdir().unwrap();
        let [own, other] = [0; 2].map(|_| SqliteStore::open(folder.path().join("history.db")).unwrap());
        let id = ConversationId::from_bytes([7; 16]);
        put(&own, b"own");
        own.backend()
            .writing("note", ConnectionUse::Synced, |transaction| stored(transaction, id, 1))
            .unwrap();
        let before = own.changes(0, Duration::ZERO).unwrap();

        put(&other, b"other");
        other
            .backend()
            .writing("note", ConnectionUse::Synced, |transaction| stored(transaction, id, 2))
            .unwrap();

        let all = own.changes(0, Duration::ZERO).unwrap();
        let told = |changes: &[Changed]| changes.iter().map(|change| change.what.clone()).collect::<Vec<_>>();
        assert_eq!(told(&before), [What::Stored { messages: 1 }]);
        assert_eq!(told(&all), [What::Stored { messages: 1 }, What::Stored { messages: 2 }]);
        assert_eq!([key(&own), key(&other)], [b"other".to_vec(), b"replaced".to_vec()]);
    }

    #[test]
    fn a_look_does_not_wait_for_a_write_of_the_same_handle() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path().join("history.db")).unwrap();
        put(&store, b"before");

        let seen = store.backend().writing("write", ConnectionUse::Synced, |transaction| {
            stored(transaction, ConversationId::from_bytes([7; 16]), 1)?;
            let found =
                store.backend().glancing(|connection| blob::one(connection, Space::State, None, b"data"))?;
            Ok((store.changes(0, Duration::ZERO)?, found))
        });

        assert_eq!(seen.unwrap(), (Vec::new(), Some(b"before".to_vec())));
    }
}
