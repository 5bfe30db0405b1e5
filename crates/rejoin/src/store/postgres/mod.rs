//! The PostgreSQL store: one schema of a server, which many machines share.
//!
//! A commit is one statement, and so one round trip and one transaction, where what this handle remembers
//! of the conversation suffices (`append.rs`); else a transaction that locks the conversation
//! (`commit.rs`). Connections are driven by a thread and runtime of their own (`server.rs`); callers wait
//! on their own threads (`wait.rs`), so that a store can be used and dropped in async code. A connection
//! that breaks is replaced: reads are asked again, and the outcome of a commit is looked up.

mod append;
mod append_cache;
mod bell;
mod blob;
mod change;
mod check;
mod commit;
mod erase;
mod fault;
mod find;
mod list;
mod messages;
mod migrate;
mod passwords;
mod rows;
mod search;
mod server;
mod session;
mod settings;
mod tls;
mod value;
mod wait;
mod words;
mod write;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_postgres::{Client, Row};

use crate::error::{ErrorKind, Result};
use crate::model::ConversationId;
use crate::store::backend::{Backend, CommitHint, ConversationRow, Decide, DecideEach, Rows, Trim};
use crate::store::postgres::append_cache::AppendCache;
use crate::store::postgres::bell::Bell;
use crate::store::postgres::fault::{Cure, cure, explained};
use crate::store::postgres::rows::{PgRows, RowsPurpose};
use crate::store::postgres::server::PgServer;
use crate::store::postgres::settings::PgSettings;
use crate::store::postgres::value::{TypedValue, Uuid, values};
use crate::store::postgres::wait::wait;
use crate::store::{
    Capabilities, Changed, Found, Hit, Keeper, ListQuery, Page, PostgresUrl, Progress, Safety, SearchQuery,
    Space, Stamp, Task,
};

/// Keeps conversations in a PostgreSQL database.
pub type PostgresStore = Keeper<Postgres>;

/// Stores rows in a PostgreSQL database.
pub struct Postgres {
    url: PostgresUrl,
    server: PgServer,
    cache: Mutex<AppendCache>,
    bell: Arc<Bell>,
    /// The connection that hears of the changes of others, made when somebody first waits for one.
    listener: Mutex<ChangeListener>,
    /// When others were last told of a change.
    rang: Mutex<Option<Instant>>,
}

/// Who hears of the changes of others.
#[derive(Default)]
struct ChangeListener {
    client: Option<Client>,
    tried: Option<Instant>,
}

/// Others are told at most so often; in between they look by themselves.
const RING: Duration = Duration::from_millis(20);

/// A listener that could not be made is tried again after so long.
const DEAF: Duration = Duration::from_secs(5);

impl PostgresStore {
    /// Opens the schema that a URL names, and makes it where it is missing. Whoever holds what is needed,
    /// and a server that fails, is waited for so long.
    pub fn open_waiting(url: &PostgresUrl, wait: Duration) -> Result<Self> {
        let settings = PgSettings::of(url)?;
        let server = PgServer::new(settings, wait)?;
        let store = Postgres {
            url: url.clone(),
            server,
            cache: Mutex::default(),
            bell: Arc::default(),
            listener: Mutex::default(),
            rang: Mutex::default(),
        };
        let session = store.server.session()?;
        migrate::migrate(&session, store.server.schema()).map_err(|error| match error.kind() {
            ErrorKind::Unsupported | ErrorKind::Invalid => error,
            _ => explained(error).during(format!("open `{url}`")),
        })?;
        drop(session);
        Ok(Self::over(store))
    }
}

impl Postgres {
    fn cache(&self) -> MutexGuard<'_, AppendCache> {
        // What a panicking caller leaves behind is what was there before its commit.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work` in a snapshot of its own. It is run again where the connection breaks before anything
    /// was shown to it.
    fn read<T>(&self, mut work: impl FnMut(&PgRows<'_>) -> Result<T>) -> Result<T> {
        let until = Instant::now() + self.server.wait;
        loop {
            let session = self.server.session()?;
            let rows = PgRows::new(&session, RowsPurpose::Read);
            match work(&rows) {
                Err(error)
                    if cure(&error) == Cure::Reconnect
                        && !rows.has_visited.get()
                        && Instant::now() < until => {}
                answer => return answer,
            }
        }
    }

    /// The rows of one statement.
    fn ask(&self, attempt: &str, sql: &str, values: &[TypedValue<'_>]) -> Result<Vec<Row>> {
        let until = Instant::now() + self.server.wait;
        loop {
            match self.server.session()?.ask(attempt, sql, values) {
                Err(error) if cure(&error) == Cure::Reconnect && Instant::now() < until => {}
                answer => return answer,
            }
        }
    }

    /// Wakes those who wait for changes, in this process and in others. Nobody relies on it.
    fn ring(&self) {
        self.bell.ring();
        let mut rang = self.rang.lock().unwrap_or_else(PoisonError::into_inner);
        if rang.is_some_and(|rang| rang.elapsed() < RING) {
            return;
        }
        *rang = Some(Instant::now());
        drop(rang);
        // After the commit: within it, commits would wait for each other.
        if let Ok(session) = self.server.session() {
            session.post(&format!("NOTIFY {}_changed", self.server.schema()));
        }
    }

    /// Makes sure that somebody hears of the changes of others.
    fn listen(&self) {
        let mut listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        let is_heard = listener.client.as_ref().is_some_and(|client| !client.is_closed());
        let is_tried = listener.tried.is_some_and(|tried| tried.elapsed() < DEAF);
        // A pooler gives the connection to others between two statements.
        if is_heard || is_tried || !self.server.is_direct() {
            return;
        }
        listener.tried = Some(Instant::now());
        let bell = Arc::clone(&self.bell);
        let until = Instant::now() + DEAF;
        let Ok(client) = self.server.connect(until, move |_| bell.ring()) else { return };
        let listen = format!("LISTEN {}_changed", self.server.schema());
        if let Some(Ok(())) = wait(client.batch_execute(&listen), until) {
            listener.client = Some(client);
        }
    }
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postgres").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Backend for Postgres {
    fn capabilities(&self) -> Capabilities {
        Capabilities { is_durable: true, is_shared: true, stores_bytes: true, ..Capabilities::NONE }
    }

    fn snapshot(&self, work: &mut dyn FnMut(&dyn Rows) -> Result<()>) -> Result<()> {
        self.read(|rows| work(rows))
    }

    fn commit<'a>(&self, hint: &CommitHint<'_>, safety: Safety, decide: &mut Decide<'_, 'a>) -> Result<()> {
        self.commit_hints(&[*hint], safety, &mut |_, rows| decide(rows))
    }

    fn commit_each<'a>(
        &self,
        hints: &[CommitHint<'_>],
        safety: Safety,
        decide: &mut DecideEach<'_, 'a>,
    ) -> Result<()> {
        self.commit_hints(hints, safety, decide)
    }

    fn erasing(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        let done = work();
        self.erase_if_small()?;
        done
    }

    fn make_room(&self, _: ConversationId, _: &mut Trim<'_>) -> Result<()> {
        Ok(())
    }

    fn blob(&self, space: Space, owner: Option<ConversationId>, name: &[u8]) -> Result<Option<Vec<u8>>> {
        let (owner, space) = (Uuid::owner(owner), space.number() as i16);
        let sql = "SELECT bytes FROM ~blob WHERE owner = $1 AND space = $2 AND name = $3";
        let found = self.ask("read a blob", sql, &values![owner => UUID, space => INT2, name => BYTEA])?;
        Ok(found.first().map(|row| row.get(0)))
    }

    fn changes(&self, after: Stamp, wait: Duration) -> Result<Vec<Changed>> {
        self.wait_for_changes(after, wait)
    }

    fn upkeep(&self, task: Task, _: Duration) -> Result<Progress> {
        match task {
            // Words are indexed with their messages.
            Task::Index => Ok(Progress::default()),
            Task::Checkpoint | Task::Repack | Task::RepackOne(_) => self.erase(),
            Task::Check => self.check(),
        }
    }

    fn list_indexed(&self, query: &ListQuery<'_>) -> Result<Option<Page<ConversationRow>>> {
        self.read(|rows| list::list(rows, query)).map(Some)
    }

    fn search_indexed(&self, query: &SearchQuery<'_>) -> Result<Option<Page<Hit>>> {
        self.read(|rows| search::search(rows, query)).map(Some)
    }

    fn find_indexed(&self, text: &str, limit: usize) -> Result<Option<Vec<Found>>> {
        self.read(|rows| find::find(rows, text, limit)).map(Some)
    }
}
