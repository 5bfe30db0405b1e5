//! Searching: the full-text index, and the tail it does not cover yet, so that a reader never has to write.

use rusqlite::{CachedStatement, Connection, params};

use crate::error::{Error, Result};
use crate::model::{ConversationId, Role, Time};
use crate::store::body::{Searchable, time_of};
use crate::store::sqlite::expression;
use crate::store::sqlite::fault::DuringSql;
use crate::store::sqlite::rows::{key, sequence};
use crate::store::{Hit, Page, SearchOrder, SearchQuery};

const ATTEMPT: &str = "search";

/// Bits of a document number below the time; so many messages may share a microsecond.
const TIE_BITS: u32 = 11;

/// The greatest tie-break.
pub(super) const TIES: i64 = (1 << TIE_BITS) - 1;

/// The latest time a number can hold, in the year 2112, with an hour left above it for what shares that time.
const LATEST: i64 = (1 << (63 - TIE_BITS)) - (1 << 32);

/// How many messages are looked at before all that have a short beginning are collected. A word of one
/// message in ten fills a page by then.
const LOOKED_AT: usize = 256;

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

/// Where candidates come from, and what is left to look at in them.
enum CandidateSource {
    /// The index, which vouches for every word.
    Index(String),
    /// The index, or all that is indexed where nothing is left to ask it. The
    /// last word has to be looked for in each.
    LookingAt(Option<String>),
}

/// Enough of the newest indexed hits to fill a page, and all that share the last one's time, so
/// that ties sort the same on every page.
fn newest(connection: &Connection, query: &SearchQuery<'_>) -> Result<Vec<Hit>> {
    let role = role_in_index(connection, query)?;
    if !query.words.last_is_prefix() {
        let exact = CandidateSource::Index(expression::every_word(query.words, role));
        return Ok(newest_from(connection, query, exact)?.unwrap_or_default());
    }
    if let Some(endings) = expression::endings(connection, query.words)? {
        if endings.is_empty() {
            return Ok(Vec::new());
        }
        let known = CandidateSource::Index(expression::with_endings(query.words, role, &endings));
        return Ok(newest_from(connection, query, known)?.unwrap_or_default());
    }
    // A short beginning is in most messages, and it is quicker to look at the
    // newest than to collect all that have it.
    let others = Some(expression::without_last(query.words, role)).filter(|others| !others.is_empty());
    if query.limit <= LOOKED_AT / 8
        && let Some(hits) = newest_from(connection, query, CandidateSource::LookingAt(others))?
    {
        return Ok(hits);
    }
    let beginning = CandidateSource::Index(expression::every_word(query.words, role));
    Ok(newest_from(connection, query, beginning)?.unwrap_or_default())
}

/// The role that the index can be asked for. In an older store it knows none, and messages are looked at.
fn role_in_index(connection: &Connection, query: &SearchQuery<'_>) -> Result<Option<Role>> {
    Ok(if query.role.is_some() && expression::has_roles(connection)? { query.role } else { None })
}

/// The newest hits from one source; none when too much would have to be looked at.
fn newest_from(
    connection: &Connection,
    query: &SearchQuery<'_>,
    source: CandidateSource,
) -> Result<Option<Vec<Hit>>> {
    let newest = query.after.map_or(Ok(i64::MAX), |after| last_number(connection, after.time))?;
    let oldest = query.since.map_or(0, first_number);
    let mut fetch = Fetch::new(connection, query)?;
    let (asked, most) = match source {
        CandidateSource::Index(asked) => (Some(asked), usize::MAX),
        CandidateSource::LookingAt(asked) => {
            fetch.left = LeftToCheck::WordsAndRole;
            (asked, LOOKED_AT)
        }
    };
    let sql = match asked {
        Some(_) => {
            "SELECT rowid FROM words WHERE words MATCH ?3 AND rowid BETWEEN ?1 AND ?2 ORDER BY rowid DESC"
        }
        None => {
            "SELECT number FROM document WHERE number BETWEEN ?1 AND ?2 AND ?3 IS NULL ORDER BY number DESC"
        }
    };
    let mut statement = connection.prepare_cached(sql).during(ATTEMPT)?;
    let mut rows = statement.query(params![oldest, newest, asked]).during(ATTEMPT)?;
    let mut hits: Vec<Hit> = Vec::new();
    let (mut at, mut seen) = (i64::MAX, 0);
    while let Some(row) = rows.next().during(ATTEMPT)? {
        let document: i64 = row.get(0).during(ATTEMPT)?;
        // A number is never below its message's time, so what follows is older
        // than the hits that fill the page.
        if document >> TIE_BITS < at && hits.len() > query.limit {
            at = document >> TIE_BITS;
            hits.sort_by_key(|hit| std::cmp::Reverse(hit.cursor().key()));
            if at < clamped(hits[query.limit].time) {
                break;
            }
        }
        if seen == most {
            return Ok(None);
        }
        seen += 1;
        hits.extend(
            fetch
                .hit(document)?
                .filter(|hit| query.after.is_none_or(|after| hit.cursor().key() < after.key())),
        );
    }
    Ok(Some(hits))
}

/// The time that document numbers hold for a time.
fn clamped(time: Time) -> i64 {
    time.as_micros().clamp(0, LATEST)
}

/// The first number that a message of this time can have.
pub(super) fn first_number(time: Time) -> i64 {
    clamped(time) << TIE_BITS
}

/// The last number that a message of this time can have: where a microsecond is
/// full, its messages go on in the next.
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
    let asked = expression::every_word(query.words, role_in_index(connection, query)?);
    let mut rows = statement.query([asked]).during(ATTEMPT)?;
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
    left: LeftToCheck,
}

/// What the index does not vouch for, and has to be looked for in a message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LeftToCheck {
    Nothing,
    Role,
    WordsAndRole,
}

impl LeftToCheck {
    fn is_in(self, query: &SearchQuery<'_>, body: &str) -> bool {
        match self {
            Self::Nothing => true,
            Self::Role => Searchable::of(body).is_some_and(|said| query.role == Some(said.role)),
            Self::WordsAndRole => Searchable::of(body).is_some_and(|said| query.finds(&said)),
        }
    }
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
        let knows_role = query.role.is_none() || expression::has_roles(connection)?;
        let left = if knows_role { LeftToCheck::Nothing } else { LeftToCheck::Role };
        Ok(Self { statement, query, left })
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
        if !self.left.is_in(self.query, body) {
            return Ok(None);
        }
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
            let Some(said) = Searchable::of(&body) else { continue };
            if query.finds(&said) {
                let message = row.get::<_, String>(1).during(ATTEMPT)?.parse()?;
                let seq = sequence(row.get(0).during(ATTEMPT)?);
                hits.push(Hit { conversation, message, seq, time: said.time, body });
            }
        }
    }
    Ok(hits)
}
