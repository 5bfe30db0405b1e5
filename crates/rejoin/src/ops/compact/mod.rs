//! Compaction: what is kept of a conversation that grew too long, apart from asking anyone for a summary.
//!
//! Pure: the caller brings the way tokens are counted, and the words of the summary. Nothing here edits history; the
//! result is one message to append.

mod loss;
mod select;

pub use loss::{Fact, FactKind, lost};
pub use select::{select, truncate_middle};

use crate::error::Result;
use crate::model::{Block, Message, MessageId, Role};
use crate::ops::view::{Compaction, Said, View};

/// Counts the tokens of a text.
pub type Count<'a> = dyn Fn(&str) -> u64 + 'a;

/// The part of a context window above which a conversation is compacted.
pub const COMPACT_THRESHOLD: f64 = 0.8;

/// How many tokens of the user's own messages stay.
pub const COMPACT_USER_MESSAGE_MAX_TOKENS: u64 = 20_000;

/// What a summariser is asked.
pub const SUMMARY_PROMPT: &str = "\
Please provide a concise summary of the conversation so far.

Focus on:
- Key decisions that were made
- Important information that was shared
- The current state of the work
- Unresolved issues and next steps

Keep it under 500 tokens.";

/// What stands for a summary that could not be had.
pub const NO_SUMMARY: &str = "(summary unavailable)";

/// What a summary begins with, for the model that reads it.
const PREFIX: &str = "Summary of earlier conversation:\n\n";

/// Beginnings of summaries that other programs wrote.
const OTHER_PREFIXES: [&str; 1] = ["Summary: "];

/// True when a history of so many tokens should be compacted.
pub fn needs_compaction(tokens: u64, window: u64, threshold: f64) -> bool {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "windows are far below 2^53, and a threshold is between 0 and 1"
    )]
    let limit = (window as f64 * threshold.clamp(0.0, 1.0)).floor() as u64;
    tokens > limit
}

/// The words of a summary message: the model's, or what stands for them.
pub fn summary_text(answer: &str) -> String {
    let words = answer.trim();
    format!("{PREFIX}{}", if words.is_empty() { NO_SUMMARY } else { words })
}

/// The user's own messages with their texts, oldest first: neither summaries nor empty ones.
pub fn user_messages(path: &[Said<'_>]) -> Vec<(MessageId, String)> {
    let spoken = path.iter().filter(|said| said.message.role == Role::User && !is_summary(said.message));
    spoken
        .filter_map(|said| Some((said.id?, said.message.text())))
        .filter(|(_, text)| !text.trim().is_empty())
        .collect()
}

fn is_summary(message: &Message) -> bool {
    let text = message.text();
    message.blocks.iter().any(|block| matches!(block, Block::Summary(_)))
        || text.starts_with(PREFIX)
        || OTHER_PREFIXES.iter().any(|prefix| text.starts_with(prefix))
}

/// The message that compacts a path: append it, and the view begins there.
pub fn compacted(
    path: &[Said<'_>],
    before: &View<'_>,
    summary: &str,
    trimmed: u64,
    budget: u64,
    count: &Count<'_>,
) -> Result<Message> {
    let kept = select(&user_messages(path), budget, count);
    let compaction =
        Compaction { kept, trimmed, tokens_before: tokens(before, count), ..Compaction::default() };
    compaction.to_message(&summary_text(summary))
}

/// The tokens of a view.
pub fn tokens(view: &View<'_>, count: &Count<'_>) -> u64 {
    view.messages.iter().map(|viewed| tokens_of(&viewed.message, count)).sum()
}

/// What a message costs beside its words: its role and the marks around it.
const MESSAGE_TOKENS: u64 = 4;

/// The tokens of one message, so that a caller can count each message once.
pub fn tokens_of(message: &Message, count: &Count<'_>) -> u64 {
    let words: u64 = message.blocks.iter().filter_map(Block::words).map(|words| count(&words)).sum();
    words + MESSAGE_TOKENS
}

#[cfg(test)]
mod tests;
