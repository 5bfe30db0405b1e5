//! Folding the write-ahead log into the main file, away from the append.
//!
//! The log grows with each commit. Folding it costs two syncs, so it is done once for many commits, on a thread of its
//! own. The log then keeps its length: a commit that overwrites blocks which the file system has already allocated is
//! almost twice as fast as one that extends the file. For the same reason a new log is given its length at once.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::limits::Limit;
use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, DEFAULT_NAME};

use crate::error::{ErrorKind, Result};
use crate::store::sqlite::fault::During;
use crate::store::sqlite::open::{Use, open};
use crate::store::sqlite::{Access, SqliteStore, Writer, lock};
use crate::store::{Progress, place};

const ATTEMPT: &str = "fold the log into the database";

/// The log is folded when it has this many pages: 4 MiB, some forty turns.
const LONG: i32 = 256;

/// A disk with less room than this, 16 logs, keeps it for conversations.
const ROOM: u64 = 64 << 20;

/// The thread that folds the log. Dropping it waits until it is done.
pub(super) struct Folder {
    bell: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Folder {
    fn start(path: PathBuf, wait: Duration, writer: Arc<Mutex<Writer>>) -> Self {
        let (bell, rung) = sync_channel(1);
        let thread = std::thread::spawn(move || {
            while rung.recv().is_ok() {
                // What cannot be folded now stays in the log, where it is just as safe.
                if let Err(error) = fold(&path, wait, &writer) {
                    tracing::warn!(kind = error.kind().as_str(), "the log was not folded");
                }
            }
        });
        Self { bell: Some(bell), thread: Some(thread) }
    }

    fn ring(&self) {
        // A full bell has been rung already.
        let _ = self.bell.as_ref().map(|bell| bell.try_send(()));
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        self.bell = None;
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn fold(path: &Path, wait: Duration, writer: &Mutex<Writer>) -> Result<()> {
    let connection = open(path, wait, Use::Unsynced)?;
    connection.wal_checkpoint_v2(DEFAULT_NAME, CheckpointMode::PASSIVE).during(ATTEMPT)?;
    // The log starts again from its beginning only when all of it is folded. What came in meanwhile is little; it is
    // folded while this process's writer waits.
    let _writing = lock(writer);
    connection.wal_checkpoint_v2(DEFAULT_NAME, CheckpointMode::PASSIVE).during(ATTEMPT)?;
    Ok(())
}

impl SqliteStore {
    /// Has the log folded if it is long, without waiting for it.
    pub(super) fn fold_log_if_long(&self) {
        if self.log_length() < LONG {
            return;
        }
        // A sealed copy has no log.
        let Access::Shared(wait) = self.access else { return };
        let mut folder = lock(&self.folder);
        folder.get_or_insert_with(|| Folder::start(self.path.clone(), wait, Arc::clone(&self.writer))).ring();
    }

    /// How many pages of the log are not folded yet.
    fn log_length(&self) -> i32 {
        let writer = lock(&self.writer);
        let connection = writer.synced.as_ref().or(writer.unsynced.as_ref());
        let state =
            connection.map(|connection| connection.wal_checkpoint_v2(DEFAULT_NAME, CheckpointMode::NOOP));
        match state {
            Some(Ok((pages, folded))) => pages - folded,
            Some(Err(_)) | None => 0,
        }
    }

    /// Folds the whole log and cuts it to nothing, waiting for readers; what was deleted is then in no file.
    pub(super) fn cut_log(&self) -> Result<Progress> {
        let cut = self.maintaining(|connection| {
            connection.wal_checkpoint_v2(DEFAULT_NAME, CheckpointMode::TRUNCATE).during(ATTEMPT)
        });
        match cut {
            Ok((pages, _)) => Ok(Progress { done: u64::try_from(pages).unwrap_or(0), ..Progress::default() }),
            Err(error) if error.kind() == ErrorKind::Locked => {
                Ok(Progress { left: 1, ..Progress::default() })
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

/// Gives a new log its length: commits that change one page over and over, without syncs, then a fold.
///
/// It has a connection of its own, so that the one that keeps messages always syncs. A store works without this.
pub(super) fn lengthen(path: &Path, wait: Duration) -> Result<()> {
    let attempt = "give the log its length";
    if place::free_bytes(path).is_ok_and(|free| free < ROOM) {
        return Ok(());
    }
    let connection = open(path, wait, Use::Unsynced)?;
    // The row is written before anything is indexed, so its value means nothing yet.
    let mut statement =
        connection.prepare("INSERT OR REPLACE INTO search (one, version) VALUES (1, -?1)").during(attempt)?;
    for number in 0..LONG {
        statement.execute([number]).during(attempt)?;
    }
    connection.execute_batch("DELETE FROM search").during(attempt)?;
    connection.wal_checkpoint_v2(DEFAULT_NAME, CheckpointMode::PASSIVE).during(attempt)?;
    Ok(())
}
