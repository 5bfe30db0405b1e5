//! An index of the calls of a session, to find the one that started a sub-agent.

use std::collections::HashMap;

/// The calls of a session; none if it has no sub-agents.
#[derive(Debug, Default)]
pub(super) struct CallIndex(Option<CallHistory>);

#[derive(Debug, Default)]
struct CallHistory {
    /// The conversation and the message of each call.
    callers: HashMap<String, (String, String)>,
    /// The call of each run that a result names.
    runs: HashMap<String, String>,
}

impl CallIndex {
    /// Starts recording calls.
    pub(super) fn keep(&mut self) {
        self.0.get_or_insert_default();
    }

    pub(super) fn insert(&mut self, call: &str, conversation: &str, message: &str) {
        if let Some(calls) = &mut self.0 {
            calls.callers.insert(call.to_owned(), (conversation.to_owned(), message.to_owned()));
        }
    }

    /// Returns the conversation and the message of a call.
    pub(super) fn caller(&self, call: &str) -> Option<(String, String)> {
        self.0.as_ref()?.callers.get(call).cloned()
    }

    /// True when results are asked which run they are of.
    pub(super) const fn is_kept(&self) -> bool {
        self.0.is_some()
    }

    /// Records that the result of a call names a run.
    pub(super) fn answer(&mut self, run: String, call: &str) {
        if let Some(calls) = &mut self.0 {
            calls.runs.insert(run, call.to_owned());
        }
    }

    /// Returns the call that started a run, if a result told it.
    pub(super) fn of_run(&self, run: &str) -> Option<String> {
        self.0.as_ref()?.runs.get(run).cloned()
    }
}
