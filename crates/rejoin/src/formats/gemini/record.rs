//! One record of a session: a message with the results of its tools.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use crate::error::Result;
use crate::formats::INJECTED;
use crate::formats::gemini::parts::parts;
use crate::model::{Block, Fields, Json, Message, Other, Role, Thinking, Time, ToolResult, Usage};

/// Prefixes of messages that the program adds in the user's name.
const INJECTIONS: [&str; 2] = ["<session_context>", "<hook_context>"];

/// The output of a call without a result.
const AT_WORK: [&str; 4] = ["validating", "scheduled", "awaiting_approval", "executing"];

/// A record as it is in the file.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct RawRecord<'a> {
    pub(super) id: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(borrow)]
    timestamp: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    thoughts: Option<Vec<Thought>>,
    tokens: Option<Json>,
    model: Option<String>,
    #[serde(borrow, rename = "toolCalls")]
    calls: Option<Vec<RecordCall<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Thought {
    subject: Option<String>,
    description: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RecordCall<'a> {
    id: Option<String>,
    name: Option<String>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow, rename = "resultDisplay")]
    display: Option<&'a RawValue>,
    status: Option<String>,
}

/// A record, converted to messages.
#[derive(Clone, Debug)]
pub(super) struct GeminiRecord {
    pub(super) id: String,
    pub(super) time: Option<Time>,
    pub(super) said: Message,
    /// The results of its calls.
    pub(super) results: Vec<Block>,
    /// Hashes of its pieces, to compare the contents of two records.
    pub(super) pieces: BTreeSet<u64>,
    /// True when it may continue in place.
    pub(super) is_open: bool,
}

impl GeminiRecord {
    /// Converts a record; none if it has no id.
    pub(super) fn read(raw: RawRecord<'_>) -> Result<Option<Self>> {
        let Some(id) = raw.id else { return Ok(None) };
        let kind = raw.kind.unwrap_or_default();
        let content = raw.content.map(|content| parts(content, &id)).unwrap_or_default();
        let thoughts = raw.thoughts.unwrap_or_default().into_iter().filter_map(Thought::block);
        // In a checkpoint, they are also among the parts.
        let thoughts = thoughts.filter(|thought| !content.iter().any(|part| is_same_thought(part, thought)));
        let mut blocks: Vec<Block> = thoughts.collect();
        blocks.extend(content);
        let mut results = Vec::new();
        for (place, call) in raw.calls.unwrap_or_default().into_iter().enumerate() {
            call.take(&format!("{id}/{place}"), &mut blocks, &mut results)?;
        }
        let role = match kind.as_str() {
            "gemini" => Role::Assistant,
            "user" if blocks.iter().any(|block| matches!(block, Block::ToolResult(_))) => Role::Tool,
            "user" => Role::User,
            _ => Role::System,
        };
        let mut said = Message::new(role, blocks);
        if role == Role::System {
            said = printed(kind, raw.content)?;
        }
        said.created_at = raw.timestamp.and_then(|time| serde_json::from_str(time.get()).ok());
        if let Some(model) = &raw.model {
            said.extra.set("model", Json::of(model)?);
        }
        said.usage = raw.tokens.as_ref().and_then(usage);
        if role == Role::User && INJECTIONS.iter().any(|start| said.text().starts_with(start)) {
            said.extra.set(INJECTED, Json::of(&true)?);
        }
        let pieces = said.blocks.iter().chain(&results).map(hash).collect();
        Ok(Some(Self { id, time: said.created_at, said, results, pieces, is_open: false }))
    }

    /// True when it contains everything that another record says. A text of a reply may have grown.
    pub(super) fn says_all_of(&self, before: &Self) -> bool {
        let goes_on = |said: &Block| {
            let begun = text_of(said).filter(|_| self.is_reply());
            begun.is_some_and(|begun| {
                self.said.blocks.iter().filter_map(text_of).any(|text| text.starts_with(begun))
            })
        };
        let mut said = before.said.blocks.iter().chain(&before.results);
        said.all(|block| self.pieces.contains(&hash(block)) || goes_on(block))
    }

    pub(super) fn is_reply(&self) -> bool {
        self.said.role == Role::Assistant
    }

    /// True for output of the program.
    pub(super) fn is_printed(&self) -> bool {
        self.said.role == Role::System
    }

    /// True when it has only tool results.
    pub(super) fn is_only_results(&self) -> bool {
        self.said.blocks.iter().all(|block| matches!(block, Block::ToolResult(_)))
    }

    pub(super) fn has_calls(&self) -> bool {
        self.said.blocks.iter().any(|block| matches!(block, Block::ToolCall(_)))
    }

    pub(super) fn model(&self) -> Option<String> {
        self.said.extra.field("model").and_then(|model| model.to().ok())
    }
}

impl Thought {
    fn block(self) -> Option<Block> {
        let text = match (self.subject, self.description) {
            (Some(subject), Some(description)) => format!("**{subject}** {description}"),
            (subject, description) => subject.or(description)?,
        };
        Some(Block::Thinking(Thinking { text, signature: None, extra: Fields::new() }))
    }
}

impl RecordCall<'_> {
    /// Adds a call, unless it is among the parts, and its result, if any.
    fn take(self, own: &str, blocks: &mut Vec<Block>, results: &mut Vec<Block>) -> Result<()> {
        let id = self.id.unwrap_or_else(|| own.to_owned());
        let is_there = blocks.iter().any(|block| matches!(block, Block::ToolCall(call) if call.id == id));
        if !is_there {
            let input = self.args.map(Json::from_raw).unwrap_or_default();
            blocks.push(Block::tool_call(id.clone(), self.name.unwrap_or_default(), input));
        }
        let is_at_work = self.status.as_deref().is_some_and(|status| AT_WORK.contains(&status));
        // The display of a running tool is not a result.
        let display = self.display.filter(|_| !is_at_work);
        let found = self.result.or(display).filter(|result| !matches!(result.get(), "null" | "[]"));
        let Some(found) = found else { return Ok(()) };
        let has_failed = matches!(self.status.as_deref(), Some("error" | "cancelled"));
        let mut answers = parts(found, own);
        let is_answered = !answers.is_empty();
        // A checkpoint repeats the answers to all calls of the reply next to each call.
        answers.retain(|answer| match answer {
            Block::ToolResult(result) => result.call_id == id || result.call_id.starts_with(own),
            _ => true,
        });
        if is_answered && answers.is_empty() {
            return Ok(());
        }
        let output = match answers.as_slice() {
            [Block::ToolResult(result)] => result.output.clone(),
            [Block::Text(text)] => Json::of(&text.text)?,
            [] => Json::from_raw(found),
            _ => {
                answers.iter_mut().for_each(unwrap_text);
                Json::of(&answers)?
            }
        };
        let result = ToolResult { call_id: id, output, is_error: has_failed, extra: Fields::new() };
        results.push(Block::ToolResult(result));
        Ok(())
    }
}

/// Replaces a result among other parts by its text.
fn unwrap_text(block: &mut Block) {
    if let Block::ToolResult(result) = block
        && let Ok(text) = result.output.to::<String>()
    {
        *block = Block::text(text);
    }
}

/// Returns the message of a line that the program printed.
fn printed(kind: String, content: Option<&RawValue>) -> Result<Message> {
    let mut fields = Fields::new();
    if let Some(content) = content {
        fields.set("content", Json::from_raw(content));
    }
    let mut message = Message::new(Role::System, vec![Block::Other(Other { kind, fields })]);
    message.extra.set(INJECTED, Json::of(&true)?);
    Ok(message)
}

fn usage(tokens: &Json) -> Option<Usage> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Tokens {
        input: u64,
        output: u64,
        thoughts: u64,
    }
    let read: Tokens = tokens.to().ok()?;
    Some(Usage {
        input_tokens: read.input,
        output_tokens: read.output.saturating_add(read.thoughts),
        detail: Some(tokens.clone()),
    })
}

fn is_same_thought(part: &Block, thought: &Block) -> bool {
    matches!(part, Block::Thinking(_)) && hash(part) == hash(thought)
}

/// Returns a text that may grow while a reply is written.
fn text_of(block: &Block) -> Option<&str> {
    match block {
        Block::Text(text) => Some(&text.text),
        Block::Thinking(thinking) => Some(&thinking.text),
        _ => None,
    }
}

/// Returns the hash of a piece, independent of the form of the record.
fn hash(block: &Block) -> u64 {
    let words = block.words().map_or_else(|| format!("{block:?}"), |words| words.trim().to_owned());
    let kind = match block {
        Block::ToolCall(_) => "call",
        Block::ToolResult(_) => "result",
        _ => "said",
    };
    let hash: [u8; 32] = Sha256::digest(format!("{kind}\n{words}")).into();
    u64::from_le_bytes(hash[..8].try_into().expect("a hash has 32 bytes"))
}
