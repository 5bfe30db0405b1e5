//! Folding the write-ahead log into the main file, away from the append.
//!
//! The log grows with each commit. Folding it costs two syncs, so it is done once for many commits.

use rusqlite::limits::Limit;
use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, DEFAULT_NAME};

use crate::error::Result;
use crate::store::Progress;
use crate::store::sqlite::fault::During;
use crate::store::sqlite::open::Use;
use crate::store::sqlite::{SqliteStore, lock};

const ATTEMPT: &str = "fold the log into the database";

/// The log is folded when it has this many pages: 4 MiB, some forty turns.
const LONG: i32 = 256;

impl SqliteStore {
    /// Folds the log if it is long. What readers still need stays for the next time.
    pub(super) fn fold_log_if_long(&self) -> Result<()> {
        let writer = lock(&self.writer);
        let Some(connection) = writer.synced.as_ref().or(writer.unsynced.as_ref()) else { return Ok(()) };
        let Ok((pages, folded)) = connection.wal_checkpoint_v2(DEFAULT_NAME, CheckpointMode::NOOP) else {
            return Ok(());
        };
        if pages - folded < LONG {
            return Ok(());
        }
        match connection.wal_checkpoint_v2(DEFAULT_NAME, CheckpointMode::PASSIVE).during(ATTEMPT) {
            // Another process is folding it; the messages are safe either way.
            Err(error) if error.kind() == crate::error::ErrorKind::Locked => Ok(()),
            other => other.map(drop),
        }
    }

    /// Folds the whole log and cuts it to nothing, waiting for readers; what was deleted is then in no file.
    pub(super) fn cut_log(&self) -> Result<Progress> {
        let cut = self.maintaining(|connection| {
            connection.wal_checkpoint_v2(DEFAULT_NAME, CheckpointMode::TRUNCATE).during(ATTEMPT)
        });
        match cut {
            Ok((pages, _)) => {
                Ok(Progress { done: u64::try_from(pages).unwrap_or(0), left: 0, faults: Vec::new() })
            }
            Err(error) if error.kind() == crate::error::ErrorKind::Locked => {
                Ok(Progress { done: 0, left: 1, faults: Vec::new() })
            }
            Err(error) => Err(error),
        }
    }

    /// Rewrites the file without the space that deleted rows left.
    pub(super) fn repack(&self) -> Result<Progress> {
        let attempt = "rewrite the database without its gaps";
        self.maintaining(|connection| {
            connection.execute_batch("INSERT INTO words (words) VALUES ('optimize')").during(attempt)?;
            // SQLite builds the new file as an attached database, which is forbidden at all other times.
            connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 1).during(attempt)?;
            let rewritten = connection.execute_batch("VACUUM").during(attempt);
            connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0).during(attempt)?;
            rewritten
        })?;
        self.cut_log()
    }

    /// Runs work that needs the writing connection but no transaction.
    fn maintaining<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let mut writer = lock(&self.writer);
        let connection = match &mut writer.synced {
            Some(connection) => connection,
            empty => empty.insert(self.open_another(Use::Synced)?),
        };
        work(connection)
    }
}
