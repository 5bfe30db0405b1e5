//! Listing conversations: an index scan, newest activity first.

use std::borrow::Cow;

use rusqlite::types::{FromSqlResult, Value, ValueRef};
use rusqlite::{Connection, Row as SqlRow, params, params_from_iter};

use crate::error::{Error, ErrorKind, Result};
use crate::model::{Branch, ConversationId, Digest, Head, Hold, Status, Time};
use crate::store::backend::ConversationRow;
use crate::store::sqlite::fault::DuringSql;
use crate::store::{Facets, ListQuery, Page};

const ATTEMPT: &str = "list conversations";

const COLUMNS: &str =
    "c.n, c.id, c.version, c.project, c.kind, c.slug, c.status, c.hold, c.expires, c.header,
    iif(c.head IS NULL, NULL, coalesce(m.id, '')), m.digest, c.created, c.active, c.messages, c.bytes, c.first, c.last, c.branches";

pub(super) fn list(connection: &Connection, query: &ListQuery<'_>) -> Result<Page<ConversationRow>> {
    let mut filter = Filter::of(query);
    // A count and its rows must be of one moment. Rows alone are: what is asked
    // while they are read sees what they see.
    let _moment =
        query.counts_total.then(|| connection.unchecked_transaction().during(ATTEMPT)).transpose()?;
    let counted = query.counts_total.then(|| count(connection, &filter, query)).transpose()?;
    if let Some(kind) = query.except_kind {
        filter.add("c.kind <> ?", [Value::Text(kind.to_owned())]);
    }
    if let Some(now) = query.unexpired_at {
        filter.add("(c.expires IS NULL OR c.expires > ?)", [Value::Integer(now.as_micros())]);
    }
    if let Some(after) = query.after {
        filter.add(
            "(c.active, c.id) < (?, ?)",
            [Value::Integer(after.time.as_micros()), Value::Blob(after.conversation.as_bytes().to_vec())],
        );
    }
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX - 1) + 1;
    filter.values.push(Value::Integer(limit));
    let sql = format!(
        "SELECT {COLUMNS} FROM conversation c LEFT JOIN message m ON m.key = (c.n << 32) + c.head
         {} ORDER BY c.active DESC, c.id DESC LIMIT ?",
        filter.clause()
    );
    let mut statement = connection.prepare_cached(&sql).during(ATTEMPT)?;
    let mut found = statement.query(params_from_iter(filter.values)).during(ATTEMPT)?;
    let mut items = Vec::new();
    let mut more = false;
    while let Some(row) = found.next().during(ATTEMPT)? {
        more = items.len() == query.limit;
        if more {
            break;
        }
        items.push(read_row(connection, row, RowCare::Lenient)?);
    }
    let next = items.last().filter(|_| more).map(ConversationRow::cursor);
    let (total, excepted) = counted.unzip();
    Ok(Page { items, next, total, excepted, damaged: Vec::new() })
}

/// One conversation, if it is there.
pub(super) fn one(connection: &Connection, id: ConversationId) -> Result<Option<ConversationRow>> {
    let only = [id];
    let query = ListQuery { only: Some(&only), limit: 1, ..ListQuery::default() };
    Ok(list(connection, &query)?.items.pop())
}

/// Visits every conversation.
pub(super) fn each(
    connection: &Connection,
    visit: &mut dyn FnMut(ConversationRow) -> Result<()>,
) -> Result<()> {
    let query = ListQuery { limit: usize::MAX, ..ListQuery::default() };
    list(connection, &query)?.items.into_iter().try_for_each(visit)
}

/// What is done about a row that is not as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowCare {
    /// It is an error.
    Strict,
    /// It is shown as far as it goes: one that is damaged must not hide all the others. A check names it.
    Lenient,
}

/// Every conversation whose row is not as it was written, and why.
pub(super) fn unreadable(connection: &Connection) -> Result<Vec<(ConversationId, Error)>> {
    let sql =
        format!("SELECT {COLUMNS} FROM conversation c LEFT JOIN message m ON m.key = (c.n << 32) + c.head");
    let mut statement = connection.prepare(&sql).during(ATTEMPT)?;
    let mut found = statement.query([]).during(ATTEMPT)?;
    let mut unreadable = Vec::new();
    while let Some(row) = found.next().during(ATTEMPT)? {
        match read_row(connection, row, RowCare::Strict) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                unreadable.push((ConversationId::from_bytes(row.get(1).during(ATTEMPT)?), error));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(unreadable)
}

/// Counts the rows that pass a filter and have not expired: those that are listed, and those of the kind
/// that is left out.
///
/// Few have an expiry of their own, so those that expired are counted apart, by their index. All others are
/// counted in an index that has every column of the filter: no row is read.
fn count(connection: &Connection, filter: &Filter, query: &ListQuery<'_>) -> Result<(u64, u64)> {
    let all = count_where(connection, filter, query.except_kind)?;
    let Some(now) = query.unexpired_at else { return Ok(all) };
    let expired = count_where(connection, &expired(filter, now), query.except_kind)?;
    Ok((all.0 - expired.0, all.1 - expired.1))
}

/// What of a filter's rows has expired.
fn expired(filter: &Filter, now: Time) -> Filter {
    let mut expired = Filter::default();
    expired.add("c.expires <= ?", [Value::Integer(now.as_micros())]);
    // The sign keeps the other indexes out, which lead to far more rows.
    expired.add(&format!("+({})", filter.condition()), filter.values.iter().cloned());
    expired
}

/// Counts the rows of other kinds than this one, and those of it.
fn count_where(connection: &Connection, filter: &Filter, except: Option<&str>) -> Result<(u64, u64)> {
    let kind = except.map(|kind| Value::Text(kind.to_owned()));
    let excepted = if kind.is_some() { ", count(iif(c.kind = ?, 1, NULL))" } else { "" };
    let sql = format!("SELECT count(*){excepted} FROM conversation c {}", filter.clause());
    let mut statement = connection.prepare_cached(&sql).during(ATTEMPT)?;
    let counted = |row: &SqlRow<'_>| {
        let excepted = if kind.is_some() { row.get::<_, i64>(1)? } else { 0 };
        Ok((row.get::<_, i64>(0)?.abs_diff(excepted), excepted.unsigned_abs()))
    };
    statement.query_row(params_from_iter(kind.iter().chain(&filter.values)), counted).during(ATTEMPT)
}

/// Conditions and their values, in the same order.
#[derive(Default)]
struct Filter {
    conditions: Vec<String>,
    values: Vec<Value>,
}

impl Filter {
    fn of(query: &ListQuery<'_>) -> Self {
        let mut filter = Self::default();
        if let Some(project) = query.project {
            filter.add("c.project = ?", [Value::Text(project.to_owned())]);
        }
        filter.add_status(query);
        if let Some(kind) = query.kind {
            filter.add("c.kind = ?", [Value::Text(kind.to_owned())]);
        }
        if let Some([one]) = query.only {
            filter.add("c.id = ?", [Value::Blob(one.as_bytes().to_vec())]);
        } else if let Some(only) = query.only {
            // One value however many ids there are: a statement may have 32,766 of them.
            let ids = serde_json::to_string(only).expect("ids are strings");
            filter.add("c.id IN (SELECT unhex(value, '-') FROM json_each(?))", [Value::Text(ids)]);
        }
        filter
    }

    fn add_status(&mut self, query: &ListQuery<'_>) {
        let Some(status) = query.status else { return };
        let [active, own] = [Status::Active, status].map(|status| Value::Integer(status as i64));
        let idle_since = query.idle_since.map(|since| Value::Integer(since.as_micros()));
        match (status, idle_since) {
            (Status::Active, Some(since)) => self.add("c.status = ? AND c.active > ?", [own, since]),
            (Status::Paused, Some(since)) => {
                self.add("(c.status = ? OR (c.status = ? AND c.active <= ?))", [own, active, since]);
            }
            (Status::Active | Status::Paused | Status::Completed, _) => self.add("c.status = ?", [own]),
        }
    }

    fn add(&mut self, condition: &str, values: impl IntoIterator<Item = Value>) {
        self.conditions.push(condition.to_owned());
        self.values.extend(values);
    }

    fn clause(&self) -> String {
        if self.conditions.is_empty() { String::new() } else { format!("WHERE {}", self.condition()) }
    }

    /// All conditions as one.
    fn condition(&self) -> String {
        if self.conditions.is_empty() { "1".to_owned() } else { self.conditions.join(" AND ") }
    }
}

fn read_row(connection: &Connection, row: &SqlRow<'_>, care: RowCare) -> Result<ConversationRow> {
    let n: i64 = row.get(0).during(ATTEMPT)?;
    let id = ConversationId::from_bytes(row.get(1).during(ATTEMPT)?);
    let number = |place: usize| row.get::<_, i64>(place).during(ATTEMPT);
    let text = |place: usize| text(row, place, care).during(ATTEMPT);
    let bytes = |place: usize| bytes(row, place, care).during(ATTEMPT);
    let (status, hold) = (number(6)?, number(7)?);
    let known = Status::ALL.into_iter().find(|own| *own as i64 == status);
    let held = Hold::ALL.into_iter().find(|own| *own as i64 == hold);
    if care == RowCare::Strict && (known.is_none() || held.is_none()) {
        let what = if known.is_none() { "status" } else { "hold" };
        return Err(Error::corrupt(format!("conversation `{id}` has an unknown {what}")));
    }
    let facets = Facets {
        project: text(3)?,
        kind: text(4)?,
        slug: text(5)?,
        status: known.unwrap_or_default(),
        // What nobody understands is not let go.
        hold: held.unwrap_or(Hold::User),
        expires: row.get::<_, Option<i64>>(8).during(ATTEMPT)?.map(Time::from_micros),
    };
    Ok(ConversationRow {
        id,
        version: number(2)?.unsigned_abs(),
        facets,
        header: bytes(9)?,
        head: read_head(row, id, care)?,
        branches: if number(18)? == 0 { Vec::new() } else { read_branches(connection, n, care)? },
        created: Time::from_micros(number(12)?),
        active: Time::from_micros(number(13)?),
        messages: number(14)?.unsigned_abs(),
        bytes: number(15)?.unsigned_abs(),
        first: bytes(16)?,
        last: bytes(17)?,
    })
}

/// A text. SQLite does not look at what it keeps, so it may be none.
fn text(row: &SqlRow<'_>, place: usize, care: RowCare) -> rusqlite::Result<String> {
    match care {
        RowCare::Strict => row.get(place),
        RowCare::Lenient => Ok(lenient(row.get_ref(place)?)?.unwrap_or_default().into_owned()),
    }
}

/// Bytes, which stand as text where they are text.
fn bytes(row: &SqlRow<'_>, place: usize, care: RowCare) -> rusqlite::Result<Vec<u8>> {
    match (row.get_ref(place)?, care) {
        (ValueRef::Text(_), RowCare::Strict) => row.get(place).map(String::into_bytes),
        (value, _) => Ok(value.as_bytes_or_null()?.unwrap_or_default().to_vec()),
    }
}

/// A text, where there is one. One with bytes that are none does not fit its digest and does not open, like
/// one with other letters; what stands beside it is shown.
fn lenient(value: ValueRef<'_>) -> FromSqlResult<Option<Cow<'_, str>>> {
    match value {
        // Checking alone takes a fifth of the instructions of a conversion, and nearly every text passes.
        ValueRef::Text(bytes) => {
            Ok(Some(str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)))
        }
        other => Ok(other.as_str_or_null()?.map(Cow::Borrowed)),
    }
}

fn read_head(row: &SqlRow<'_>, id: ConversationId, care: RowCare) -> Result<Option<Head>> {
    match row.get_ref(10).during(ATTEMPT)?.as_str_or_null().ok().flatten() {
        None => Ok(None),
        Some("") if care == RowCare::Lenient => Ok(None),
        Some("") => Err(Error::corrupt(format!("the head of conversation `{id}` is missing"))),
        Some(message) => {
            Ok(Some(Head { id: message.parse()?, digest: Digest::from_bytes(row.get(11).during(ATTEMPT)?) }))
        }
    }
}

fn read_branches(connection: &Connection, n: i64, care: RowCare) -> Result<Vec<Branch>> {
    let mut statement = connection
        .prepare_cached(
            "SELECT b.id, b.title, m.id FROM branch b JOIN message m ON m.key = (b.n << 32) + b.head
             WHERE b.n = ?1 ORDER BY b.position",
        )
        .during(ATTEMPT)?;
    let rows = statement
        .query_map(params![n], |row| {
            Ok((row.get::<_, String>(0)?, text(row, 1, care)?, row.get::<_, String>(2)?))
        })
        .during(ATTEMPT)?;
    rows.map(|row| {
        let (id, title, head) = row.during(ATTEMPT)?;
        Ok(Branch { id: id.parse()?, title, head: head.parse()? })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::SqliteStore;

    /// How SQLite answers a count.
    fn plan(connection: &Connection, filter: &Filter) -> String {
        let sql = format!("EXPLAIN QUERY PLAN SELECT count(*) FROM conversation c {}", filter.clause());
        connection.query_row(&sql, params_from_iter(&filter.values), |row| row.get::<_, String>(3)).unwrap()
    }

    #[test]
    fn a_total_is_counted_in_an_index_that_has_every_column() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path().join("history.db")).unwrap();
        let paused = ListQuery {
            status: Some(Status::Paused),
            idle_since: Some(Time::default()),
            ..ListQuery::default()
        };
        let queries = [
            ListQuery::default(),
            paused,
            ListQuery { project: Some("red"), kind: Some("chat"), ..paused },
            ListQuery { project: Some("red"), status: Some(Status::Active), ..paused },
        ];

        let plans = store
            .backend()
            .reading(|connection| Ok(queries.map(|query| plan(connection, &Filter::of(&query)))));

        let plans = plans.unwrap();
        assert!(plans.iter().all(|plan| plan.contains("USING COVERING INDEX")), "{plans:?}");
        assert!(plans[3].contains("(project=? AND active>?)"), "{plans:?}");
    }

    #[test]
    fn what_expired_is_counted_by_its_index() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path().join("history.db")).unwrap();
        let red = ListQuery { project: Some("red"), ..ListQuery::default() };

        let plan = store
            .backend()
            .reading(|connection| Ok(plan(connection, &expired(&Filter::of(&red), Time::default()))));

        assert_eq!(plan.unwrap(), "SEARCH c USING INDEX conversation_by_expiry (expires<?)");
    }
}
