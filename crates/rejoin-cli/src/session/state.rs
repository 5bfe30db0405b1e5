//! What a conversation was held with, as its header says: every tool that was offered, and the hash of the
//! whole system prompt. It is written after a turn, when something changed.

use rejoin::{Archive, Conversation, ConversationId, Fields, Json};
use rejoin_agent::{Api, Talk};

use crate::session::command_file;

/// The field of a header.
const FIELD: &str = "session";

/// Notes what the last request offered and began with.
pub(super) fn note(archive: &Archive, id: ConversationId, talk: &Talk) {
    if talk.provider().api() == Api::Offline || talk.history().is_empty() {
        return;
    }
    let mut state = Fields::new();
    state.set("tools", Json::of(&talk.offered()).expect("names are JSON"));
    state.set("system_hash", Json::of(&command_file::hash(talk.system())).expect("a string is JSON"));
    let state = Json::of(&state).expect("fields are JSON");
    let is_noted = |header: &Conversation| header.extra.field(FIELD) == Some(&state);
    let noted = match archive.conversation(id) {
        Ok(stored) if is_noted(&stored.conversation) => Ok(()),
        Ok(_) => archive.update(id, |header| header.extra.set(FIELD, state.clone())).map(drop),
        Err(error) => Err(error),
    };
    if let Err(error) = noted {
        tracing::warn!(kind = error.kind().as_str(), "the tools of the conversation were not noted");
    }
}
