//! Requests to a model for a title and a synopsis: when one is due, and how many there were.
//!
//! The count is in the header of the conversation, so that it goes where the conversation goes. It is raised
//! before the request leaves: two processes never ask for the same synopsis.

use std::cell::Cell;
use std::time::Duration;

use rejoin::{Archive, Conversation, ConversationId, Json, StoredConversation, Usage};
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::providers::Provider;
use crate::summarise::ask::{Title, ask};
use crate::summarise::snapshot::ConversationExcerpt;

/// The field of a header that counts the requests.
const FIELD: &str = "summaries";

/// The fewest messages to describe: what was said and a reply.
const FEWEST: u64 = 2;

/// How long a model may take. Nobody waits for it, but a request should not stay open for ever.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often a model was asked to describe a conversation, and what that took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct SummaryRequests {
    /// How many requests there were.
    pub requests: u64,
    /// How many messages the conversation had at the last one.
    pub messages: u64,
    /// Tokens of all requests.
    pub input_tokens: u64,
    /// Tokens of all answers.
    pub output_tokens: u64,
}

impl SummaryRequests {
    /// What a conversation counted.
    pub fn of(conversation: &Conversation) -> Self {
        conversation.extra.field(FIELD).and_then(|counted| counted.to().ok()).unwrap_or_default()
    }

    fn put_into(self, conversation: &mut Conversation) {
        conversation.extra.set(FIELD, Json::of(&self).expect("numbers are JSON"));
    }
}

/// True when a conversation has no synopsis by a model yet, or has doubled since the last one.
pub fn is_summary_due(stored: &StoredConversation) -> bool {
    is_due(SummaryRequests::of(&stored.conversation), stored.messages)
}

const fn is_due(counted: SummaryRequests, messages: u64) -> bool {
    messages >= FEWEST && messages >= counted.messages.saturating_mul(2)
}

/// Asks a model for the title and the synopsis of a conversation, if that is due, and keeps them. Returns
/// whether it was asked.
///
/// A title that a person gave stays.
pub async fn summarise(
    archive: &Archive,
    conversation: ConversationId,
    provider: &dyn Provider,
    model: &str,
) -> Result<bool> {
    let stored = archive.conversation(conversation)?;
    let path: Vec<_> = archive.path(conversation, None)?.into_iter().map(|stored| stored.message).collect();
    let redacted = |message: &rejoin::Message| archive.redaction().apply(message);
    let snapshot = ConversationExcerpt::of(path.iter(), archive.now(), &redacted);
    let computed = snapshot.title();
    let may_name = |title: &Option<String>| title.is_none() || *title == computed;
    let is_mine = Cell::new(false);
    archive.update(conversation, |header| {
        let mut counted = SummaryRequests::of(header);
        is_mine.set(is_due(counted, stored.messages));
        if is_mine.get() {
            counted.requests += 1;
            counted.messages = stored.messages;
            counted.put_into(header);
        }
    })?;
    if !is_mine.get() {
        return Ok(false);
    }
    let title = if may_name(&stored.conversation.title) { Title::Missing } else { Title::Kept };
    let asked = tokio::time::timeout(PATIENCE, ask(provider, model, &snapshot, title)).await;
    let (answer, usage) = asked.unwrap_or_else(|_| {
        let why = format!("the model gave no synopsis within {} seconds", PATIENCE.as_secs());
        Err(Error::new(ErrorKind::Network, why))
    })?;
    let title = answer.as_ref().ok().and_then(|answer| answer.title.clone());
    archive.update(conversation, |header| {
        add(header, &usage);
        if let Some(title) = title.as_ref().filter(|_| may_name(&header.title)) {
            header.title = Some(title.clone());
        }
    })?;
    archive.marks().describe(conversation, None, Some(&answer?.synopsis))?;
    Ok(true)
}

fn add(header: &mut Conversation, usage: &Usage) {
    let mut counted = SummaryRequests::of(header);
    counted.input_tokens = counted.input_tokens.saturating_add(usage.input_tokens);
    counted.output_tokens = counted.output_tokens.saturating_add(usage.output_tokens);
    counted.put_into(header);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_due_once_and_then_at_each_doubling() {
        let mut counted = SummaryRequests::default();
        let mut asked = Vec::new();
        for messages in 0..=40 {
            if is_due(counted, messages) {
                counted.messages = messages;
                asked.push(messages);
            }
        }

        assert_eq!(asked, [2, 4, 8, 16, 32]);
    }
}
