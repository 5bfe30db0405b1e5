//! Threads: each is a conversation with every message that it, or a call in it, ever pointed to.

use std::collections::{HashMap, HashSet};

use crate::error::Result;
use crate::formats::database::{Database, DatabaseRow};
use crate::formats::encoding::json_of;
use crate::formats::llm::message;
use crate::formats::llm::responses::{self, ResponseIds};
use crate::formats::thread_builder::ThreadBuilder;
use crate::formats::{Reading, SourceConversation, SourceMessage, SourcePiece};
use crate::model::Time;

/// Reads every thread, and takes its earlier rows from `earlier`.
pub(super) fn read(database: &Database, earlier: &mut ResponseIds, reading: &mut Reading<'_>) -> Result<()> {
    let calls = FirstCalls::of(database)?;
    for id in database.names("SELECT id FROM threads ORDER BY id", &[])? {
        read_thread(database, &calls, &id, reading)?;
        responses::keep(database, &id, &earlier.remove(&id).unwrap_or_default(), reading)?;
        reading.give(SourcePiece::Complete(id))?;
    }
    let sql = "SELECT count(*) AS number FROM turns \
               WHERE thread_id IS NULL OR thread_id NOT IN (SELECT id FROM threads)";
    let number = database.one(sql, &[])?.and_then(|row| row.count("number")).unwrap_or(0);
    if number > 0 {
        reading.skip(database.path(), 0, format!("{number} calls belong to no thread"))?;
    }
    Ok(())
}

/// The first call of each message. Messages are shared, so they do not record it themselves.
struct FirstCalls {
    ids: Vec<String>,
    first: HashMap<String, usize>,
}

impl FirstCalls {
    /// Ids of calls increase with time, so a message always has the same first call.
    fn of(database: &Database) -> Result<Self> {
        let ids = database.names("SELECT id FROM turns ORDER BY id", &[])?;
        let mut first = HashMap::new();
        for (place, id) in ids.iter().enumerate() {
            let row =
                database.one("SELECT tip_message_hash FROM turns WHERE id = ?1", &[id.as_str().into()])?;
            let tip = row.and_then(|row| row.word("tip_message_hash"));
            for hash in path(database, tip, |hash| first.contains_key(hash))? {
                first.insert(hash, place);
            }
        }
        Ok(Self { ids, first })
    }

    /// Returns the first call of a message.
    fn first(&self, database: &Database, hash: &str) -> Result<Option<DatabaseRow>> {
        let Some(place) = self.first.get(hash) else { return Ok(None) };
        database.one("SELECT * FROM turns WHERE id = ?1", &[self.ids[*place].as_str().into()])
    }
}

/// Returns a message and those above it, root first, down from the newest known one.
fn path(database: &Database, tip: Option<String>, is_known: impl Fn(&str) -> bool) -> Result<Vec<String>> {
    let (mut path, mut seen) = (Vec::new(), HashSet::new());
    let mut next = tip;
    while let Some(hash) = next.take().filter(|hash| !is_known(hash) && seen.insert(hash.clone())) {
        let sql = "SELECT parent_hash FROM messages WHERE hash = ?1";
        let Some(row) = database.one(sql, &[hash.as_str().into()])? else { break };
        next = row.word("parent_hash");
        path.push(hash);
    }
    path.reverse();
    Ok(path)
}

fn read_thread(database: &Database, calls: &FirstCalls, id: &str, reading: &mut Reading<'_>) -> Result<()> {
    let Some(row) = database.one("SELECT * FROM threads WHERE id = ?1", &[id.into()])? else { return Ok(()) };
    let sql = "SELECT id, tip_message_hash, model, datetime_utc FROM turns WHERE thread_id = ?1 ORDER BY id";
    let mut turns: Vec<(String, Option<String>)> = Vec::new();
    let (mut began, mut model) = (row.time("datetime_utc"), None);
    database.each(sql, &[id.into()], &mut |turn| {
        began = began.or_else(|| turn.time("datetime_utc"));
        model = turn.word("model").or(model.take());
        turns.push((turn.word("id").unwrap_or_default(), turn.word("tip_message_hash")));
        Ok(())
    })?;
    let began = began.unwrap_or_default();
    let mut conversation = SourceConversation::new(id, began);
    conversation.header.title = row.word("name");
    conversation.header.settings.model = model;
    conversation.head = row.word("tip_message_hash");
    if let Some(other) = row.word("forked_from") {
        conversation.header.extra.set("forked_from", json_of(&other));
    }
    let thread = ThreadBuilder::announced(conversation, reading)?;
    let mut read = TurnsThread { database, calls, thread, began, given: HashSet::new() };
    for (turn, tip) in turns {
        read.follow(tip.clone(), reading)?;
        read.keep_if_silent(&turn, tip.as_deref(), reading)?;
    }
    read.follow(row.word("tip_message_hash"), reading)
}

/// One thread while it is read.
struct TurnsThread<'a> {
    database: &'a Database,
    calls: &'a FirstCalls,
    thread: ThreadBuilder,
    began: Time,
    given: HashSet<String>,
}

impl TurnsThread<'_> {
    /// Passes on the messages that lead to `tip`, unless they were passed on before.
    fn follow(&mut self, tip: Option<String>, reading: &mut Reading<'_>) -> Result<()> {
        for hash in path(self.database, tip, |hash| self.given.contains(hash))? {
            self.give(&hash, reading)?;
            self.given.insert(hash);
        }
        Ok(())
    }

    fn give(&mut self, hash: &str, reading: &mut Reading<'_>) -> Result<()> {
        let Some((mut said, mut source)) = message::read(self.database, hash)? else { return Ok(()) };
        let call = self.calls.first(self.database, hash)?;
        let mut time = call.as_ref().and_then(|call| call.time("datetime_utc")).unwrap_or(self.began);
        if let Some(call) = call.filter(|call| call.text("tip_message_hash") == Some(hash)) {
            message::describe(&mut said, &call);
            source["turn"] = call.to_json(&["thread_id"]);
            time = time.plus_micros(call.integer("duration_ms").unwrap_or(0).saturating_mul(1_000));
        }
        said.created_at = Some(time);
        let parent = source["message"]["parent_hash"].as_str().map(str::to_owned);
        let source = source.to_string();
        self.database.pass(source.len() as u64, reading)?;
        let message = self.thread.message(hash, parent, said);
        self.thread.add(SourceMessage { source, ..message }, reading)
    }

    /// A call without a new message is kept by itself.
    fn keep_if_silent(&mut self, turn: &str, tip: Option<&str>, reading: &mut Reading<'_>) -> Result<()> {
        let first =
            tip.and_then(|tip| self.calls.first.get(tip)).map(|place| self.calls.ids[*place].as_str());
        if first == Some(turn) {
            return Ok(());
        }
        let Some(row) = self.database.one("SELECT * FROM turns WHERE id = ?1", &[turn.into()])? else {
            return Ok(());
        };
        self.thread.aside(0, row.to_json(&[]).to_string(), reading)
    }
}
