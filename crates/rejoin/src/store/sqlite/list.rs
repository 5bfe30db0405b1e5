//! Listing conversations: an index scan, newest activity first.

use rusqlite::types::Value;
use rusqlite::{Connection, Row as SqlRow, params, params_from_iter};

use crate::error::{Error, ErrorKind, Result};
use crate::model::{Branch, ConversationId, Digest, Head, Hold, Status, Time};
use crate::store::sqlite::fault::During;
use crate::store::sqlite::read::lenient;
use crate::store::{Facets, ListQuery, Page, Row};

const ATTEMPT: &str = "list conversations";

const COLUMNS: &str =
    "c.n, c.id, c.version, c.project, c.kind, c.slug, c.status, c.hold, c.expires, c.header,
    iif(c.head IS NULL, NULL, coalesce(m.id, '')), m.digest, c.created, c.active, c.messages, c.bytes, c.first, c.last, c.branches";

pub(super) fn list(connection: &Connection, query: &ListQuery<'_>) -> Result<Page<Row>> {
    let mut filter = Filter::of(query);
    // A count and its rows must be of one moment. Rows alone are: what is asked while they are read sees what they see.
    let _moment =
        query.counts_total.then(|| connection.unchecked_transaction().during(ATTEMPT)).transpose()?;
    let total = query.counts_total.then(|| count(connection, &filter)).transpose()?;
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
        items.push(read_row(connection, row, Care::Lenient)?);
    }
    let next = items.last().filter(|_| more).map(Row::cursor);
    Ok(Page { items, next, total, damaged: Vec::new() })
}

/// What is done about a row that is not as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Care {
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
        match read_row(connection, row, Care::Strict) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                unreadable.push((ConversationId::from_bytes(row.get(1).during(ATTEMPT)?), error));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(unreadable)
}

fn count(connection: &Connection, filter: &Filter) -> Result<u64> {
    let sql = format!("SELECT count(*) FROM conversation c {}", filter.clause());
    let count: i64 = connection
        .prepare_cached(&sql)
        .during(ATTEMPT)?
        .query_row(params_from_iter(&filter.values), |row| row.get(0))
        .during(ATTEMPT)?;
    Ok(count.unsigned_abs())
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
        if let Some(status) = query.status {
            filter.add("c.status = ?", [Value::Integer(status as i64)]);
        }
        if let Some(kind) = query.kind {
            filter.add("c.kind = ?", [Value::Text(kind.to_owned())]);
        }
        if let Some(now) = query.unexpired_at {
            filter.add("(c.expires IS NULL OR c.expires > ?)", [Value::Integer(now.as_micros())]);
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

    fn add(&mut self, condition: &str, values: impl IntoIterator<Item = Value>) {
        self.conditions.push(condition.to_owned());
        self.values.extend(values);
    }

    fn clause(&self) -> String {
        if self.conditions.is_empty() {
            String::new()
        } else {
            format!("WHERE {}", self.conditions.join(" AND "))
        }
    }
}

fn read_row(connection: &Connection, row: &SqlRow<'_>, care: Care) -> Result<Row> {
    let n: i64 = row.get(0).during(ATTEMPT)?;
    let id = ConversationId::from_bytes(row.get(1).during(ATTEMPT)?);
    let number = |place: usize| row.get::<_, i64>(place).during(ATTEMPT);
    let text = |place: usize| text(row, place, care).during(ATTEMPT);
    let (status, hold) = (number(6)?, number(7)?);
    let known = Status::ALL.into_iter().find(|own| *own as i64 == status);
    let held = Hold::ALL.into_iter().find(|own| *own as i64 == hold);
    if care == Care::Strict && (known.is_none() || held.is_none()) {
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
    Ok(Row {
        id,
        version: number(2)?.unsigned_abs(),
        facets,
        header: text(9)?,
        head: read_head(row, id, care)?,
        branches: if number(18)? == 0 { Vec::new() } else { read_branches(connection, n, care)? },
        created: Time::from_micros(number(12)?),
        active: Time::from_micros(number(13)?),
        messages: number(14)?.unsigned_abs(),
        bytes: number(15)?.unsigned_abs(),
        first: text(16)?,
        last: text(17)?,
    })
}

/// A text. SQLite does not look at what it keeps, so it may be none.
fn text(row: &SqlRow<'_>, place: usize, care: Care) -> rusqlite::Result<String> {
    match care {
        Care::Strict => row.get(place),
        Care::Lenient => Ok(lenient(row.get_ref(place)?)?.unwrap_or_default().into_owned()),
    }
}

fn read_head(row: &SqlRow<'_>, id: ConversationId, care: Care) -> Result<Option<Head>> {
    match row.get_ref(10).during(ATTEMPT)?.as_str_or_null().ok().flatten() {
        None => Ok(None),
        Some("") if care == Care::Lenient => Ok(None),
        Some("") => Err(Error::corrupt(format!("the head of conversation `{id}` is missing"))),
        Some(message) => {
            Ok(Some(Head { id: message.parse()?, digest: Digest::from_bytes(row.get(11).during(ATTEMPT)?) }))
        }
    }
}

fn read_branches(connection: &Connection, n: i64, care: Care) -> Result<Vec<Branch>> {
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
