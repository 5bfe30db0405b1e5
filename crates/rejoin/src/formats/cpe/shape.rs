//! Converts a row of `messages` and its blocks to a message and back.

use crate::formats::content::summarize_first_text;
use crate::formats::cpe::parts::{BlockRow, object};
use crate::formats::cpe::tag::TAG;
use crate::formats::database::{ColumnValue, DatabaseRow};
use crate::formats::encoding::json_of;
use crate::model::{Block, Fields, Json, Message, Role, Time, ToolResult, Usage};

/// Columns with token counts, which not every message has.
const CACHED: [&str; 2] = ["cache_read_tokens", "cache_write_tokens"];

/// What the first text of a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextKind {
    /// A message.
    Said,
    /// A summary that replaces the messages before it.
    Summary,
}

/// One row of `messages` with its blocks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RowShape {
    pub(super) role: String,
    pub(super) title: Option<String>,
    pub(super) is_error: bool,
    pub(super) created_at: Option<Time>,
    pub(super) model: Option<String>,
    pub(super) service: Option<String>,
    pub(super) tokens: Option<(u64, u64)>,
    pub(super) cached: Fields,
    /// The program's own fields, and Rejoin's.
    pub(super) fields: Fields,
    pub(super) parts: Vec<BlockRow>,
}

impl RowShape {
    pub(super) fn of(row: &DatabaseRow, parts: Vec<BlockRow>) -> Self {
        let tokens = match (row.count("input_tokens"), row.count("output_tokens")) {
            (None, None) => None,
            (input, output) => Some((input.unwrap_or(0), output.unwrap_or(0))),
        };
        let mut cached = Fields::new();
        for column in CACHED {
            if let Some(count) = row.count(column) {
                cached.set(column, json_of(count));
            }
        }
        let fields = row.text("message_extra_fields").and_then(object);
        Self {
            role: row.text("role").unwrap_or_default().to_owned(),
            title: row.word("title"),
            is_error: !matches!(row.value("tool_result_error"), ColumnValue::Null | ColumnValue::Integer(0)),
            created_at: row.time("created_at"),
            model: row.word("model_id"),
            service: row.word("model_type"),
            tokens,
            cached,
            fields: fields.unwrap_or_default(),
            parts,
        }
    }

    /// Returns the columns of its row, without those that link it to others.
    pub(super) fn columns(&self) -> Vec<(&'static str, ColumnValue)> {
        let text = |text: Option<&str>| text.map_or(ColumnValue::Null, ColumnValue::from);
        let count = |count: Option<u64>| {
            count.and_then(|count| i64::try_from(count).ok()).map_or(ColumnValue::Null, ColumnValue::Integer)
        };
        let cached = |column: &str| count(self.cached.field(column).and_then(|count| count.to().ok()));
        let fields = (!self.fields.is_empty()).then(|| json_of(&self.fields));
        vec![
            ("title", text(self.title.as_deref())),
            ("role", self.role.as_str().into()),
            ("tool_result_error", i64::from(self.is_error).into()),
            ("message_extra_fields", text(fields.as_ref().map(Json::as_str))),
            ("model_id", text(self.model.as_deref())),
            ("model_type", text(self.service.as_deref())),
            ("input_tokens", count(self.tokens.map(|(input, _)| input))),
            ("output_tokens", count(self.tokens.map(|(_, output)| output))),
            ("cache_read_tokens", cached(CACHED[0])),
            ("cache_write_tokens", cached(CACHED[1])),
            ("created_at", stamp(self.created_at.unwrap_or_default()).as_str().into()),
        ]
    }

    /// Returns the message of a row.
    pub(super) fn to_message(&self, words: TextKind) -> Message {
        let role = match self.role.as_str() {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "tool_result" => Role::Tool,
            _ => Role::System,
        };
        let api = self.service.as_deref().map(api_of);
        let blocks = match role {
            Role::Tool => self.results(api),
            Role::System | Role::User | Role::Assistant => {
                self.parts.iter().map(|part| part.to_block(api)).collect()
            }
        };
        let mut message = Message::new(role, blocks);
        message.created_at = self.created_at;
        message.is_error = self.is_error && role != Role::Tool;
        message.usage = self.tokens.map(|(input_tokens, output_tokens)| Usage {
            input_tokens,
            output_tokens,
            detail: (!self.cached.is_empty()).then(|| json_of(&self.cached)),
        });
        if role == Role::System {
            message.extra.set("role", json_of(&self.role));
        }
        for (name, word) in [("api", api), ("model", self.model.as_deref())] {
            if let Some(word) = word {
                message.extra.set(name, json_of(word));
            }
        }
        for (name, value) in self.fields.iter().filter(|(name, _)| *name != TAG) {
            message.extra.set(name, value.clone());
        }
        if words == TextKind::Summary {
            summarize_first_text(&mut message);
        }
        message
    }

    /// Consecutive blocks with one call id form its result.
    fn results(&self, api: Option<&str>) -> Vec<Block> {
        let mut blocks = Vec::new();
        for run in self.parts.chunk_by(|one, other| one.id.is_some() && one.id == other.id) {
            let Some(call_id) = run[0].id.clone() else {
                blocks.extend(run.iter().map(|part| part.to_block(api)));
                continue;
            };
            let output = match run {
                [only] if *only == BlockRow::text(&only.content, only.id.as_deref(), Fields::new()) => {
                    json_of(&only.content)
                }
                several => {
                    let nameless = several.iter().map(|part| BlockRow { id: None, ..part.clone() });
                    json_of(nameless.map(|part| part.to_block(api)).collect::<Vec<_>>())
                }
            };
            let is_error = self.is_error;
            blocks.push(Block::ToolResult(ToolResult { call_id, output, is_error, extra: Fields::new() }));
        }
        blocks
    }

    /// Returns the rows of a message: one, or one per tool result.
    pub(super) fn from_message(message: &Message) -> Vec<Self> {
        let word = |name: &str| message.extra.field(name).and_then(|value| value.to::<String>().ok());
        let (api, model) = (word("api"), word("model"));
        let role = match message.role {
            Role::User | Role::System => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool_result",
        };
        let mut fields = Fields::new();
        for (name, value) in message.extra.iter().filter(|(name, _)| !matches!(*name, "api" | "model")) {
            fields.set(name, value.clone());
        }
        let mut first = Self {
            role: role.to_owned(),
            is_error: message.is_error,
            created_at: message.created_at,
            model,
            service: api.as_deref().map(service_of).map(str::to_owned),
            tokens: message.usage.as_ref().map(|usage| (usage.input_tokens, usage.output_tokens)),
            fields,
            ..Self::default()
        };
        if let Some(Ok(detail)) =
            message.usage.as_ref().and_then(|usage| usage.detail.as_ref()).map(Json::to::<Fields>)
        {
            for column in CACHED {
                if let Some(count) = detail.field(column).filter(|count| count.to::<u64>().is_ok()) {
                    first.cached.set(column, count.clone());
                }
            }
        }
        let mut rows = vec![first];
        for block in &message.blocks {
            match block {
                Block::ToolResult(result) => add_result(&mut rows, result, api.as_deref()),
                block => {
                    let last = rows.last_mut().expect("there is a first row");
                    last.parts.extend(BlockRow::from_block(block, api.as_deref(), None));
                }
            }
        }
        rows
    }
}

/// CPE records failure per message, so each result has a row of its own.
fn add_result(rows: &mut Vec<RowShape>, result: &ToolResult, api: Option<&str>) {
    let last = rows.last().expect("there is a first row");
    if last.role == "tool_result" && !last.parts.is_empty() {
        let (role, created_at) = (last.role.clone(), last.created_at);
        rows.push(RowShape { role, created_at, ..RowShape::default() });
    }
    let last = rows.last_mut().expect("there is a first row");
    if last.role == "tool_result" {
        last.is_error = result.is_error;
    }
    let said = match (result.output.to::<String>(), result.output.to::<Vec<Block>>()) {
        (Ok(text), _) => vec![BlockRow::text(&text, Some(&result.call_id), Fields::new())],
        (Err(_), Ok(blocks)) if !blocks.is_empty() && blocks.iter().all(is_plain) => blocks
            .iter()
            .filter_map(|block| BlockRow::from_block(block, api, Some(&result.call_id)))
            .collect(),
        _ => vec![BlockRow::text(result.output.as_str(), Some(&result.call_id), Fields::new())],
    };
    last.parts.extend(said);
}

fn is_plain(block: &Block) -> bool {
    matches!(block, Block::Text(_) | Block::Media(_))
}

/// Formats a time as SQLite does, in UTC.
pub(super) fn stamp(time: Time) -> String {
    time.to_string().trim_end_matches('Z').replace('T', " ")
}

/// Returns the API of a CPE provider.
fn api_of(service: &str) -> &str {
    match service {
        "responses" => "openai-responses",
        "openai" => "openai-chat",
        other => other,
    }
}

fn service_of(api: &str) -> &str {
    match api {
        "openai-responses" => "responses",
        "openai-chat" => "openai",
        other => other,
    }
}
