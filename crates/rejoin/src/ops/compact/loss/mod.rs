//! The loss report: what was there before a compaction and is not mentioned
//! after it. Computed, not asked of a model.
//!
//! The same views give the same report. A fact is named once, in its first spelling, with the message it
//! stood in. Reading both views once is enough, so the time grows with their length.

mod facts;
mod mentions;
mod sentences;
mod words;

use crate::model::{Block, Json};
use crate::ops::view::{Fact, View};
use facts::FoundFact;
use mentions::Mentions;

/// The facts that the view had before and does not mention after, in order of their first appearance.
pub(crate) fn lost(before: &View<'_>, after: &View<'_>) -> Vec<Fact> {
    let mut facts: Vec<Fact> = Vec::new();
    let mut mentions = Mentions::default();
    for viewed in &before.messages {
        for block in &viewed.message.blocks {
            let Some(text) = text_of(block) else { continue };
            for FoundFact { kind, text, .. } in facts::of(&text, TextSource::of(block, viewed.message.role)) {
                // A fact of the same words, in whatever spelling, is the same.
                if mentions.expect(kind, text, facts.len()) {
                    facts.push(Fact { kind, text: text.to_owned(), message: viewed.id });
                }
            }
        }
    }
    let mut is_mentioned = vec![false; facts.len()];
    for block in after.messages.iter().flat_map(|viewed| &viewed.message.blocks) {
        if let Some(text) = text_of(block) {
            mentions.look(&text, |fact| is_mentioned[fact] = true);
        }
    }
    facts
        .into_iter()
        .zip(is_mentioned)
        .filter(|(_, is_mentioned)| !is_mentioned)
        .map(|(fact, _)| fact)
        .collect()
}

/// Where a text comes from, which decides what is looked for in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextSource {
    /// A person: everything.
    User,
    /// A model's reply: everything but instructions.
    Reply,
    /// Tools and thoughts: single words. Every line of a program is full of quotation marks.
    Machine,
}

impl TextSource {
    const fn of(block: &Block, role: crate::model::Role) -> Self {
        match (block, role) {
            (Block::Text(_), crate::model::Role::User) => Self::User,
            (Block::Text(_) | Block::Summary(_), _) => Self::Reply,
            _ => Self::Machine,
        }
    }
}

/// What a block says, with the strings of JSON as they are meant.
fn text_of(block: &Block) -> Option<std::borrow::Cow<'_, str>> {
    match block {
        Block::ToolCall(call) => Some(format!("{} {}", call.name, plain(&call.input)).into()),
        Block::ToolResult(result) => Some(plain(&result.output).into()),
        _ => block.words(),
    }
}

/// The strings and numbers of a JSON value, a line each.
fn plain(json: &Json) -> String {
    fn gather(value: &serde_json::Value, text: &mut String) {
        match value {
            serde_json::Value::String(string) => text.push_str(string),
            serde_json::Value::Number(number) => text.push_str(&number.to_string()),
            serde_json::Value::Array(values) => values.iter().for_each(|value| gather(value, text)),
            serde_json::Value::Object(fields) => fields.values().for_each(|value| gather(value, text)),
            serde_json::Value::Null | serde_json::Value::Bool(_) => return,
        }
        text.push('\n');
    }
    let mut text = String::new();
    match json.to() {
        Ok(value) => gather(&value, &mut text),
        Err(_) => text.push_str(json.as_str()),
    }
    text
}

#[cfg(test)]
mod tests;
