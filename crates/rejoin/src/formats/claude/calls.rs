//! Which message each call of a session is in, to find the one that asked for a sub-agent.

use std::collections::HashMap;

/// The calls of a session, if it has runs of sub-agents at all; otherwise none are kept.
#[derive(Debug, Default)]
pub(super) struct CallIndex(Option<HashMap<String, (String, String)>>);

impl CallIndex {
    /// Keeps calls from now on.
    pub(super) fn keep(&mut self) {
        self.0.get_or_insert_default();
    }

    pub(super) fn insert(&mut self, call: &str, conversation: &str, message: &str) {
        if let Some(calls) = &mut self.0 {
            calls.insert(call.to_owned(), (conversation.to_owned(), message.to_owned()));
        }
    }

    /// The conversation and the message of a call.
    pub(super) fn caller(&self, call: &str) -> Option<(String, String)> {
        self.0.as_ref()?.get(call).cloned()
    }
}
