//! The log of changes, so that a follower in any process sees each one.
//!
//! A stamp is the number of the transaction that wrote the entry, and the entry's place in it. Transactions
//! do not commit in order of their numbers, so an entry is shown only when every transaction with a lower
//! number has ended: nobody goes past one that commits late.

use std::time::{Duration, Instant};

use tokio_postgres::Row;

use crate::error::{Error, Result};
use crate::model::Time;
use crate::store::backend::LogEntry;
use crate::store::postgres::Postgres;
use crate::store::postgres::session::PgSession;
use crate::store::postgres::value::{TypedValue, Uuid, values};
use crate::store::{Changed, Stamp, What};

const ATTEMPT: &str = "read the log of changes";

/// How often changes are looked for when nothing rings.
const LOOK: Duration = Duration::from_millis(250);

/// How long a look waits for older transactions, which hide what was committed after they began.
const SETTLE: Duration = Duration::from_millis(200);

/// How often it looks meanwhile.
const BRIEFLY: Duration = Duration::from_millis(4);

/// How many changes one answer holds at most; a follower asks again.
const MOST: i64 = 10_000;

/// Bits of a stamp below the number of the transaction.
const PLACE_BITS: u32 = 20;

const STORED: i16 = 1;
const CHANGED: i16 = 2;
const TRIMMED: i16 = 3;
const DELETED: i16 = 4;
const REWRITTEN: i16 = 5;

/// How an entry is told apart from others.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChangeTag {
    /// Random, the same for all entries of a transaction.
    pub(super) tag: i64,
    /// The entry's place in its transaction.
    pub(super) place: i64,
}

/// An entry as columns.
pub(super) struct ChangeColumns<'e> {
    conversation: Uuid,
    at: i64,
    what: i16,
    messages: Option<i64>,
    reason: Option<&'e [u8]>,
    stamped: ChangeTag,
}

impl<'e> ChangeColumns<'e> {
    pub(super) fn of(entry: &'e LogEntry, stamped: ChangeTag) -> Self {
        let (what, messages, reason) = match &entry.what {
            What::Stored { messages } => (STORED, Some(messages.cast_signed()), None),
            What::Changed => (CHANGED, None, None),
            What::Rewritten => (REWRITTEN, None, None),
            What::Trimmed { reason } => (TRIMMED, None, Some(reason.as_bytes())),
            What::Deleted { reason } => (DELETED, None, Some(reason.as_bytes())),
        };
        let (conversation, at) = (entry.conversation.into(), entry.at.as_micros());
        Self { conversation, at, what, messages, reason, stamped }
    }

    /// A statement that adds an entry for each row of `when`, with its values from number `first`. The
    /// conversation is value 1.
    pub(super) fn sql(first: usize, when: &str) -> String {
        let [at, what, messages, reason, tag, place] = [0, 1, 2, 3, 4, 5].map(|place| first + place);
        format!(
            "INSERT INTO ~change (conversation, stamp, at, what, messages, reason, tag)
             SELECT $1, ((SELECT added FROM ~epoch) + pg_current_xact_id()::text::int8) << {PLACE_BITS} | ${place},
                 ${at}, ${what}, ${messages}, ${reason}, ${tag} FROM {when}"
        )
    }

    pub(super) fn values(&self) -> [TypedValue<'_>; 6] {
        values![
            self.at => INT8, self.what => INT2, self.messages => INT8, self.reason => BYTEA,
            self.stamped.tag => INT8, self.stamped.place => INT8,
        ]
    }

    /// Adds the entry.
    pub(super) fn write(&self, session: &PgSession) -> Result<()> {
        let mut values = values![self.conversation => UUID].to_vec();
        values.extend(self.values());
        session.ask("note a change", &Self::sql(2, "(SELECT 1) AS one"), &values).map(drop)
    }
}

impl Postgres {
    pub(super) fn wait_for_changes(&self, after: Stamp, wait: Duration) -> Result<Vec<Changed>> {
        let began = Instant::now();
        let until = began.checked_add(wait);
        if !wait.is_zero() {
            self.listen();
        }
        loop {
            let rung = self.bell.count();
            let (changes, is_hiding) = self.since(after)?;
            let left = until.map_or(LOOK, |until| until.saturating_duration_since(Instant::now()));
            let is_settling = is_hiding && began.elapsed() < SETTLE;
            if !is_settling && (left.is_zero() || !changes.is_empty()) {
                return Ok(changes);
            }
            self.bell.wait(rung, if is_hiding { BRIEFLY } else { left.min(LOOK) });
        }
    }

    /// The changes that nothing older can precede, and whether more are hidden.
    fn since(&self, after: Stamp) -> Result<(Vec<Changed>, bool)> {
        let sql = format!(
            "SELECT c.stamp, c.at, c.conversation, c.what, c.messages, c.reason, c.stamp < settled.stamp
             FROM (SELECT ((SELECT added FROM ~epoch)
                     + pg_snapshot_xmin(pg_current_snapshot())::text::int8) << {PLACE_BITS} AS stamp) settled,
                 ~change c
             WHERE c.stamp > $1 ORDER BY c.stamp LIMIT {MOST}"
        );
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let rows = self.ask(ATTEMPT, &sql, &values![after => INT8])?;
        let settled = rows.iter().take_while(|row| row.get(6)).map(changed).collect::<Result<Vec<_>>>()?;
        let is_hiding = settled.len() < rows.len();
        Ok((settled, is_hiding))
    }
}

fn changed(row: &Row) -> Result<Changed> {
    let reason = || {
        let bytes: Option<&[u8]> = row.get(5);
        String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned()
    };
    let stamp = row.get::<_, i64>(0).unsigned_abs();
    let what = match row.get::<_, i16>(3) {
        STORED => What::Stored { messages: row.get::<_, Option<i64>>(4).unwrap_or_default().unsigned_abs() },
        CHANGED => What::Changed,
        REWRITTEN => What::Rewritten,
        TRIMMED => What::Trimmed { reason: reason() },
        DELETED => What::Deleted { reason: reason() },
        other => {
            let what = format!("the log of changes has the unknown kind {other} at {stamp}");
            return Err(Error::corrupt(what));
        }
    };
    let (at, conversation) = (Time::from_micros(row.get(1)), row.get::<_, Uuid>(2).id());
    Ok(Changed { stamp, at, conversation, what })
}
