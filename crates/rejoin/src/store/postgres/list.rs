//! Listing conversations: an index scan, newest activity first.

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::error::{Error, ErrorKind, Result};
use crate::model::{Branch, ConversationId, Head, Hold, Status, Time};
use crate::store::backend::ConversationRow;
use crate::store::postgres::rows::{PgRows, link};
use crate::store::postgres::value::{TypedValue, Uuid, values};
use crate::store::{Facets, ListQuery, Page};

const ATTEMPT: &str = "list conversations";

const COLUMNS: &str =
    "c.id, c.version, c.project, c.kind, c.slug, c.status, c.hold, c.expires, c.header, c.head,
    m.id, m.digest, c.created, c.active, c.messages, c.bytes, c.first, c.last, c.branches";

pub(super) fn list(rows: &PgRows<'_>, query: &ListQuery<'_>) -> Result<Page<ConversationRow>> {
    let mut filter = ListFilter::of(query);
    let counted = query.counts_total.then(|| count(rows, &filter, query)).transpose()?;
    if let Some(kind) = query.except_kind {
        filter.add("c.kind <> ?", [FilterValue::Text(kind.to_owned())]);
    }
    if let Some(after) = query.after {
        let (time, id) =
            (FilterValue::Number(after.time.as_micros()), FilterValue::Id(after.conversation.into()));
        filter.add("(c.active, c.id) < (?, ?)", [time, id]);
    }
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX - 1).saturating_add(1);
    let sql = format!(
        "SELECT {COLUMNS} FROM (SELECT * FROM ~conversation c {} ORDER BY c.active DESC, c.id DESC LIMIT {limit}) c
         LEFT JOIN ~message m ON m.conversation = c.id AND m.seq = c.head ORDER BY c.active DESC, c.id DESC",
        filter.clause()
    );
    let mut items = read(rows, &rows.ask(ATTEMPT, &sql, &filter.values())?)?;
    let more = items.len() > query.limit;
    items.truncate(query.limit);
    let next = items.last().filter(|_| more).map(ConversationRow::cursor);
    let (total, excepted) = counted.unzip();
    Ok(Page { items, next, total, excepted, damaged: Vec::new() })
}

/// One conversation, if it is there.
pub(super) fn one(rows: &PgRows<'_>, id: ConversationId) -> Result<Option<ConversationRow>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM ~conversation c LEFT JOIN ~message m ON m.conversation = c.id AND m.seq = c.head
         WHERE c.id = $1"
    );
    let found = rows.ask(ATTEMPT, &sql, &values![Uuid::from(id) => UUID])?;
    Ok(read(rows, &found)?.pop())
}

/// Every conversation.
pub(super) fn all(rows: &PgRows<'_>) -> Result<Vec<ConversationRow>> {
    Ok(list(rows, &ListQuery { limit: usize::MAX, ..ListQuery::default() })?.items)
}

/// Counts the rows that pass a filter: those that are listed, and those of the kind that is left out.
fn count(rows: &PgRows<'_>, filter: &ListFilter, query: &ListQuery<'_>) -> Result<(u64, u64)> {
    let kind = query.except_kind.unwrap_or_default();
    let excepted = if query.except_kind.is_some() { "c.kind = ?" } else { "? = '' AND false" };
    let mut counted = ListFilter::default();
    let excepted = counted.numbered(excepted, [FilterValue::Text(kind.to_owned())]);
    filter.each(|condition, values| counted.add(condition, values.to_vec()));
    let sql = format!(
        "SELECT count(*), count(*) FILTER (WHERE {excepted}) FROM ~conversation c {}",
        counted.clause()
    );
    let found = rows.ask(ATTEMPT, &sql, &counted.values())?;
    let row = found.first().ok_or_else(|| Error::corrupt("a count has no answer"))?;
    let number = |place: usize| row.get::<_, i64>(place).unsigned_abs();
    Ok((number(0) - number(1), number(1)))
}

/// A value of a condition.
#[derive(Clone)]
pub(super) enum FilterValue {
    Text(String),
    Number(i64),
    Small(i16),
    Id(Uuid),
    Ids(Vec<Uuid>),
}

impl FilterValue {
    fn typed(&self) -> TypedValue<'_> {
        match self {
            Self::Text(text) => (text, Type::TEXT),
            Self::Number(number) => (number, Type::INT8),
            Self::Small(number) => (number, Type::INT2),
            Self::Id(id) => (id, Type::UUID),
            Self::Ids(ids) => (ids, Type::UUID_ARRAY),
        }
    }
}

/// Conditions and their values, in the same order.
#[derive(Default)]
pub(super) struct ListFilter {
    /// Each with its place among the values, and how many it has.
    given: Vec<(String, Vec<FilterValue>)>,
    conditions: Vec<String>,
    values: Vec<FilterValue>,
}

impl ListFilter {
    fn of(query: &ListQuery<'_>) -> Self {
        let mut filter = Self::default();
        if let Some(project) = query.project {
            filter.add("c.project = ?", [FilterValue::Text(project.to_owned())]);
        }
        filter.add_status(query);
        if let Some(kind) = query.kind {
            filter.add("c.kind = ?", [FilterValue::Text(kind.to_owned())]);
        }
        if let Some(only) = query.only {
            filter.add("c.id = ANY(?)", [FilterValue::Ids(only.iter().copied().map(Uuid::from).collect())]);
        }
        if let Some(now) = query.unexpired_at {
            filter.add("(c.expires IS NULL OR c.expires > ?)", [FilterValue::Number(now.as_micros())]);
        }
        filter
    }

    fn add_status(&mut self, query: &ListQuery<'_>) {
        let Some(status) = query.status else { return };
        let [active, own] = [Status::Active, status].map(|status| FilterValue::Small(status as i16));
        let idle_since = query.idle_since.map(|since| FilterValue::Number(since.as_micros()));
        match (status, idle_since) {
            (Status::Active, Some(since)) => self.add("c.status = ? AND c.active > ?", [own, since]),
            (Status::Paused, Some(since)) => {
                self.add("(c.status = ? OR (c.status = ? AND c.active <= ?))", [own, active, since]);
            }
            (Status::Active | Status::Paused | Status::Completed, _) => self.add("c.status = ?", [own]),
        }
    }

    /// Adds a condition, in which `?` stands for each of its values.
    pub(super) fn add(&mut self, condition: &str, values: impl IntoIterator<Item = FilterValue>) {
        let values: Vec<FilterValue> = values.into_iter().collect();
        self.given.push((condition.to_owned(), values.clone()));
        let numbered = self.numbered(condition, values);
        self.conditions.push(numbered);
    }

    /// An expression with the numbers of its values, which are added.
    pub(super) fn numbered(
        &mut self,
        expression: &str,
        values: impl IntoIterator<Item = FilterValue>,
    ) -> String {
        let mut parts = expression.split('?');
        let mut numbered = parts.next().unwrap_or_default().to_owned();
        for (part, value) in parts.zip(values) {
            self.values.push(value);
            numbered.push_str(&format!("${}{part}", self.values.len()));
        }
        numbered
    }

    fn each(&self, mut visit: impl FnMut(&str, &[FilterValue])) {
        self.given.iter().for_each(|(condition, values)| visit(condition, values));
    }

    pub(super) fn clause(&self) -> String {
        if self.conditions.is_empty() {
            String::new()
        } else {
            format!("WHERE {}", self.conditions.join(" AND "))
        }
    }

    pub(super) fn values(&self) -> Vec<TypedValue<'_>> {
        self.values.iter().map(FilterValue::typed).collect()
    }
}

/// The conversations of rows, and their branches.
fn read(rows: &PgRows<'_>, found: &[Row]) -> Result<Vec<ConversationRow>> {
    let mut all = found.iter().map(read_row).collect::<Result<Vec<_>>>()?;
    let branched: Vec<Uuid> =
        found.iter().filter(|row| row.get::<_, i64>(18) > 0).map(|row| row.get(0)).collect();
    if !branched.is_empty() {
        let sql = "SELECT b.conversation, b.id, b.title, m.id FROM ~branch b
            JOIN ~message m ON m.conversation = b.conversation AND m.seq = b.head
            WHERE b.conversation = ANY($1) ORDER BY b.conversation, b.position";
        let mut branches = std::collections::HashMap::<ConversationId, Vec<Branch>>::new();
        for row in rows.ask(ATTEMPT, sql, &values![branched => UUID_ARRAY])? {
            let title = String::from_utf8_lossy(row.get(2)).into_owned();
            let (id, head) = (row.get::<_, &str>(1).parse()?, row.get::<_, &str>(3).parse()?);
            branches.entry(row.get::<_, Uuid>(0).id()).or_default().push(Branch { id, title, head });
        }
        for row in &mut all {
            row.branches = branches.remove(&row.id).unwrap_or_default();
        }
    }
    Ok(all)
}

fn read_row(row: &Row) -> Result<ConversationRow> {
    let id = row.get::<_, Uuid>(0).id();
    let number = |place: usize| row.get::<_, i64>(place);
    let (status, hold): (i16, i16) = (row.get(5), row.get(6));
    let text = |place: usize| row.get::<_, String>(place);
    let bytes = |place: usize| row.get::<_, &[u8]>(place).to_vec();
    let facets = Facets {
        project: text(2),
        kind: text(3),
        slug: text(4),
        status: Status::ALL.into_iter().find(|own| *own as i16 == status).unwrap_or_default(),
        // What nobody understands is not let go.
        hold: Hold::ALL.into_iter().find(|own| *own as i16 == hold).unwrap_or(Hold::User),
        expires: row.get::<_, Option<i64>>(7).map(Time::from_micros),
    };
    Ok(ConversationRow {
        id,
        version: number(1).unsigned_abs(),
        facets,
        header: bytes(8),
        head: head(row)?,
        branches: Vec::new(),
        created: Time::from_micros(number(12)),
        active: Time::from_micros(number(13)),
        messages: number(14).unsigned_abs(),
        bytes: number(15).unsigned_abs(),
        first: bytes(16),
        last: bytes(17),
    })
}

fn head(row: &Row) -> Result<Option<Head>> {
    match row.get::<_, Option<&str>>(10) {
        // One that is missing is found by a check, and must not hide the rest of the list.
        None => Ok(None),
        Some(message) => {
            let id = message.parse()?;
            let digest = link(row.get(11), id).map_err(|error| error.of_kind(ErrorKind::Corrupt))?;
            Ok(Some(Head { id, digest }))
        }
    }
}
