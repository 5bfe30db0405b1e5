//! Conversations in the first schema: a prompt and its answer in one row.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use crate::error::Result;
use crate::formats::database::{Database, DatabaseRow};
use crate::formats::encoding::json_of;
use crate::formats::llm::message::describe;
use crate::formats::llm::references;
use crate::formats::thread_builder::ThreadBuilder;
use crate::formats::{Aside, Reading, SourceConversation, SourceMessage, SourcePiece};
use crate::model::{Block, Fields, Json, Message, Role, Thinking, Time, ToolCall, ToolResult};

/// The ids of each conversation's responses.
pub(super) type ResponseIds = BTreeMap<String, Vec<String>>;

/// Lists the responses. A row without a conversation is one of its own.
pub(super) fn list(database: &Database) -> Result<ResponseIds> {
    let mut all = ResponseIds::new();
    let sql = "SELECT coalesce(conversation_id, id) AS conversation, id FROM responses ORDER BY id";
    let mut held = database.id_budget();
    database.each(sql, &[], &mut |row| {
        if let (Some(conversation), Some(id)) = (row.word("conversation"), row.word("id")) {
            held.add(&id)?;
            held.add(&conversation)?;
            all.entry(conversation).or_default().push(id);
        }
        Ok(())
    })?;
    Ok(all)
}

/// Keeps the rows of a conversation next to the thread that it became.
pub(super) fn keep(
    database: &Database,
    thread: &str,
    rows: &[String],
    reading: &mut Reading<'_>,
) -> Result<()> {
    for row in rows {
        if let Some(row) = response(database, row)? {
            let source = row.to_json(&[]).to_string();
            reading.give(SourcePiece::Aside(Aside { conversation: thread.to_owned(), line: 0, source }))?;
        }
    }
    Ok(())
}

/// Reads these conversations.
pub(super) fn read(database: &Database, all: &ResponseIds, reading: &mut Reading<'_>) -> Result<()> {
    let tables = ResponseTables::of(database)?;
    all.iter().try_for_each(|(id, rows)| ResponsesThread::read(database, &tables, id, rows, reading))
}

fn response(database: &Database, id: &str) -> Result<Option<DatabaseRow>> {
    database.one("SELECT * FROM responses WHERE id = ?1", &[id.into()])
}

/// The optional tables, and the rows of each response in those without an index.
struct ResponseTables {
    calls: HashMap<String, Vec<i64>>,
    results: HashMap<String, Vec<i64>>,
    has_attachments: bool,
    prompt_fragments: Option<&'static str>,
    system_fragments: Option<&'static str>,
}

impl ResponseTables {
    fn of(database: &Database) -> Result<Self> {
        let numbers = |table: &str, columns: &[&str]| -> Result<HashMap<String, Vec<i64>>> {
            let mut numbers: HashMap<String, Vec<i64>> = HashMap::new();
            if !database.has(table, columns)? {
                return Ok(numbers);
            }
            database.each(&format!("SELECT response_id, id FROM {table} ORDER BY id"), &[], &mut |row| {
                if let (Some(response), Some(number)) = (row.word("response_id"), row.integer("id")) {
                    numbers.entry(response).or_default().push(number);
                }
                Ok(())
            })?;
            Ok(numbers)
        };
        let fragments = |table: &'static str| -> Result<Option<&'static str>> {
            Ok(database.has(table, &["response_id", "fragment_id", "order"])?.then_some(table))
        };
        Ok(Self {
            calls: numbers("tool_calls", &["id", "response_id", "name", "arguments", "tool_call_id"])?,
            results: numbers("tool_results", &["id", "response_id", "name", "output", "tool_call_id"])?,
            has_attachments: database
                .has("prompt_attachments", &["response_id", "attachment_id", "order"])?,
            prompt_fragments: fragments("prompt_fragments")?,
            system_fragments: fragments("system_fragments")?,
        })
    }
}

/// One conversation while it is read.
struct ResponsesThread<'a> {
    database: &'a Database,
    tables: &'a ResponseTables,
    thread: ThreadBuilder,
    /// The current instructions. Rows repeat them, or only the first row has them.
    system: String,
}

impl<'a> ResponsesThread<'a> {
    fn read(
        database: &'a Database,
        tables: &'a ResponseTables,
        id: &str,
        rows: &[String],
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        let thread = ThreadBuilder::new(SourceConversation::new(id, Time::default()));
        let mut read = Self { database, tables, thread, system: String::new() };
        let described = database.one("SELECT * FROM conversations WHERE id = ?1", &[id.into()])?;
        for (place, row) in rows.iter().enumerate() {
            let Some(row) = response(database, row)? else { continue };
            let time = row.time("datetime_utc").unwrap_or_default();
            if place == 0 {
                read.thread.conversation.created_at = time;
                let header = &mut read.thread.conversation.header;
                header.title = described.as_ref().and_then(|described| described.word("name"));
                header.settings.model = described
                    .as_ref()
                    .and_then(|described| described.word("model"))
                    .or_else(|| row.word("model"));
            }
            read.take(&row, time, reading)?;
        }
        read.thread.complete(reading)
    }

    fn take(&mut self, row: &DatabaseRow, time: Time, reading: &mut Reading<'_>) -> Result<()> {
        let id = row.word("id").unwrap_or_default();
        let system = self.words(row.text("system"), self.tables.system_fragments, &id)?;
        if !system.is_empty() && system != self.system {
            let message = Message::new(Role::System, vec![Block::text(&system)]);
            self.give(
                message,
                &format!("{id}/system"),
                time,
                json!({ "id": id, "system": system }),
                reading,
            )?;
            self.system = system;
        }
        let results = self.results(&id)?;
        let has_results = !results.0.is_empty();
        if has_results {
            let message = Message::new(Role::Tool, results.0);
            self.give(message, &format!("{id}/results"), time, json!(results.1), reading)?;
        }
        let prompt = self.words(row.text("prompt"), self.tables.prompt_fragments, &id)?;
        let files = self.files(&id)?;
        if !prompt.is_empty() || !files.is_empty() || !has_results {
            let source = json!({ "id": id, "prompt": prompt });
            let blocks = std::iter::once(Block::text(prompt)).chain(files).collect();
            self.give(Message::new(Role::User, blocks), &format!("{id}/prompt"), time, source, reading)?;
        }
        self.reply(row, &id, time, reading)
    }

    fn reply(&mut self, row: &DatabaseRow, id: &str, time: Time, reading: &mut Reading<'_>) -> Result<()> {
        let mut blocks = Vec::new();
        if let Some(thought) = row.word("reasoning") {
            blocks.push(Block::Thinking(Thinking { text: thought, ..Thinking::default() }));
        }
        let said = row.text("response").unwrap_or_default();
        let (calls, called) = self.calls(id)?;
        if !said.is_empty() || calls.is_empty() {
            blocks.push(Block::text(said));
        }
        blocks.extend(calls);
        let mut message = Message::new(Role::Assistant, blocks);
        describe(&mut message, row);
        let mut source = row.to_json(&[]);
        if !called.is_empty() {
            source["tool_calls"] = json!(called);
        }
        let took = row.integer("duration_ms").unwrap_or(0).saturating_mul(1_000);
        self.give(message, id, time.plus_micros(took), source, reading)
    }

    fn give(
        &mut self,
        mut message: Message,
        id: &str,
        time: Time,
        source: Value,
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        message.created_at = Some(time);
        let source = source.to_string();
        self.database.pass(source.len() as u64, reading)?;
        let message = self.thread.next(id, message);
        self.thread.add(SourceMessage { source, ..message }, reading)
    }

    /// Joins a text with the fragments before it, each on its own line, as they were sent to the model.
    fn words(&self, own: Option<&str>, table: Option<&str>, id: &str) -> Result<String> {
        let mut pieces = Vec::new();
        if let Some(table) = table {
            let sql = format!("SELECT fragment_id FROM {table} WHERE response_id = ?1 ORDER BY \"order\"");
            for row in self.database.all(&sql, &[id.into()])? {
                pieces.push(references::fragment(self.database, row.integer("fragment_id").unwrap_or(0))?);
            }
        }
        pieces.extend(own.filter(|own| !own.is_empty()).map(str::to_owned));
        Ok(pieces.join("\n"))
    }

    fn files(&self, id: &str) -> Result<Vec<Block>> {
        let mut files = Vec::new();
        if self.tables.has_attachments {
            let sql =
                "SELECT attachment_id FROM prompt_attachments WHERE response_id = ?1 ORDER BY \"order\"";
            for row in self.database.all(sql, &[id.into()])? {
                let file = row.text("attachment_id").unwrap_or_default();
                files.extend(references::attachment(self.database, file)?.map(Block::Media));
            }
        }
        Ok(files)
    }

    fn calls(&self, id: &str) -> Result<(Vec<Block>, Vec<Value>)> {
        let (mut blocks, mut sources) = (Vec::new(), Vec::new());
        for number in self.tables.calls.get(id).into_iter().flatten() {
            let sql = "SELECT * FROM tool_calls WHERE id = ?1";
            let Some(row) = self.database.one(sql, &[(*number).into()])? else { continue };
            let arguments = row.text("arguments").unwrap_or("null");
            let input = Json::parse(arguments).unwrap_or_else(|_| json_of(arguments));
            let (call, name) = (row.word("tool_call_id"), row.word("name"));
            blocks.push(Block::ToolCall(ToolCall {
                id: call.unwrap_or_else(|| number.to_string()),
                name: name.unwrap_or_default(),
                input,
                extra: Fields::new(),
            }));
            sources.push(row.to_json(&[]));
        }
        Ok((blocks, sources))
    }

    fn results(&self, id: &str) -> Result<(Vec<Block>, Vec<Value>)> {
        let (mut blocks, mut sources) = (Vec::new(), Vec::new());
        for number in self.tables.results.get(id).into_iter().flatten() {
            let sql = "SELECT * FROM tool_results WHERE id = ?1";
            let Some(row) = self.database.one(sql, &[(*number).into()])? else { continue };
            let mut result = ToolResult {
                call_id: row.word("tool_call_id").unwrap_or_default(),
                output: json_of(row.text("output").unwrap_or_default()),
                is_error: row.word("exception").is_some(),
                extra: Fields::new(),
            };
            result.extra.set("name", json_of(row.text("name").unwrap_or_default()));
            blocks.push(Block::ToolResult(result));
            sources.push(row.to_json(&[]));
        }
        Ok((blocks, sources))
    }
}
