//! The least a SQLite store can do: the limit for every row that SQLite answers.
//!
//! It stores bodies and what a list needs, with the same hardening as Rejoin's store, and nothing
//! else: no message ids, no digests, no branching. So its list is one indexed query, its search is
//! bare FTS5 and its fork is one durable row.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::message::{Message, weigh};
use super::{Contestant, Listed, Loaded};
use rejoin_bench::failure::{Context, Result};

/// The settings of Rejoin's store, so that a ratio compares designs and not settings. Checkpoints
/// happen between turns, never inside one.
const SETTINGS: &str = "
    PRAGMA page_size = 16384;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA secure_delete = ON;
    PRAGMA foreign_keys = ON;
    PRAGMA trusted_schema = OFF;
    PRAGMA mmap_size = 0;
    PRAGMA wal_autocheckpoint = 0;
";

const SCHEMA: &str = include_str!("sqlite_bare.sql");

/// Turns between checkpoints: their pages come to about four megabytes of log, and the two or three syncs of
/// a checkpoint to far less than a tenth of a sync a turn.
const TURNS_PER_CHECKPOINT: usize = 64;

/// Room for the number of a message under its conversation in one integer key.
const SEQUENCE_BITS: u32 = 32;

const PREVIEW: usize = 80;

const START: &str = "INSERT INTO conversation (number, title, active, messages, first, last) \
    VALUES (?1, ?2, (SELECT coalesce(max(active), 0) + 1 FROM conversation), ?3, ?4, ?5)";

const CONTINUE: &str = "UPDATE conversation SET messages = messages + ?2, last = ?3, \
    active = (SELECT max(active) + 1 FROM conversation) WHERE number = ?1";

pub(crate) struct SqliteBare {
    connection: Connection,
    /// Turns in the log since the last checkpoint.
    logged: usize,
    /// The current conversation.
    conversation: i64,
    /// How many messages it has; a conversation without messages has no row yet.
    messages: i64,
    /// The title it gets with its first message.
    title: String,
}

/// The bodies of a turn and the previews a list shows.
pub(crate) struct Turn {
    bodies: Vec<String>,
    first: String,
    last: String,
}

impl Contestant for SqliteBare {
    type Turn = Turn;
    type Messages = Vec<Message>;

    fn open(place: &Path) -> Result<Self> {
        let file = place.join("bare.db");
        let connection = Connection::open(&file).context(|| format!("open `{}`", file.display()))?;
        connection.execute_batch(SETTINGS)?;
        let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        if version == 0 {
            connection.execute_batch(SCHEMA)?;
        }
        // Statements are prepared once; the cache has to hold all of them.
        connection.set_prepared_statement_cache_capacity(32);
        Ok(Self { connection, logged: 0, conversation: 0, messages: 0, title: String::new() })
    }

    fn begin(&mut self, title: &str) -> Result<()> {
        let next = "SELECT coalesce(max(number), 0) + 1 FROM conversation";
        self.conversation = self.connection.query_row(next, [], |row| row.get(0))?;
        self.messages = 0;
        self.title = title.to_owned();
        Ok(())
    }

    fn resume(&mut self) -> Result<()> {
        let newest = "SELECT number, messages FROM conversation ORDER BY active DESC LIMIT 1";
        let row = self.connection.query_row(newest, [], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        (self.conversation, self.messages) = row.ok_or("the store is empty")?;
        Ok(())
    }

    fn prepare(&self, lines: &[&str]) -> Result<Turn> {
        Ok(Turn {
            bodies: lines.iter().map(|line| (*line).to_owned()).collect(),
            first: preview(lines.first().ok_or("a turn has a message")?)?,
            last: preview(lines.last().ok_or("a turn has a message")?)?,
        })
    }

    fn append(&mut self, turn: Turn) -> Result<()> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let mut insert = transaction.prepare_cached("INSERT INTO message (key, body) VALUES (?1, ?2)")?;
            for (sequence, body) in (self.messages..).zip(&turn.bodies) {
                insert.execute(params![(self.conversation << SEQUENCE_BITS) + sequence, body])?;
            }
            let added = i64::try_from(turn.bodies.len())?;
            if self.messages == 0 {
                transaction.prepare_cached(START)?.execute(params![
                    self.conversation,
                    self.title,
                    added,
                    turn.first,
                    turn.last
                ])?;
            } else {
                transaction.prepare_cached(CONTINUE)?.execute(params![
                    self.conversation,
                    added,
                    turn.last
                ])?;
            }
            self.messages += added;
        }
        transaction.commit()?;
        self.logged += 1;
        Ok(())
    }

    fn rest(&mut self) -> Result<()> {
        if self.logged >= TURNS_PER_CHECKPOINT {
            // The log keeps its length: later turns overwrite blocks that the
            // file system has already allocated.
            self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
            self.logged = 0;
        }
        Ok(())
    }

    fn load(&mut self) -> Result<Vec<Message>> {
        let mut select = self
            .connection
            .prepare_cached("SELECT body FROM message WHERE key BETWEEN ?1 AND ?2 ORDER BY key")?;
        let from = self.conversation << SEQUENCE_BITS;
        let mut rows = select.query([from, from + self.messages])?;
        let mut messages: Vec<Message> = Vec::new();
        while let Some(row) = rows.next()? {
            messages.push(sonic_rs::from_slice(row.get_ref(0)?.as_bytes()?)?);
        }
        Ok(messages)
    }

    fn weigh(messages: &Vec<Message>) -> Loaded {
        weigh(messages)
    }

    fn list(&mut self, limit: usize) -> Result<Vec<Listed>> {
        let mut select = self.connection.prepare_cached(
            "SELECT title, first, last, active, messages FROM conversation ORDER BY active DESC LIMIT ?1",
        )?;
        let rows = select.query_map([i64::try_from(limit)?], |row| {
            Ok(Listed {
                title: row.get(0)?,
                first: row.get(1)?,
                last: row.get(2)?,
                active: row.get(3)?,
                messages: row.get(4)?,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn search(&mut self, word: &str, limit: usize) -> Result<usize> {
        let mut select = self.connection.prepare_cached(
            "SELECT message.body FROM (SELECT rowid AS key FROM word WHERE word MATCH ?1 \
             ORDER BY rowid DESC LIMIT ?2) AS hit JOIN message ON message.key = hit.key",
        )?;
        let mut rows = select.query(params![word, i64::try_from(limit)?])?;
        let mut bodies: Vec<String> = Vec::new();
        while let Some(row) = rows.next()? {
            bodies.push(row.get(0)?);
        }
        Ok(bodies.len())
    }

    fn fork(&mut self, title: &str) -> Result<()> {
        let middle = (self.conversation << SEQUENCE_BITS) + self.messages / 2;
        let insert = "INSERT INTO branch (conversation, head, title) VALUES (?1, ?2, ?3)";
        self.connection.prepare_cached(insert)?.execute(params![self.conversation, middle, title])?;
        Ok(())
    }

    fn index(&mut self) -> Result<()> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let indexed: i64 = transaction.query_row("SELECT value FROM indexed", [], |row| row.get(0))?;
            let mut select =
                transaction.prepare("SELECT key, body FROM message WHERE key > ?1 ORDER BY key")?;
            let mut insert = transaction.prepare("INSERT INTO word (rowid, text) VALUES (?1, ?2)")?;
            let mut rows = select.query([indexed])?;
            while let Some(row) = rows.next()? {
                let message: Message = sonic_rs::from_slice(row.get_ref(1)?.as_bytes()?)?;
                let text: Vec<&str> = message.texts().collect();
                insert.execute(params![row.get::<_, i64>(0)?, text.join("\n")])?;
            }
            transaction
                .execute("UPDATE indexed SET value = (SELECT coalesce(max(key), 0) FROM message)", [])?;
        }
        transaction.commit()?;
        Ok(())
    }

    fn checkpoint(&mut self) -> Result<()> {
        self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(())
    }
}

/// Returns the beginning of a message's first text.
fn preview(line: &str) -> Result<String> {
    let message: Message = sonic_rs::from_str(line)?;
    Ok(message.texts().next().unwrap_or_default().chars().take(PREVIEW).collect())
}
