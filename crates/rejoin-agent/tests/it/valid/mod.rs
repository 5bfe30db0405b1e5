//! What the three APIs ask of a request, as far as a history can break it. Each check returns what is wrong.

mod anthropic;
mod chat;
mod responses;

pub(crate) use anthropic::faults_of_anthropic;
pub(crate) use chat::faults_of_chat;
pub(crate) use responses::faults_of_responses;
use serde_json::Value;

/// Whether the request may hold thinking: only what the same provider thought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thinking {
    Allowed,
    Foreign,
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A name that every API takes for a tool.
fn is_name(name: &str) -> bool {
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    (1..=64).contains(&name.len()) && name.chars().all(is_allowed)
}
