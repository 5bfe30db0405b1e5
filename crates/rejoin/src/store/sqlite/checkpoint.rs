//! Folding the write-ahead log into the main file, away from the append.
//!
//! The log grows with each commit. Folding it costs five syncs, so it is done once for many commits, on a
//! thread of its own. The log then keeps its length: a commit that overwrites blocks which the file
//! system has already allocated is almost twice as fast as one that extends the file. For the same reason
//! a new log is given its length at once.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::limits::Limit;
use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, DEFAULT_NAME, Transaction, TransactionBehavior};

use crate::error::{ErrorKind, Result};
use crate::store::sqlite::fault::DuringSql;
use crate::store::sqlite::files::{self, OpenFiles};
use crate::store::sqlite::open::{ConnectionUse, LogIndex, open_again};
use crate::store::sqlite::{FileAccess, Sqlite, WriteConnection, lock};
use crate::store::{Progress, place};

const ATTEMPT: &str = "fold the log into the database";

/// The log is folded when it has this many pages: 6 MiB, some sixty turns, so that the five syncs of a fold
/// come to less than a tenth of a sync a turn.
const LONG: i32 = 384;

/// With less room than this, 16 MiB, a log of the usual length could take what the main file needs to grow.
const ROOM: u64 = 16 << 20;

/// With so little room, the log is folded when it has this many pages: 256 KiB, two or three turns.
const SHORT: i32 = 16;

/// The thread that folds the log. Dropping it waits until it is done.
pub(super) struct CheckpointThread {
    bell: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl CheckpointThread {
    /// None where the system has no thread left.
    fn start(log: DatabaseLog, writer: Arc<Mutex<WriteConnection>>) -> Option<Self> {
        let (bell, rung) = sync_channel(1);
        let work = move || {
            while rung.recv().is_ok() {
                // What cannot be folded now stays in the log, where it is just as safe.
                if let Err(error) = log.fold(&writer) {
                    tracing::warn!(kind = error.kind().as_str(), "the log was not folded");
                }
            }
        };
        let thread = std::thread::Builder::new().spawn(work).ok()?;
        Some(Self { bell: Some(bell), thread: Some(thread) })
    }

    fn ring(&self) {
        // A full bell has been rung already.
        let _ = self.bell.as_ref().map(|bell| bell.try_send(()));
    }
}

impl Drop for CheckpointThread {
    fn drop(&mut self) {
        self.bell = None;
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The log of an open database: where it is, and how it is opened.
struct DatabaseLog {
    path: PathBuf,
    wait: Duration,
    index: LogIndex,
    files: Arc<OpenFiles>,
}

impl DatabaseLog {
    fn fold(&self, writer: &Mutex<WriteConnection>) -> Result<()> {
        // Opening would create a file that is gone, and folding would fill one that was cut short with holes.
        if self.files.check()? == files::FileLength::Shorter {
            return Ok(());
        }
        let connection = open_again(&self.path, self.wait, ConnectionUse::Unsynced, self.index)?;
        // The bell was rung again while the last fold was under way, which left nothing to do.
        if !LogLength::of(&connection).is_due(&self.path) {
            return Ok(());
        }
        connection.wal_checkpoint_v2(DEFAULT_NAME, CheckpointMode::PASSIVE).during(ATTEMPT)?;
        // The log starts again from its beginning only when all of it is folded. What came in meanwhile is
        // little; it is folded while this process's writer waits.
        let _writing = lock(writer);
        let (pages, folded) =
            connection.wal_checkpoint_v2(DEFAULT_NAME, CheckpointMode::PASSIVE).during(ATTEMPT)?;
        if pages == folded { begin_again(&connection) } else { Ok(()) }
    }
}

/// Commits something, so that the log begins again on disk.
///
/// What is folded is noted only in memory that processes share. Without a commit the next process would find
/// a long log, not know that it is folded, and make it longer.
pub(super) fn begin_again(connection: &Connection) -> Result<()> {
    let transaction =
        Transaction::new_unchecked(connection, TransactionBehavior::Immediate).during(ATTEMPT)?;
    let version: i32 =
        transaction.pragma_query_value(None, "user_version", |row| row.get(0)).during(ATTEMPT)?;
    transaction.pragma_update(None, "user_version", version).during(ATTEMPT)?;
    transaction.commit().during(ATTEMPT)
}

/// How long the log is, in pages.
#[derive(Clone, Copy, Default)]
struct LogLength {
    pages: i32,
    folded: i32,
}

impl LogLength {
    fn of(connection: &Connection) -> Self {
        let state = connection.wal_checkpoint_v2(DEFAULT_NAME, CheckpointMode::NOOP);
        state.map(|(pages, folded)| Self { pages, folded }).unwrap_or_default()
    }

    fn is_due(self, path: &Path) -> bool {
        let left = self.pages - self.folded;
        // A log begins again only when all of it is folded, so where room is scarce nothing may be left.
        left >= LONG || (left > 0 && self.pages >= SHORT && is_scarce(path))
    }
}

impl Sqlite {
    /// Has the log folded if it is long, without waiting for it, unless the folding cannot keep up.
    pub(super) fn fold_log_if_long(&self) {
        let length = self.log_length();
        // Room is looked for as often as a short log gets full, not after every turn.
        let looked = self.looked_for_room.load(Ordering::Relaxed);
        let is_near = (looked..looked.saturating_add(SHORT)).contains(&length.pages);
        if length.pages < SHORT || (is_near && length.pages - length.folded < LONG) {
            return;
        }
        if !length.is_due(&self.path) {
            self.looked_for_room.store(length.pages, Ordering::Relaxed);
            return;
        }
        self.looked_for_room.store(0, Ordering::Relaxed);
        let Some(log) = self.log() else { return };
        if length.pages - length.folded < 2 * LONG {
            let mut folder = lock(&self.folder);
            if folder.is_none() {
                *folder = self.log().and_then(|log| CheckpointThread::start(log, Arc::clone(&self.writer)));
            }
            if let Some(folder) = &*folder {
                return folder.ring();
            }
        }
        // The messages are safe in the log; a fold that fails is tried again after the next turn.
        let _ = log.fold(&self.writer);
    }

    /// A sealed copy has no log.
    fn log(&self) -> Option<DatabaseLog> {
        let (FileAccess::ReadWrite { wait, index }, Some(files)) = (self.access, &self.files) else {
            return None;
        };
        Some(DatabaseLog { path: self.path.clone(), wait, index, files: Arc::clone(files) })
    }

    fn log_length(&self) -> LogLength {
        let writer = lock(&self.writer);
        writer.synced.as_ref().or(writer.unsynced.as_ref()).map(LogLength::of).unwrap_or_default()
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
        let cut = self.cut_log()?;
        self.accept_shorter_file()?;
        Ok(cut)
    }

    /// Runs work that needs the writing connection but no transaction.
    fn maintaining<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let mut writer = lock(&self.writer);
        let connection = match &mut writer.synced {
            Some(connection) => connection,
            empty => empty.insert(self.open_writer(ConnectionUse::Synced)?),
        };
        self.vouch_for_files()?;
        work(connection)
    }
}

/// Gives a new log its length, if it can be had: without it a store works as well, only slower.
///
/// It has a connection of its own, so that the one that keeps messages always syncs.
pub(super) fn lengthen(path: &Path, wait: Duration, index: LogIndex) -> Result<()> {
    let attempt = "give the log its length";
    let connection = open_again(path, wait, ConnectionUse::Unsynced, index)?;
    let lengthened = if is_scarce(path) { Ok(()) } else { write_over_and_over(&connection) };
    // Where room is scarce, or turned out to be, the log gives back what it took.
    let mode = match lengthened {
        Ok(()) if !is_scarce(path) => CheckpointMode::PASSIVE,
        Ok(()) | Err(_) => CheckpointMode::TRUNCATE,
    };
    connection.wal_checkpoint_v2(DEFAULT_NAME, mode).during(attempt)?;
    Ok(())
}

/// Commits that change one page, again and again.
fn write_over_and_over(connection: &Connection) -> rusqlite::Result<()> {
    // The row is written before anything is indexed, so its value means nothing yet.
    let mut statement = connection.prepare("INSERT OR REPLACE INTO search (one, version) VALUES (1, -?1)")?;
    for number in 0..LONG {
        statement.execute([number])?;
    }
    connection.execute_batch("DELETE FROM search")
}

/// True when the file system has so little room that the log is kept short.
fn is_scarce(path: &Path) -> bool {
    place::free_bytes(path).is_ok_and(|free| free < ROOM)
}
