//! Reads every session of a database.

use crate::error::Result;
use crate::formats::database::{self, Database, DatabaseRow};
use crate::formats::encoding::json_of;
use crate::formats::goose::thread::{GooseMessage, GooseThread};
use crate::formats::lines::deepest;
use crate::formats::{Detection, Reading, Source, SourceConversation, SourceParent, whole_file};

const TABLES: [(&str, &[&str]); 2] = [
    ("sessions", &["id", "working_dir", "created_at", "extension_data"]),
    ("messages", &["id", "session_id", "role", "content_json", "created_timestamp"]),
];

/// Columns of a session that change with every message.
const CHANGING: [&str; 8] = [
    "updated_at",
    "total_tokens",
    "input_tokens",
    "output_tokens",
    "accumulated_total_tokens",
    "accumulated_input_tokens",
    "accumulated_output_tokens",
    "extension_data",
];

/// Columns of a message that change when the program rewrites the session.
const REWRITTEN: [&str; 4] = ["id", "timestamp", "tokens", "metadata_json"];

/// The type of sub-agent sessions.
const RUN: &str = "sub_agent";

pub(super) fn detect(source: &Source) -> Detection {
    database::detect(source, |database| {
        TABLES.iter().try_fold(true, |all, (table, columns)| Ok(all && database.has(table, columns)?))
    })
}

/// True when the database next to an older file contains its session.
pub(super) fn has_taken_over(file: &Source) -> bool {
    let beside = file.path().with_file_name("sessions.db");
    whole_file::is_file(&beside)
        && database::holds(&beside, |database| {
            let (table, columns) = TABLES[0];
            let sql = "SELECT id FROM sessions WHERE id = ?1";
            Ok(database.has(table, columns)? && database.one(sql, &[file.stem().into()])?.is_some())
        })
}

pub(super) fn read(source: &Source, reading: &mut Reading<'_>) -> Result<()> {
    Database::read(source, reading, |database, reading| {
        TABLES.iter().try_for_each(|(table, columns)| database.need(table, columns))?;
        for id in database.names("SELECT id FROM sessions ORDER BY created_at, id", &[])? {
            read_session(database, &id, reading)?;
        }
        Ok(())
    })
}

fn read_session(database: &Database, id: &str, reading: &mut Reading<'_>) -> Result<()> {
    let Some(session) = database.one("SELECT * FROM sessions WHERE id = ?1", &[id.into()])? else {
        return Ok(());
    };
    let mut thread = GooseThread::begin(conversation_of(&session), reading)?;
    let mut numbers = Vec::new();
    let sql = "SELECT id FROM messages WHERE session_id = ?1 ORDER BY created_timestamp, id";
    database.each(sql, &[id.into()], &mut |row| {
        numbers.extend(row.integer("id"));
        Ok(())
    })?;
    for number in numbers {
        let Some(row) = database.one("SELECT * FROM messages WHERE id = ?1", &[number.into()])? else {
            continue;
        };
        let contents = row.text("content_json").unwrap_or_default();
        if deepest(contents.as_bytes()) > reading.limits().depth {
            reading.skip(database.path(), 0, format!("message {number}: it nests too deep"))?;
            continue;
        }
        let source = row.to_json(&REWRITTEN).to_string();
        database.pass(source.len() as u64, reading)?;
        let metadata = row.text("metadata_json").and_then(|metadata| serde_json::from_str(metadata).ok());
        let kept = GooseMessage {
            // The id that later versions give to a message without one.
            id: row.word("message_id").unwrap_or_else(|| format!("msg_{id}_{number}")),
            role: row.text("role").unwrap_or_default(),
            contents,
            time: row.time("created_timestamp"),
            metadata,
            line: 0,
            source,
        };
        if let Some(why) = thread.read_message(kept, reading)? {
            reading.skip(database.path(), 0, format!("message {number}: {why}"))?;
        }
    }
    let source = session.to_json(&CHANGING).to_string();
    thread.thread.aside(0, source, reading)?;
    thread.finish(reading)?;
    thread.thread.complete(reading)
}

fn conversation_of(session: &DatabaseRow) -> SourceConversation {
    let id = session.word("id").unwrap_or_default();
    let mut conversation =
        SourceConversation::new(id.clone(), session.time("created_at").unwrap_or_default());
    let header = &mut conversation.header;
    header.title = session.word("name").or_else(|| session.word("description"));
    header.project = session.word("working_dir");
    header.settings.provider = session.word("provider_name");
    let model = session.text("model_config_json").and_then(|config| {
        serde_json::from_str::<serde_json::Value>(config).ok()?["model_name"].as_str().map(str::to_owned)
    });
    header.settings.model = model;
    let kind = session.word("session_type");
    if kind.as_deref() == Some(RUN) {
        let name = header.title.clone().unwrap_or_else(|| "agent".to_owned());
        conversation.parent =
            Some(SourceParent { conversation: String::new(), message: None, name, run: id });
    } else if let Some(kind) = kind.filter(|kind| kind != "user") {
        header.extra.set("session_type", json_of(&kind));
    }
    conversation
}
