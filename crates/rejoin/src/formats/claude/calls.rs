//! An index of the calls of a session, to find the one that started a sub-agent.

use std::collections::HashMap;

/// The message of each call; none if the session has no sub-agents.
#[derive(Debug, Default)]
pub(super) struct CallIndex(Option<HashMap<String, (String, String)>>);

impl CallIndex {
    /// Starts recording calls.
    pub(super) fn keep(&mut self) {
        self.0.get_or_insert_default();
    }

    pub(super) fn insert(&mut self, call: &str, conversation: &str, message: &str) {
        if let Some(calls) = &mut self.0 {
            calls.insert(call.to_owned(), (conversation.to_owned(), message.to_owned()));
        }
    }

    /// Returns the conversation and the message of a call.
    pub(super) fn caller(&self, call: &str) -> Option<(String, String)> {
        self.0.as_ref()?.get(call).cloned()
    }
}
