//! Converts the messages of a thread and their parts.

use serde_json::{Map, Value, json};

use crate::error::Result;
use crate::formats::database::{Database, DatabaseRow};
use crate::formats::encoding::json_of;
use crate::formats::llm::references;
use crate::model::{Block, Fields, Json, Message, Other, Role, Text, Thinking, ToolCall, ToolResult, Usage};

/// Reads a message and returns it with its source text.
pub(super) fn read(database: &Database, hash: &str) -> Result<Option<(Message, Value)>> {
    let Some(row) = database.one("SELECT * FROM messages WHERE hash = ?1", &[hash.into()])? else {
        return Ok(None);
    };
    let sql = "SELECT * FROM parts WHERE message_hash = ?1 ORDER BY position";
    let parts = database.all(sql, &[hash.into()])?;
    let blocks: Result<Vec<Block>> = parts.iter().map(|part| block(database, part)).collect();
    let mut message = Message::new(role_of(&row), blocks?);
    if row.text("role").is_none_or(|role| role.parse::<Role>().is_err()) {
        message.extra.set("role", json_of(row.text("role").unwrap_or_default()));
    }
    let parts: Vec<Value> = parts.iter().map(|part| part.to_json(&[])).collect();
    Ok(Some((message, json!({ "message": row.to_json(&[]), "parts": parts }))))
}

fn role_of(row: &DatabaseRow) -> Role {
    row.text("role").and_then(|role| role.parse().ok()).unwrap_or(Role::System)
}

/// Adds the model and the usage of a call.
pub(super) fn describe(message: &mut Message, call: &DatabaseRow) {
    if let Some(model) = call.word("resolved_model").or_else(|| call.word("model")) {
        message.extra.set("model", json_of(&model));
    }
    if let (Some(input), Some(output)) = (call.count("input_tokens"), call.count("output_tokens")) {
        let detail = call.text("token_details").and_then(|detail| Json::parse(detail).ok());
        message.usage = Some(Usage { input_tokens: input, output_tokens: output, detail });
    }
}

fn block(database: &Database, part: &DatabaseRow) -> Result<Block> {
    let payload = part.text("payload").and_then(|payload| serde_json::from_str(payload).ok());
    let mut fields: Map<String, Value> = payload.unwrap_or_default();
    let words = match (part.text("text"), fields.shift_remove("text_ref")) {
        (Some(words), _) => Some(words.to_owned()),
        (None, Some(Value::Array(pieces))) => Some(joined(database, &pieces)?),
        (None, _) => take(&mut fields, "text"),
    };
    let kind = part.text("type").unwrap_or_default();
    Ok(match kind {
        "text" => Block::Text(Text { text: words.unwrap_or_default(), extra: rest(fields) }),
        "reasoning" => Block::Thinking(Thinking {
            text: words.unwrap_or_default(),
            signature: None,
            extra: rest(fields),
        }),
        "tool_call" => {
            let id = take(&mut fields, "tool_call_id").unwrap_or_default();
            let name = take(&mut fields, "name").unwrap_or_default();
            let input = fields.shift_remove("arguments").map(|input| json_of(&input)).unwrap_or_default();
            Block::ToolCall(ToolCall { id, name, input, extra: rest(fields) })
        }
        "tool_result" => Block::ToolResult(result(database, fields)?),
        "attachment" => {
            let id = fields.get("attachment").and_then(|file| file["id"].as_str());
            match id.map(|id| references::attachment(database, id)).transpose()?.flatten() {
                Some(media) => Block::Media(media),
                None => Block::Other(Other { kind: kind.to_owned(), fields: rest(fields) }),
            }
        }
        other => {
            let mut fields = rest(fields);
            if let Some(words) = words {
                fields.set("text", json_of(&words));
            }
            Block::Other(Other { kind: other.to_owned(), fields })
        }
    })
}

/// The output of a tool: its text, or its text and files.
fn result(database: &Database, mut fields: Map<String, Value>) -> Result<ToolResult> {
    let call_id = take(&mut fields, "tool_call_id").unwrap_or_default();
    let said = fields.shift_remove("output").unwrap_or(Value::Null);
    let mut files = Vec::new();
    for file in fields.shift_remove("attachments").as_ref().and_then(Value::as_array).into_iter().flatten() {
        let id = file["id"].as_str().unwrap_or_default();
        files.extend(references::attachment(database, id)?.map(Block::Media));
    }
    let output = match said.as_str() {
        Some(text) if !files.is_empty() => {
            json_of(std::iter::once(Block::text(text)).chain(files).collect::<Vec<_>>())
        }
        _ => json_of(&said),
    };
    let is_error = fields.get("exception").is_some_and(|exception| !exception.is_null());
    Ok(ToolResult { call_id, output, is_error, extra: rest(fields) })
}

/// Joins text that was split because parts of it are stored elsewhere.
fn joined(database: &Database, pieces: &[Value]) -> Result<String> {
    let mut whole = String::new();
    for piece in pieces {
        match (piece["literal"].as_str(), piece["fragment"].as_i64()) {
            (Some(literal), _) => whole.push_str(literal),
            (None, Some(number)) => whole.push_str(&references::fragment(database, number)?),
            (None, None) => {}
        }
    }
    Ok(whole)
}

/// Takes a field that is text.
fn take(fields: &mut Map<String, Value>, name: &str) -> Option<String> {
    let text = fields.get(name)?.as_str()?.to_owned();
    fields.shift_remove(name);
    Some(text)
}

fn rest(fields: Map<String, Value>) -> Fields {
    let mut rest = Fields::new();
    fields.into_iter().for_each(|(name, value)| rest.set(name, json_of(&value)));
    rest
}
