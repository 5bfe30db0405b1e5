//! Reads every session of a database, parents first.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use crate::error::Result;
use crate::formats::database::{self, Database, DatabaseRow};
use crate::formats::opencode::session::OpenCodeSession;
use crate::formats::opencode::thread::{OpenCodeThread, RunCallers};
use crate::formats::subagent_group::SubagentGroup;
use crate::formats::{Detection, Reading, Source, SourceConversation};

/// Columns of a session that change with every message.
const CHANGING: [&str; 11] = [
    "time_updated",
    "time_compacting",
    "cost",
    "tokens_input",
    "tokens_output",
    "tokens_reasoning",
    "tokens_cache_read",
    "tokens_cache_write",
    "summary_additions",
    "summary_deletions",
    "summary_files",
];

const TABLES: [(&str, &[&str]); 3] = [
    ("session", &["id", "parent_id", "directory", "title", "time_created"]),
    ("message", &["id", "session_id", "time_created", "data"]),
    ("part", &["id", "message_id", "data"]),
];

pub(super) fn detect(source: &Source) -> Detection {
    database::detect(source, |database| {
        TABLES.iter().try_fold(true, |all, (table, columns)| Ok(all && database.has(table, columns)?))
    })
}

pub(super) fn read(source: &Source, reading: &mut Reading<'_>) -> Result<()> {
    Database::read(source, reading, |database, reading| {
        TABLES.iter().try_for_each(|(table, columns)| database.need(table, columns))?;
        let mut runs = RunCallers::new();
        let mut family = SubagentGroup::default();
        for id in order(database)? {
            if let Some(conversation) = read_session(database, &id, &mut runs, reading)? {
                family.add(&conversation, reading)?;
            }
        }
        family.finish(reading)?;
        tell_newer(database, reading)
    })
}

/// Returns the ids of sessions, parents first.
fn order(database: &Database) -> Result<Vec<String>> {
    let mut below: HashMap<Option<String>, Vec<String>> = HashMap::new();
    let mut all: Vec<(String, Option<String>)> = Vec::new();
    let sql = "SELECT id, parent_id FROM session ORDER BY time_created, id";
    let mut held = database.id_budget();
    database.each(sql, &[], &mut |row| {
        ["id", "parent_id"].iter().filter_map(|name| row.text(name)).try_for_each(|id| held.add(id))?;
        if let Some(id) = row.word("id") {
            all.push((id, row.word("parent_id")));
        }
        Ok(())
    })?;
    let known: HashSet<String> = all.iter().map(|(id, _)| id.clone()).collect();
    for (id, parent) in all.iter().cloned() {
        below.entry(parent.filter(|parent| known.contains(parent))).or_default().push(id);
    }
    let mut waiting = below.remove(&None).unwrap_or_default();
    waiting.reverse();
    let mut order = Vec::new();
    while let Some(id) = waiting.pop() {
        waiting.extend(below.remove(&Some(id.clone())).unwrap_or_default().into_iter().rev());
        order.push(id);
    }
    // Sessions in a cycle were never reached.
    let seen: HashSet<String> = order.iter().cloned().collect();
    order.extend(all.into_iter().map(|(id, _)| id).filter(|id| !seen.contains(id)));
    Ok(order)
}

fn read_session(
    database: &Database,
    id: &str,
    runs: &mut RunCallers,
    reading: &mut Reading<'_>,
) -> Result<Option<SourceConversation>> {
    let Some(row) = database.one("SELECT * FROM session WHERE id = ?1", &[id.into()])? else {
        return Ok(None);
    };
    let mut thread = OpenCodeThread::begin(&OpenCodeSession::of(&row), runs, reading)?;
    let sql = "SELECT id FROM message WHERE session_id = ?1 ORDER BY time_created, id";
    for message in database.names(sql, &[id.into()])? {
        let Some(row) = database.one("SELECT * FROM message WHERE id = ?1", &[message.as_str().into()])?
        else {
            continue;
        };
        let parts = database
            .all("SELECT * FROM part WHERE message_id = ?1 ORDER BY id", &[message.as_str().into()])?;
        let Some(info) = fields(&row, &[("id", "id"), ("sessionID", "session_id")]) else {
            reading.skip(database.path(), 0, format!("message `{message}` is not JSON"))?;
            continue;
        };
        let names = [("id", "id"), ("sessionID", "session_id"), ("messageID", "message_id")];
        let mut read = Vec::with_capacity(parts.len());
        for part in &parts {
            match fields(part, &names) {
                Some(fields) => read.push(fields),
                None => {
                    reading.skip(database.path(), 0, format!("a part of message `{message}` is not JSON"))?;
                }
            }
        }
        let bytes = thread.read_message(info, read, runs, reading)?;
        database.pass(bytes, reading)?;
    }
    let source = row.to_json(&CHANGING).to_string();
    thread.thread.aside(0, source, reading)?;
    thread.finish(reading).map(Some)
}

/// Returns the JSON in the column `data`, with the names of other columns, as in an export.
fn fields(row: &DatabaseRow, names: &[(&str, &str)]) -> Option<Map<String, Value>> {
    let Value::Object(mut fields) = serde_json::from_str(row.text("data")?).ok()? else { return None };
    for (name, column) in names {
        if let Some(value) = row.text(column) {
            fields.insert((*name).to_owned(), json!(value));
        }
    }
    Some(fields)
}

/// Later versions keep messages elsewhere.
fn tell_newer(database: &Database, reading: &mut Reading<'_>) -> Result<()> {
    if !database.has("session_message", &["session_id"])? {
        return Ok(());
    }
    let sql = "SELECT count(*) AS number FROM session_message \
               WHERE session_id NOT IN (SELECT session_id FROM message)";
    let number = database.one(sql, &[])?.and_then(|row| row.count("number")).unwrap_or(0);
    if number == 0 {
        return Ok(());
    }
    reading.skip(database.path(), 0, format!("{number} messages of a newer form are not read"))
}
