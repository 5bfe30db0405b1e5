//! A message as typed values, for the reference parse and the bare store.
//!
//! One flat block type: sonic-rs fills it in one pass, while a tagged enum would be buffered first and cost a
//! third more. That makes it the fastest typed parse to be compared with.

use serde::Deserialize;

use super::Loaded;

#[derive(Deserialize)]
#[expect(dead_code, reason = "a typed load pays for every field, whether or not the benchmark looks at it")]
pub(crate) struct Message {
    role: Role,
    created_at: String,
    blocks: Vec<Block>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Role {
    System,
    User,
    Assistant,
    Tool,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "a typed load pays for every field, whether or not the benchmark looks at it")]
struct Block {
    r#type: Kind,
    text: Option<String>,
    id: Option<String>,
    name: Option<String>,
    input: Option<sonic_rs::Value>,
    call_id: Option<String>,
    output: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Text,
    ToolCall,
    ToolResult,
}

impl Message {
    /// Returns the pieces of text that a full-text search looks at.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.blocks.iter().filter_map(|block| block.text.as_deref().or(block.output.as_deref()))
    }
}

/// Counts what was loaded, by looking at every message.
pub(crate) fn weigh(messages: &[Message]) -> Loaded {
    let text_bytes = messages.iter().flat_map(Message::texts).map(str::len).sum();
    Loaded { messages: messages.len(), text_bytes }
}
