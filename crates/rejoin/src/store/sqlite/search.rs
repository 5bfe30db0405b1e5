//! Searching: the full-text index, and the tail it does not cover yet, so that a reader never has to write.

use std::fmt::Write as _;

use rusqlite::{CachedStatement, Connection, params};

use crate::error::{Error, Result};
use crate::model::{ConversationId, Time, WordQuery};
use crate::store::sqlite::append::{key, sequence};
use crate::store::sqlite::fault::During;
use crate::store::tip::{searchable, time_of};
use crate::store::{Hit, Page, SearchOrder, SearchQuery};

const ATTEMPT: &str = "search";

/// Bits of a document number below the time; so many messages may share a microsecond.
const TIE_BITS: u32 = 11;

/// The greatest tie-break.
pub(super) const TIES: i64 = (1 << TIE_BITS) - 1;

/// The latest time a number can hold, in the year 2112, with an hour left above it for what shares that time.
const LATEST: i64 = (1 << (63 - TIE_BITS)) - (1 << 32);

pub(super) fn search(connection: &Connection, query: &SearchQuery<'_>) -> Result<Page<Hit>> {
    if query.words.words().is_empty() || query.limit == 0 {
        return Ok(query.page_of(Vec::new()));
    }
    let tail = search_tail(connection, query)?;
    match query.order {
        SearchOrder::Newest => {
            let mut hits = newest(connection, query)?;
            hits.extend(tail);
            Ok(query.page_of(hits))
        }
        SearchOrder::Best => {
            // What is not indexed yet has no rank; it is what was said last, and comes first.
            let mut page = query.page_of(tail);
            let room = query.limit - page.items.len();
            page.items.extend(best(connection, query, room)?);
            page.next = None;
            Ok(page)
        }
    }
}

/// The query in the index's own language: every word quoted, the last one open when it may be a beginning.
fn expression(words: &WordQuery) -> String {
    let mut expression = String::new();
    for word in words.words() {
        // Words hold letters and digits only, so nothing needs escaping.
        let _ = write!(expression, "\"{word}\" ");
    }
    if words.last_is_prefix() {
        expression.push('*');
    }
    expression
}

/// Enough of the newest indexed hits to fill a page, and all that share the last one's time, so that ties sort the
/// same on every page.
fn newest(connection: &Connection, query: &SearchQuery<'_>) -> Result<Vec<Hit>> {
    let newest = query.after.map_or(Ok(i64::MAX), |after| last_number(connection, after.time))?;
    let oldest = query.since.map_or(0, first_number);
    let mut statement = connection
        .prepare_cached(
            "SELECT rowid FROM words WHERE words MATCH ?1 AND rowid BETWEEN ?2 AND ?3 ORDER BY rowid DESC",
        )
        .during(ATTEMPT)?;
    let mut rows = statement.query(params![expression(query.words), oldest, newest]).during(ATTEMPT)?;
    let mut hits: Vec<Hit> = Vec::new();
    let mut fetch = Fetch::new(connection, query)?;
    let mut at = i64::MAX;
    while let Some(row) = rows.next().during(ATTEMPT)? {
        let document: i64 = row.get(0).during(ATTEMPT)?;
        // A number is never below its message's time, so what follows is older than the hits that fill the page.
        if document >> TIE_BITS < at && hits.len() > query.limit {
            at = document >> TIE_BITS;
            hits.sort_by_key(|hit| std::cmp::Reverse(hit.cursor().key()));
            if at < moment(hits[query.limit].time) {
                break;
            }
        }
        hits.extend(
            fetch
                .hit(document)?
                .filter(|hit| query.after.is_none_or(|after| hit.cursor().key() < after.key())),
        );
    }
    Ok(hits)
}

/// The time that document numbers hold for a time.
fn moment(time: Time) -> i64 {
    time.as_micros().clamp(0, LATEST)
}

/// The first number that a message of this time can have.
pub(super) fn first_number(time: Time) -> i64 {
    moment(time) << TIE_BITS
}

/// The last number that a message of this time can have: where a microsecond is full, its messages go on in the next.
fn last_number(connection: &Connection, time: Time) -> Result<i64> {
    let mut last = first_number(time) | TIES;
    while is_taken(connection, last)? {
        last += TIES + 1;
    }
    Ok(last)
}

fn is_taken(connection: &Connection, number: i64) -> Result<bool> {
    let mut statement =
        connection.prepare_cached("SELECT 1 FROM document WHERE number = ?1").during(ATTEMPT)?;
    statement.exists([number]).during(ATTEMPT)
}

fn best(connection: &Connection, query: &SearchQuery<'_>, room: usize) -> Result<Vec<Hit>> {
    let mut statement = connection
        .prepare_cached("SELECT rowid FROM words WHERE words MATCH ?1 ORDER BY rank")
        .during(ATTEMPT)?;
    let mut rows = statement.query([expression(query.words)]).during(ATTEMPT)?;
    let mut hits = Vec::new();
    let mut fetch = Fetch::new(connection, query)?;
    while hits.len() < room
        && let Some(row) = rows.next().during(ATTEMPT)?
    {
        let hit = fetch.hit(row.get(0).during(ATTEMPT)?)?;
        hits.extend(hit.filter(|hit| query.since.is_none_or(|since| hit.time >= since)));
    }
    Ok(hits)
}

/// Turns document numbers into hits that pass the query's filters.
struct Fetch<'c, 'q> {
    statement: CachedStatement<'c>,
    query: &'q SearchQuery<'q>,
}

impl<'c, 'q> Fetch<'c, 'q> {
    fn new(connection: &'c Connection, query: &'q SearchQuery<'q>) -> Result<Self> {
        let statement = connection
            .prepare_cached(
                "SELECT c.id, m.id, m.key & 0xffffffff, m.body FROM document d
                 JOIN conversation c ON c.n = d.key >> 32 JOIN message m ON m.key = d.key
                 WHERE d.number = ?1 AND (?2 IS NULL OR c.project = ?2) AND (?3 IS NULL OR c.id = ?3)",
            )
            .during(ATTEMPT)?;
        Ok(Self { statement, query })
    }

    fn hit(&mut self, document: i64) -> Result<Option<Hit>> {
        let only = self.query.conversation.as_ref().map(ConversationId::as_bytes);
        let mut rows = self.statement.query(params![document, self.query.project, only]).during(ATTEMPT)?;
        let Some(row) = rows.next().during(ATTEMPT)? else { return Ok(None) };
        let text = |place: usize| {
            let column = row.get_ref(place).during(ATTEMPT)?.as_str();
            column.map_err(|cause| Error::corrupt("a column of a message has the wrong type").because(cause))
        };
        let body = text(3)?;
        Ok(Some(Hit {
            conversation: ConversationId::from_bytes(row.get(0).during(ATTEMPT)?),
            message: text(1)?.parse()?,
            seq: sequence(row.get(2).during(ATTEMPT)?),
            time: time_of(body),
            body: body.to_owned(),
        }))
    }
}

/// A run of messages that the index does not cover yet.
pub(super) struct Tail {
    pub(super) id: [u8; 16],
    pub(super) n: i64,
    pub(super) project: String,
    pub(super) first: i64,
    pub(super) last: i64,
}

pub(super) fn tails(connection: &Connection) -> Result<Vec<Tail>> {
    let mut statement = connection
        .prepare_cached(
            "SELECT n, id, project, indexed, next FROM conversation INDEXED BY conversation_to_index
             WHERE next > indexed + 1",
        )
        .during(ATTEMPT)?;
    let rows = statement
        .query_map([], |row| {
            let n: i64 = row.get(0)?;
            let (first, last) = (key(n, row.get::<_, i64>(3)? + 1), key(n, row.get::<_, i64>(4)? - 1));
            Ok(Tail { id: row.get(1)?, n, project: row.get(2)?, first, last })
        })
        .during(ATTEMPT)?;
    rows.collect::<rusqlite::Result<_>>().during(ATTEMPT)
}

fn search_tail(connection: &Connection, query: &SearchQuery<'_>) -> Result<Vec<Hit>> {
    let mut hits = Vec::new();
    let mut statement = connection
        .prepare_cached("SELECT key & 0xffffffff, id, body FROM message WHERE key BETWEEN ?1 AND ?2")
        .during(ATTEMPT)?;
    for tail in tails(connection)? {
        let conversation = ConversationId::from_bytes(tail.id);
        if query.conversation.is_some_and(|only| only != conversation)
            || query.project.is_some_and(|project| tail.project != project)
        {
            continue;
        }
        let mut rows = statement.query([tail.first, tail.last]).during(ATTEMPT)?;
        while let Some(row) = rows.next().during(ATTEMPT)? {
            let body: String = row.get(2).during(ATTEMPT)?;
            let Some((text, time)) = searchable(&body) else { continue };
            if query.words.matches(&text) {
                let message = row.get::<_, String>(1).during(ATTEMPT)?.parse()?;
                let seq = sequence(row.get(0).during(ATTEMPT)?);
                hits.push(Hit { conversation, message, seq, time, body });
            }
        }
    }
    Ok(hits)
}
