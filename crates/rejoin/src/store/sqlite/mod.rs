//! The SQLite store: one file, any size, several processes.
//!
//! A commit is one write to the log and one sync. What can be computed again (the search index) is written
//! behind the append without a sync of its own. One connection writes, and as many read as are in use; other
//! processes share the file through SQLite's locks.
//!
//! After a failed write or sync the handle takes no more writes: what is on disk is unknown until it is
//! opened again. While its files are not at their paths it takes none either (`files.rs`).

mod backup;
mod blob;
mod change;
mod check;
mod checkpoint;
mod erase_store;
mod examine;
mod expression;
mod fault;
mod files;
mod find;
mod holder;
mod index;
mod list;
mod log;
mod migrate;
mod open;
mod restore;
mod room;
mod rows;
mod search;
mod write;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicI32;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::error::{Error, ErrorKind, Result};
use crate::model::ConversationId;
use crate::store::backend::{Backend, CommitHint, ConversationRow, Decide, DecideEach, Rows, Trim};
use crate::store::reserve::Reserve;
use crate::store::sqlite::checkpoint::CheckpointThread;
use crate::store::sqlite::fault::{DuringSql, is_unknown};
use crate::store::sqlite::files::OpenFiles;
use crate::store::sqlite::migrate::Schema;
use crate::store::sqlite::open::{
    ConnectionUse, DatabaseConnection, LogIndex, open_again, open_first, open_read_only,
};
use crate::store::sqlite::room::RESERVE;
use crate::store::sqlite::rows::SqliteRows;
use crate::store::{
    Capabilities, Changed, Found, Hit, Keeper, ListQuery, Page, Progress, Safety, SearchQuery, Space, Stamp,
    Task, WAIT, durable,
};

/// The changed pages that a transaction holds, in KiB. More of them are written
/// before its end, some of them twice.
const WRITTEN_KB: i64 = 16 << 10;

/// Keeps conversations in a SQLite database.
pub type SqliteStore = Keeper<Sqlite>;

/// Stores rows in a SQLite database.
pub struct Sqlite {
    path: PathBuf,
    access: FileAccess,
    /// The files that are open; none for a copy that is only read.
    files: Option<Arc<OpenFiles>>,
    /// Connections at rest; a reader takes one and puts it back.
    readers: Mutex<Vec<Connection>>,
    writer: Arc<Mutex<WriteConnection>>,
    /// Folds the log; started when the log first gets long.
    folder: Mutex<Option<CheckpointThread>>,
    /// How many pages the log had when room for it was last looked for; zero when that was long ago.
    looked_for_room: AtomicI32,
    /// Rung after a commit of this process, so that `changes` need not wait for its next look.
    bell: (Mutex<u64>, Condvar),
    /// The copy that a migration made on opening, if it did.
    migrated_from: Option<PathBuf>,
    /// True when rows take any bytes.
    stores_bytes: bool,
}

/// How the file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileAccess {
    /// To read and write, waiting so long for other processes.
    ReadWrite { wait: Duration, index: LogIndex },
    /// To read a copy that nobody uses; it is not changed.
    ReadOnly,
}

/// The one connection that writes, made when it is first needed.
#[derive(Default)]
struct WriteConnection {
    synced: Option<Connection>,
    unsynced: Option<Connection>,
    /// Set when a write or sync failed in the file system: what the file holds is then unknown until it is
    /// opened again. A failed sync must not be tried again as if it could succeed.
    failed: bool,
    wrote: bool,
}

impl SqliteStore {
    /// Opens the database at `path`, and creates it when it is missing.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_waiting(path, WAIT)
    }

    /// Opens the database, and waits up to `wait` for other processes before it
    /// answers [`ErrorKind::Locked`].
    pub fn open_waiting(path: impl AsRef<Path>, wait: Duration) -> Result<Self> {
        Sqlite::open(path.as_ref(), wait).map(Self::over)
    }

    /// Opens a copy to read it. It is not changed, and no file is made beside it.
    pub(crate) fn open_read_only(path: &Path) -> Result<Self> {
        let connection = open_read_only(path)?;
        if migrate::identify(&connection, path)? == 0 {
            return Err(Error::invalid(format!("`{}` holds nothing", path.display())));
        }
        let schema = Schema::of(&connection)?;
        Ok(Self::over(Sqlite::on(path.to_owned(), FileAccess::ReadOnly, connection, schema)))
    }

    /// The copy of the file that was made before it was migrated on opening, if it was older.
    pub fn migrated_from(&self) -> Option<&Path> {
        self.backend().migrated_from.as_deref()
    }

    /// Copies the database to a new file while it is in use, if `accept` has
    /// nothing against the content of the copy.
    ///
    /// The copy gets its name when it has passed. `report` is told how many bytes are done, and how many
    /// there are. A file that exists is a conflict.
    pub fn backup(
        &self,
        to: &Path,
        accept: &mut dyn FnMut(&Self) -> Result<()>,
        report: &mut dyn FnMut(u64, u64),
    ) -> Result<()> {
        backup::backup(self.backend(), to, accept, report)
    }

    /// Puts the copy at `from` in the place of the database at `to`, if
    /// `accept` has nothing against its content.
    ///
    /// What was there is kept under the returned name. Processes that have the database open see the new
    /// content; one that keeps it locked for longer than `wait` makes this fail with [`ErrorKind::Locked`].
    pub fn restore(
        from: &Path,
        to: &Path,
        wait: Duration,
        accept: &mut dyn FnMut(&Self) -> Result<()>,
        report: &mut dyn FnMut(u64, u64),
    ) -> Result<Option<PathBuf>> {
        restore::restore(from, to, wait, accept, report)
    }
}

impl Sqlite {
    fn open(path: &Path, wait: Duration) -> Result<Self> {
        let path = std::path::absolute(path).map_err(|cause| {
            Error::new(ErrorKind::Unavailable, "find the working directory").because(cause)
        })?;
        let (DatabaseConnection { mut connection, index, files }, schema) = open_first(&path, wait)?;
        let (schema, files, migrated_from) = match (schema, files) {
            (Some(schema), Some(files)) => (schema?, OpenFiles::found(&path, index, &files)?, None),
            _ => {
                let migrated_from = migrate::migrate(&mut connection, &path, index)?;
                (Schema::of(&connection)?, OpenFiles::of(&path, index)?, migrated_from)
            }
        };
        let mut store = Self::on(path, FileAccess::ReadWrite { wait, index }, connection, schema);
        store.files = Some(Arc::new(files));
        store.migrated_from = migrated_from;
        Ok(store)
    }

    fn on(path: PathBuf, access: FileAccess, connection: Connection, schema: Schema) -> Self {
        Self {
            path,
            access,
            files: None,
            readers: Mutex::new(vec![connection]),
            writer: Arc::default(),
            folder: Mutex::default(),
            looked_for_room: AtomicI32::new(0),
            bell: Default::default(),
            migrated_from: None,
            stores_bytes: schema.stores_bytes,
        }
    }

    fn open_another(&self, usage: ConnectionUse) -> Result<Connection> {
        // Opening creates a missing file, but a store whose file vanished must not come back empty.
        self.refuse_displaced()?;
        let connection = match self.access {
            FileAccess::ReadWrite { wait, index } => open_again(&self.path, wait, usage, index),
            FileAccess::ReadOnly => open_read_only(&self.path),
        }?;
        self.refuse_displaced()?;
        Ok(connection)
    }

    /// A connection that writes, with room for every page that a large turn changes.
    fn open_writer(&self, usage: ConnectionUse) -> Result<Connection> {
        let connection = self.open_another(usage)?;
        connection.pragma_update(None, "cache_size", -WRITTEN_KB).during("set up the connection")?;
        if let FileAccess::ReadWrite { index: LogIndex::Shared, .. } = self.access {
            room::fill_index(&connection, &self.path, usage)?;
        }
        self.reserve().keep();
        Ok(connection)
    }

    /// The room that is kept for removing something when the disk is full.
    fn reserve(&self) -> Reserve {
        Reserve::at(durable::beside(&self.path, RESERVE))
    }

    /// Runs `work` on a connection of its own. Each statement of it sees one snapshot;
    /// [`Self::snapshot`] makes it one for all.
    fn reading<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let resting = lock(&self.readers).pop();
        let connection = resting.map_or_else(|| self.open_another(ConnectionUse::Synced), Ok)?;
        let answer = work(&connection);
        lock(&self.readers).push(connection);
        answer
    }

    /// Runs `work`, which reads a page or two and calls nobody, on the
    /// connection that writes, unless it is in use.
    ///
    /// It has the pages at hand that this handle wrote, while any other reads again
    /// what was written since it read last.
    fn glancing<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        if let Ok(writer) = self.writer.try_lock()
            && let Some(connection) = writer.synced.as_ref().filter(|_| !writer.failed)
        {
            return work(connection);
        }
        self.reading(work)
    }

    /// Runs `work` in one read transaction.
    fn snapshot<T>(&self, attempt: &str, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.reading(|connection| {
            let transaction = connection.unchecked_transaction().during(attempt)?;
            work(&transaction)
        })
    }

    fn writing_to(&self) -> String {
        format!("write to the database `{}`", self.path.display())
    }

    /// Runs `work` in one write transaction and commits it, waiting for other writers up to the limit.
    fn writing<T>(
        &self,
        attempt: &str,
        usage: ConnectionUse,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut writer = lock(&self.writer);
        if writer.failed {
            return Err(Error::new(
                ErrorKind::Unavailable,
                "an earlier write failed, so this store accepts no more until it is reopened",
            )
            .during(self.writing_to()));
        }
        let slot = match usage {
            ConnectionUse::Synced => &mut writer.synced,
            ConnectionUse::Unsynced => &mut writer.unsynced,
        };
        let connection = match slot {
            Some(connection) => connection,
            None => slot.insert(self.open_writer(usage)?),
        };
        let outcome = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .during(attempt)
            .and_then(|transaction| {
                let answer = work(&transaction)?;
                // Before the commit, so that nothing is left in the log of another file; and after it,
                // because only then is it certain where the commit went.
                self.vouch_for_files()?;
                transaction.commit().during(attempt)?;
                self.vouch_for_files()?;
                Ok(answer)
            });
        writer.wrote |= outcome.is_ok();
        writer.failed |= outcome.as_ref().is_err_and(is_unknown);
        drop(writer);
        if outcome.is_ok() {
            *lock(&self.bell.0) += 1;
            self.bell.1.notify_all();
        }
        outcome.map_err(|error| match error.kind() {
            // The place is at fault, so it is named.
            ErrorKind::Unavailable => error.during(self.writing_to()),
            _ => error,
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What a panicking caller leaves behind is a rolled-back transaction, which the next one can use.
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sqlite").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Closing brings the index a step forward, so that a search by the next
/// process has little left to look through.
impl Drop for Sqlite {
    fn drop(&mut self) {
        if lock(&self.writer).wrote {
            // Nothing is lost when this fails: the tail is searched message by message.
            let _ = self.advance_index();
            self.fold_log_if_long();
        }
    }
}

impl Backend for Sqlite {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            is_durable: true,
            is_shared: true,
            ranks: true,
            stores_bytes: self.stores_bytes,
            ..Capabilities::NONE
        }
    }

    fn snapshot(&self, work: &mut dyn FnMut(&dyn Rows) -> Result<()>) -> Result<()> {
        self.snapshot("read the store", |transaction| work(&SqliteRows::new(transaction)))
    }

    fn commit<'a>(&self, hint: &CommitHint<'_>, safety: Safety, decide: &mut Decide<'_, 'a>) -> Result<()> {
        self.commit_each(&[*hint], safety, &mut |_, rows| decide(rows))
    }

    fn commit_each<'a>(
        &self,
        hints: &[CommitHint<'_>],
        safety: Safety,
        decide: &mut DecideEach<'_, 'a>,
    ) -> Result<()> {
        let Some(first) = hints.first() else { return Ok(()) };
        let usage = match safety {
            Safety::Synced => ConnectionUse::Synced,
            Safety::Unsynced => ConnectionUse::Unsynced,
        };
        self.writing(first.attempt, usage, |transaction| {
            (0..hints.len()).try_for_each(|place| {
                let snapshot = SqliteRows::new(transaction);
                let batch = decide(place, &snapshot)?;
                write::write(&snapshot, &batch)
            })
        })?;
        self.fold_log_if_long();
        Ok(())
    }

    fn erasing(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        self.reserve().give_up_if_full();
        let done = work();
        // What was removed still stands in the log until it is folded and cut.
        self.cut_log()?;
        self.reserve().keep();
        done
    }

    fn make_room(&self, id: ConversationId, trim: &mut Trim<'_>) -> Result<()> {
        self.shrink_to_fit(id, trim)
    }

    fn blob(&self, space: Space, owner: Option<ConversationId>, name: &[u8]) -> Result<Option<Vec<u8>>> {
        self.glancing(|connection| blob::one(connection, space, owner, name))
    }

    fn changes(&self, after: Stamp, wait: Duration) -> Result<Vec<Changed>> {
        self.wait_for_changes(after, wait)
    }

    fn upkeep(&self, task: Task, budget: Duration) -> Result<Progress> {
        match task {
            Task::Index => self.fill_index(budget),
            Task::Checkpoint => self.cut_log(),
            Task::Repack => self.repack(),
            // A change overwrites what was there; only the log still has it.
            Task::RepackOne(_) => self.cut_log(),
            Task::Check => self.check(),
        }
    }

    fn list_indexed(&self, query: &ListQuery<'_>) -> Result<Option<Page<ConversationRow>>> {
        self.reading(|connection| list::list(connection, query)).map(Some)
    }

    fn search_indexed(&self, query: &SearchQuery<'_>) -> Result<Option<Page<Hit>>> {
        self.snapshot("search", |transaction| search::search(transaction, query)).map(Some)
    }

    fn find_indexed(&self, text: &str, limit: usize) -> Result<Option<Vec<Found>>> {
        self.snapshot("look up a name", |transaction| find::find(transaction, text, limit)).map(Some)
    }
}
