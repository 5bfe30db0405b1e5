//! Looking up what a person typed.

use rusqlite::{Connection, params};

use crate::error::Result;
use crate::model::{ConversationId, MessageId};
use crate::store::Found;
use crate::store::sqlite::fault::DuringSql;
use crate::store::sqlite::search::tails;

const ATTEMPT: &str = "look up a name";

pub(super) fn find(connection: &Connection, text: &str, limit: usize) -> Result<Vec<Found>> {
    let mut found = conversations(connection, text, limit)?;
    if found.len() < limit && text.len() <= MessageId::MAX_LENGTH && is_plain(text) {
        found.extend(messages(connection, text, limit - found.len())?);
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

fn conversations(connection: &Connection, text: &str, limit: usize) -> Result<Vec<Found>> {
    let (from, to) = id_range(text).unwrap_or(([1; 16], [0; 16]));
    let short = if is_plain(text) { text } else { "-" };
    let mut statement = connection
        .prepare_cached(
            "SELECT id FROM conversation WHERE id BETWEEN ?1 AND ?2
             UNION SELECT id FROM conversation WHERE short >= ?3 AND short < ?4
             UNION SELECT id FROM conversation WHERE slug = ?5 AND slug <> ''
             LIMIT ?6",
        )
        .during(ATTEMPT)?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = statement
        .query_map(params![from, to, short, end_of(short), text, limit], |row| row.get::<_, [u8; 16]>(0))
        .during(ATTEMPT)?;
    rows.map(|id| Ok(Found { conversation: ConversationId::from_bytes(id.during(ATTEMPT)?), message: None }))
        .collect()
}

/// The ids that begin with these hexadecimal digits.
fn id_range(text: &str) -> Option<([u8; 16], [u8; 16])> {
    let digits: String = text.chars().filter(|letter| *letter != '-').collect();
    if digits.is_empty() || digits.len() > 32 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let filled = |with: &str| {
        let whole = digits.clone() + &with.repeat(32 - digits.len());
        u128::from_str_radix(&whole, 16).ok().map(u128::to_be_bytes)
    };
    Some((filled("0")?, filled("f")?))
}

/// From the lookup table, and from what it does not cover yet.
fn messages(connection: &Connection, text: &str, limit: usize) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    let mut push = |conversation: [u8; 16], id: &str| -> Result<bool> {
        found.push(Found {
            conversation: ConversationId::from_bytes(conversation),
            message: Some(id.parse()?),
        });
        Ok(found.len() < limit)
    };
    let mut statement = connection
        .prepare_cached(
            "SELECT c.id, d.id FROM document d JOIN conversation c ON c.n = d.key >> 32
             WHERE d.id >= ?1 AND d.id < ?2 ORDER BY d.id",
        )
        .during(ATTEMPT)?;
    let mut rows = statement.query([text, &end_of(text)]).during(ATTEMPT)?;
    while let Some(row) = rows.next().during(ATTEMPT)? {
        let (conversation, id): ([u8; 16], String) = (|| Ok((row.get(0)?, row.get(1)?)))().during(ATTEMPT)?;
        if !push(conversation, &id)? {
            return Ok(found);
        }
    }
    let mut statement = connection
        .prepare_cached("SELECT id FROM message WHERE key BETWEEN ?1 AND ?2 AND id >= ?3 AND id < ?4")
        .during(ATTEMPT)?;
    for tail in tails(connection)? {
        let range = params![tail.first, tail.last, text, end_of(text)];
        let mut rows = statement.query(range).during(ATTEMPT)?;
        while let Some(row) = rows.next().during(ATTEMPT)? {
            if !push(tail.id, &row.get::<_, String>(0).during(ATTEMPT)?)? {
                return Ok(found);
            }
        }
    }
    Ok(found)
}
