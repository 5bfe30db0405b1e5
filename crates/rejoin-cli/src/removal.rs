//! Deleting at the user's wish: how it is recorded, and how what goes is described before and after.

use rejoin::{Archive, ConversationId, Hold, StoredConversation};

use crate::error::{Failure, Kind};
use crate::named;
use crate::ui::size;

/// Why something was deleted, as the events and the audit tell it.
pub(crate) const REASON: &str = "user-requested";

/// How many things a question lists before it only counts the rest.
pub(crate) const LISTED: usize = 20;

/// Deletes a conversation and returns the bytes its messages took.
pub(crate) fn delete_conversation(archive: &Archive, id: ConversationId) -> Result<u64, Failure> {
    let mut deleted = archive.delete_conversations(&[id], REASON);
    match deleted.failed.pop() {
        Some((_, why)) => Err(Failure::new(Kind::Other, why)),
        None => Ok(deleted.bytes()),
    }
}

/// A conversation with what a person should know before it goes: `"Lisbon" (12 messages, 3.4 kB, held)`.
pub(crate) fn describe(stored: &StoredConversation, active: Option<ConversationId>) -> String {
    let mut facts = vec![size::count(stored.messages, "message", "messages"), size::bytes(stored.bytes)];
    facts.extend(match stored.conversation.hold {
        Hold::None => None,
        Hold::Import => Some("held since its import".to_owned()),
        Hold::User => Some("held".to_owned()),
    });
    facts.extend((active == Some(stored.id)).then(|| "active".to_owned()));
    format!("\"{}\" ({})", named::title(stored), facts.join(", "))
}

/// `1 conversation`, `3 messages`, or both.
pub(crate) fn amount(conversations: u64, messages: u64) -> String {
    let counts = [
        (conversations, size::count(conversations, "conversation", "conversations")),
        (messages, size::count(messages, "message", "messages")),
    ];
    let told: Vec<String> =
        counts.into_iter().filter(|(count, _)| *count > 0).map(|(_, told)| told).collect();
    told.join(" and ")
}
