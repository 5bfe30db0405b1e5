//! Filling the search index behind the append, in slices, without a sync of its own.

use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::error::Result;
use crate::model::{Role, Time, WORDS_VERSION, each_word};
use crate::store::Progress;
use crate::store::body::Searchable;
use crate::store::sqlite::Sqlite;
use crate::store::sqlite::expression::{has_roles, role_word};
use crate::store::sqlite::fault::DuringSql;
use crate::store::sqlite::open::ConnectionUse;
use crate::store::sqlite::search::{TIES, Tail, first_number, tails};

const ATTEMPT: &str = "fill the search index";

/// How much text one transaction takes before other writers get a turn: half a second's worth. The index
/// merges what each one brings with what it has, and ids and times of other programs are spread over its
/// tables, so fewer and larger ones write less.
const SLICE: usize = 8 << 20;

/// How much text is indexed while a store is closed, which somebody may wait for: some milliseconds'
/// worth, and more than most turns have.
const CLOSING: usize = 64 << 10;

impl Sqlite {
    /// Brings the index one short step forward.
    pub(super) fn advance_index(&self) -> Result<()> {
        self.writing(ATTEMPT, ConnectionUse::Unsynced, |transaction| slice(transaction, CLOSING)).map(drop)
    }

    /// Indexes what is not indexed yet, a slice at a time, until the budget is spent.
    pub(super) fn fill_index(&self, budget: Duration) -> Result<Progress> {
        let until = Instant::now().checked_add(budget);
        let mut done = 0;
        loop {
            let sliced =
                self.writing(ATTEMPT, ConnectionUse::Unsynced, |transaction| slice(transaction, SLICE))?;
            done += sliced;
            // The index of a large import is longer than any log should be.
            self.fold_log_if_long();
            if sliced == 0 || until.is_some_and(|until| Instant::now() >= until) {
                break;
            }
        }
        let left = self.reading(waiting)?;
        tracing::debug!(done, left, "search index filled");
        Ok(Progress { done, left, ..Progress::default() })
    }
}

/// How many messages the index does not cover yet.
pub(super) fn waiting(connection: &Connection) -> Result<u64> {
    let left: i64 = connection
        .query_row(
            "SELECT coalesce(sum(next - 1 - indexed), 0) FROM conversation WHERE next > indexed + 1",
            [],
            |row| row.get(0),
        )
        .during(ATTEMPT)?;
    Ok(left.unsigned_abs())
}

/// Indexes about so many bytes of messages, but at least one message.
fn slice(transaction: &Transaction<'_>, most: usize) -> Result<u64> {
    rebuild_if_stale(transaction)?;
    let (mut done, mut size) = (0, 0);
    let (mut words, mut numbers) = (String::new(), DocumentNumbers::default());
    for tail in tails(transaction)? {
        let reached = index_tail(transaction, &tail, (&mut words, &mut numbers), most, &mut size, &mut done)?;
        transaction
            .prepare_cached("UPDATE conversation SET indexed = ?2 WHERE n = ?1")
            .during(ATTEMPT)?
            .execute([tail.n, reached & 0xffff_ffff])
            .during(ATTEMPT)?;
        if size >= most {
            break;
        }
    }
    Ok(done)
}

/// Indexes messages of one conversation until the slice is full; returns the key it reached.
fn index_tail(
    transaction: &Transaction<'_>,
    tail: &Tail,
    (words, numbers): (&mut String, &mut DocumentNumbers),
    most: usize,
    size: &mut usize,
    done: &mut u64,
) -> Result<i64> {
    let mut messages = transaction
        .prepare_cached("SELECT key, id, body FROM message WHERE key BETWEEN ?1 AND ?2 ORDER BY key")
        .during(ATTEMPT)?;
    let mut rows = messages.query([tail.first, tail.last]).during(ATTEMPT)?;
    while let Some(row) = rows.next().during(ATTEMPT)? {
        let (key, id): (i64, String) = (|| Ok((row.get(0)?, row.get(1)?)))().during(ATTEMPT)?;
        let body = row.get_ref(2).during(ATTEMPT)?.as_str().unwrap_or_default();
        add(transaction, (key, &id), body, words, numbers)?;
        *size += body.len();
        *done += 1;
        if *size >= most {
            return Ok(key);
        }
    }
    Ok(tail.last)
}

/// Puts a message into the index; `words` is room to work in.
pub(super) fn add(
    transaction: &Connection,
    (key, id): (i64, &str),
    body: &str,
    words: &mut String,
    numbers: &mut DocumentNumbers,
) -> Result<()> {
    let said = Searchable::of(body);
    fold(said.as_ref(), words);
    let number = numbers.next(transaction, said.map(|said| said.time).unwrap_or_default())?;
    transaction
        .prepare_cached("INSERT INTO document (number, key, id) VALUES (?1, ?2, ?3)")
        .during(ATTEMPT)?
        .execute(params![number, key, id])
        .during(ATTEMPT)?;
    transaction
        .prepare_cached("INSERT INTO words (rowid, text) VALUES (?1, ?2)")
        .during(ATTEMPT)?
        .execute(params![number, words.as_str()])
        .during(ATTEMPT)?;
    Ok(())
}

/// The words of a message and that of its role, with a space after each; none of what is no message.
fn fold(said: Option<&Searchable>, words: &mut String) {
    words.clear();
    let Some(said) = said else { return };
    words.push_str(&role_word(said.role));
    words.push(' ');
    each_word(&said.text, |word| {
        words.push_str(word);
        words.push(' ');
    });
}

/// Gives out document numbers.
#[derive(Default)]
pub(super) struct DocumentNumbers {
    /// The time that was asked for last, by its first number, and where there was room for it.
    last: Option<(i64, i64)>,
}

impl DocumentNumbers {
    /// The next free document number of a time. What does not fit into its
    /// microsecond goes into the next with room.
    fn next(&mut self, transaction: &Connection, time: Time) -> Result<i64> {
        let mut newest = transaction
            .prepare_cached("SELECT max(number) FROM document WHERE number BETWEEN ?1 AND ?1 + ?2")
            .during(ATTEMPT)?;
        let asked = first_number(time);
        // Programs that note no times give one to all of their messages, and
        // each full microsecond is a query.
        let mut first = self.last.filter(|(last, _)| *last == asked).map_or(asked, |(_, room)| room);
        let number = loop {
            let taken: Option<i64> = newest.query_row([first, TIES], |row| row.get(0)).during(ATTEMPT)?;
            match taken {
                Some(taken) if taken == first + TIES => first += TIES + 1,
                Some(taken) => break taken + 1,
                None => break first,
            }
        };
        self.last = Some((asked, first));
        Ok(number)
    }
}

/// Takes a message out of the index, token by token, so that none stays in the file. True when it was there.
pub(super) fn forget(transaction: &Connection, key: i64) -> Result<bool> {
    let attempt = "take a message out of the search index";
    let number: Option<i64> = transaction
        .prepare_cached("SELECT number FROM document WHERE key = ?1")
        .during(attempt)?
        .query_row([key], |row| row.get(0))
        .optional()
        .during(attempt)?;
    let Some(number) = number else { return Ok(false) };
    let body: String = transaction
        .prepare_cached("SELECT iif(typeof(body) = 'blob', '', body) FROM message WHERE key = ?1")
        .during(attempt)?
        .query_row([key], |row| row.get(0))
        .during(attempt)?;
    let mut words = String::new();
    let said = Searchable::of(&body);
    fold(said.as_ref(), &mut words);
    // An index may only be told to forget what it has.
    if let Some(said) = said
        && !has_role(transaction, number, said.role)?
    {
        words.drain(..=role_word(said.role).len());
    }
    transaction
        .prepare_cached("INSERT INTO words (words, rowid, text) VALUES ('delete', ?1, ?2)")
        .during(attempt)?
        .execute(params![number, words.as_str()])
        .during(attempt)?;
    transaction
        .prepare_cached("DELETE FROM document WHERE number = ?1")
        .during(attempt)?
        .execute([number])
        .during(attempt)?;
    Ok(true)
}

/// True when the index has the word of a message's role.
fn has_role(transaction: &Connection, number: i64, role: Role) -> Result<bool> {
    if has_roles(transaction)? {
        return Ok(true);
    }
    transaction
        .prepare_cached("SELECT 1 FROM words WHERE words MATCH ?1 AND rowid = ?2")
        .during(ATTEMPT)?
        .exists(params![format!("\"{}\"", role_word(role)), number])
        .during(ATTEMPT)
}

/// An index that an older tokenizer filled would miss words, so it starts again.
fn rebuild_if_stale(transaction: &Transaction<'_>) -> Result<()> {
    // A process that was killed while it gave the log its length leaves a
    // version that never was; see checkpoint.rs.
    let version: Option<i64> = transaction
        .query_row("SELECT version FROM search", [], |row| row.get(0))
        .optional()
        .during(ATTEMPT)?;
    if version == Some(i64::from(WORDS_VERSION)) {
        return Ok(());
    }
    if version.is_some() {
        transaction
            .execute_batch(
                "INSERT INTO words (words) VALUES ('delete-all');
                 DELETE FROM document;
                 UPDATE conversation SET indexed = 0;",
            )
            .during(ATTEMPT)?;
    }
    transaction
        .execute("INSERT OR REPLACE INTO search (one, version, roles) VALUES (1, ?1, 1)", [WORDS_VERSION])
        .during(ATTEMPT)?;
    Ok(())
}
