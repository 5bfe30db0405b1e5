//! Looking up what a person typed.

use crate::error::Result;
use crate::model::MessageId;
use crate::store::Found;
use crate::store::postgres::rows::PgRows;
use crate::store::postgres::value::{Uuid, values};

const ATTEMPT: &str = "look up a name";

pub(super) fn find(rows: &PgRows<'_>, text: &str, limit: usize) -> Result<Vec<Found>> {
    let mut found = conversations(rows, text, limit)?;
    if found.len() < limit && text.len() <= MessageId::MAX_LENGTH && is_plain(text) {
        found.extend(messages(rows, text, limit - found.len())?);
    }
    Ok(found)
}

fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// The first text after all those that begin with `prefix`: the letters sort below `{`.
fn end_of(prefix: &str) -> String {
    format!("{prefix}{{")
}

fn conversations(rows: &PgRows<'_>, text: &str, limit: usize) -> Result<Vec<Found>> {
    let (from, to) = id_range(text).unwrap_or((Uuid([255; 16]), Uuid([0; 16])));
    let short = if is_plain(text) { text } else { "-" };
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    // No slug has a NUL, which the server does not take as text.
    let slug = if text.contains('\0') { "" } else { text };
    let end = end_of(short);
    let found = rows.ask(
        ATTEMPT,
        "SELECT id FROM ~conversation WHERE id BETWEEN $1 AND $2
         UNION SELECT id FROM ~conversation WHERE short >= $3 AND short < $4
         UNION SELECT id FROM ~conversation WHERE slug = $5 AND slug <> ''
         LIMIT $6",
        &values![from => UUID, to => UUID, short => TEXT, end => TEXT, slug => TEXT, limit => INT8],
    )?;
    Ok(found.iter().map(|row| Found { conversation: row.get::<_, Uuid>(0).id(), message: None }).collect())
}

/// The ids that begin with these hexadecimal digits.
fn id_range(text: &str) -> Option<(Uuid, Uuid)> {
    let digits: String = text.chars().filter(|letter| *letter != '-').collect();
    if digits.is_empty() || digits.len() > 32 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let filled = |with: &str| {
        let whole = digits.clone() + &with.repeat(32 - digits.len());
        u128::from_str_radix(&whole, 16).ok().map(|number| Uuid(number.to_be_bytes()))
    };
    Some((filled("0")?, filled("f")?))
}

fn messages(rows: &PgRows<'_>, text: &str, limit: usize) -> Result<Vec<Found>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let end = end_of(text);
    let sql =
        "SELECT conversation, id FROM ~message WHERE id >= $1 AND id < $2 ORDER BY id, conversation LIMIT $3";
    let found = rows.ask(ATTEMPT, sql, &values![text => TEXT, end => TEXT, limit => INT8])?;
    let read = |row: &tokio_postgres::Row| {
        let message = Some(row.get::<_, &str>(1).parse()?);
        Ok(Found { conversation: row.get::<_, Uuid>(0).id(), message })
    };
    found.iter().map(read).collect()
}
