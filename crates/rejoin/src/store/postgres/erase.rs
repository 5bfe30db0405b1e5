//! Erasing what was removed: from tables, indexes and the files of large values.
//!
//! A row that is removed stays in its page until another takes the place, and the server has no command
//! that overwrites it. So the tables are written anew, which nobody may read meanwhile. A transaction that
//! began before the removal would take the rows along; then it is left for later, and told.

use std::thread;
use std::time::{Duration, Instant};

use crate::error::{ErrorKind, Result};
use crate::store::backend::{Amendment, Batch, Edit};
use crate::store::postgres::Postgres;
use crate::store::postgres::rows::PgRows;
use crate::store::postgres::session::PgSession;
use crate::store::postgres::value::values;
use crate::store::{Progress, Put, Space};

const ATTEMPT: &str = "erase what was removed";

/// The tables that hold what can be removed.
const TABLES: [&str; 5] = ["message", "conversation", "branch", "blob", "change"];

/// A removal erases at once what takes less than about a second to write anew.
const SMALL: i64 = 64 << 20;

/// How long the tables are waited for; whoever comes meanwhile waits behind.
const PATIENCE: &str = "2s";

/// How long transactions that still see what was removed are waited for.
const HELD: Duration = Duration::from_secs(1);

/// True when a commit leaves something in the files that has to go.
pub(super) fn leaves(batch: &Batch<'_>) -> bool {
    let is_removed = |blob: &Put<'_>| match blob.space {
        // What was still arriving goes with the next removal, as do the copies of rows that grew.
        Space::OpenTurn => false,
        Space::Companion | Space::Derived | Space::Copy => true,
        _ => blob.bytes.is_none(),
    };
    let is_edit = match &batch.edit {
        Edit::Amend(amend) => matches!(amend.change, Amendment::Rewrite(..)),
        Edit::None | Edit::Confirm(_) | Edit::Append(_) => false,
        Edit::Remove(removal) => !removal.going.is_empty(),
        Edit::Delete(_) => true,
    };
    is_edit || batch.blobs.iter().any(is_removed)
}

/// Notes that the running transaction removes something.
const NOTED: &str = "UPDATE ~erasure SET removed = pg_current_xact_id()::text::int8";

/// Notes it in a transaction.
pub(super) fn note(rows: &PgRows<'_>, batch: &Batch<'_>) -> Result<()> {
    if leaves(batch) {
        rows.ask(ATTEMPT, NOTED, &[])?;
    }
    Ok(())
}

impl Postgres {
    /// Erases what is small, after a removal.
    pub(super) fn erase_if_small(&self) -> Result<()> {
        let sql = "SELECT pg_total_relation_size('~message') + pg_total_relation_size('~blob')";
        let size = self.ask(ATTEMPT, sql, &[])?;
        if size.first().is_some_and(|row| row.get::<_, i64>(0) <= SMALL) {
            self.erase()?;
        }
        Ok(())
    }

    /// Writes the tables anew if something was removed from them. What is left is what still has to go.
    pub(super) fn erase(&self) -> Result<Progress> {
        let session = self.server.session()?;
        let waiting = "SELECT removed FROM ~erasure WHERE removed > erased";
        let Some(removed) = session.ask(ATTEMPT, waiting, &[])?.first().map(|row| row.get::<_, i64>(0))
        else {
            return Ok(Progress::default());
        };
        let left = Progress { left: 1, ..Progress::default() };
        let until = Instant::now() + HELD;
        while is_held(&session, removed)? {
            if Instant::now() < until {
                thread::sleep(Duration::from_millis(10));
                continue;
            }
            tracing::warn!("an older transaction keeps what was removed");
            return Ok(left);
        }
        match rewrite(&session) {
            Ok(true) => {}
            Ok(false) => return Ok(left),
            Err(error) if matches!(error.kind(), ErrorKind::Locked | ErrorKind::Denied) => {
                tracing::warn!(%error, "what was removed is still in the tables");
                return Ok(left);
            }
            Err(error) => return Err(error),
        }
        let done = "UPDATE ~erasure SET erased = greatest(erased, $1)";
        session.ask(ATTEMPT, done, &values![removed => INT8])?;
        Ok(Progress { done: 1, ..Progress::default() })
    }
}

/// True when some transaction, standby or slot may still see what this transaction removed.
fn is_held(session: &PgSession, removed: i64) -> Result<bool> {
    // Transactions have 32 bits there, and wrap around.
    let low = removed & 0xffff_ffff;
    let held = session.ask(
        ATTEMPT,
        "SELECT 1 FROM (
             SELECT backend_xmin AS xmin FROM pg_stat_activity
             WHERE pid <> pg_backend_pid() AND (datname = current_database() OR datname IS NULL)
             UNION ALL SELECT backend_xid FROM pg_stat_activity
             WHERE pid <> pg_backend_pid() AND datname = current_database()
             UNION ALL SELECT xmin FROM pg_replication_slots
             UNION ALL SELECT transaction FROM pg_prepared_xacts WHERE database = current_database()) held
         WHERE xmin IS NOT NULL AND age(xmin) >= age($1::text::xid) LIMIT 1",
        &values![low.to_string() => TEXT],
    )?;
    Ok(!held.is_empty())
}

/// Writes every table anew; false when this role may not.
fn rewrite(session: &PgSession) -> Result<bool> {
    session.run(ATTEMPT, &format!("SET lock_timeout = '{PATIENCE}'"))?;
    let rewritten = (|| {
        for table in TABLES {
            let file = format!("SELECT pg_relation_filenode('~{table}')::int8");
            let file = || {
                let rows = session.ask(ATTEMPT, &file, &[])?;
                Ok::<_, crate::error::Error>(rows.first().map(|row| row.get::<_, i64>(0)))
            };
            let before = file()?;
            session.run(ATTEMPT, &format!("VACUUM (FULL) ~{table}"))?;
            // The server only warns those who do not own the table.
            if file()? == before {
                return Ok(false);
            }
        }
        Ok(true)
    })();
    session.run(ATTEMPT, "RESET lock_timeout")?;
    rewritten
}
