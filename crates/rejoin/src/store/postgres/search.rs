//! Searching: an index of words, and a look at the messages that have too many of them for it.

use tokio_postgres::Row;

use crate::error::Result;
use crate::model::Time;
use crate::store::body::Searchable;
use crate::store::postgres::list::{FilterValue, ListFilter};
use crate::store::postgres::rows::{PgRows, UNINDEXED, sequence};
use crate::store::postgres::value::Uuid;
use crate::store::postgres::words::expression;
use crate::store::{Hit, Page, SearchOrder, SearchQuery};

const ATTEMPT: &str = "search";

pub(super) fn search(rows: &PgRows<'_>, query: &SearchQuery<'_>) -> Result<Page<Hit>> {
    if query.words.words().is_empty() || query.limit == 0 {
        return Ok(query.page_of(Vec::new()));
    }
    let mut hits = indexed(rows, query)?;
    hits.extend(unindexed(rows, query)?);
    Ok(match query.order {
        SearchOrder::Newest => query.page_of(hits),
        SearchOrder::Best => Page { next: None, ..query.page_of(hits) },
    })
}

/// What every hit has to be.
fn filter(query: &SearchQuery<'_>) -> ListFilter {
    let mut filter = ListFilter::default();
    if let Some(only) = query.conversation {
        filter.add("m.conversation = ?", [FilterValue::Id(only.into())]);
    }
    if let Some(project) = query.project {
        let own = "EXISTS (SELECT FROM ~conversation c WHERE c.id = m.conversation AND c.project = ?)";
        filter.add(own, [FilterValue::Text(project.to_owned())]);
    }
    if let Some(since) = query.since {
        filter.add("m.time >= ?", [FilterValue::Number(since.as_micros())]);
    }
    if let Some(after) = query.after {
        let (time, id) =
            (FilterValue::Number(after.time.as_micros()), FilterValue::Id(after.conversation.into()));
        filter.add(
            "(m.time, m.conversation, m.seq) < (?, ?, ?)",
            [time, id, FilterValue::Number(after.seq.into())],
        );
    }
    filter
}

/// The newest hits of the index, one more than fill the page.
fn indexed(rows: &PgRows<'_>, query: &SearchQuery<'_>) -> Result<Vec<Hit>> {
    let mut filter = filter(query);
    let asked = FilterValue::Text(expression(query.words, query.role));
    filter.add("m.words @@ ?::tsquery", [asked]);
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX - 1).saturating_add(1);
    let sql = format!(
        "SELECT m.conversation, m.id, m.seq, m.time, m.body FROM (
             SELECT conversation, seq FROM ~message m {} AND m.words IS NOT NULL AND m.flags & {UNINDEXED} = 0
             ORDER BY m.time DESC, m.conversation DESC, m.seq DESC LIMIT {limit}) found
         JOIN ~message m USING (conversation, seq)",
        filter.clause()
    );
    rows.ask(ATTEMPT, &sql, &filter.values())?.iter().map(hit).collect()
}

/// Those among the messages that the index does not have.
fn unindexed(rows: &PgRows<'_>, query: &SearchQuery<'_>) -> Result<Vec<Hit>> {
    let mut filter = filter(query);
    filter.add(&format!("m.flags & {UNINDEXED} <> 0"), []);
    let sql =
        format!("SELECT m.conversation, m.id, m.seq, m.time, m.body FROM ~message m {}", filter.clause());
    let mut hits = Vec::new();
    rows.each(ATTEMPT, &sql, &filter.values(), &mut |row| {
        let hit = hit(row)?;
        if Searchable::of(&hit.body).is_some_and(|said| query.finds(&said)) {
            hits.push(hit);
        }
        Ok(())
    })?;
    Ok(hits)
}

fn hit(row: &Row) -> Result<Hit> {
    Ok(Hit {
        conversation: row.get::<_, Uuid>(0).id(),
        message: row.get::<_, &str>(1).parse()?,
        seq: sequence(row.get(2)),
        time: Time::from_micros(row.get(3)),
        body: String::from_utf8_lossy(row.get(4)).into_owned(),
    })
}
