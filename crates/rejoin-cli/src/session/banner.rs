//! What a person is told when a talk begins or takes another course.

use rejoin::{BegunAgain, ConversationId, Receipt, Settings, StoredConversation};

use crate::named;
use crate::ui::clean;

/// The first line after coming back.
pub(crate) fn resuming(stored: &StoredConversation) -> String {
    format!("[Resuming \"{}\"]", named::title(stored))
}

/// How much came back.
pub(crate) fn came_back(conversation: ConversationId, messages: usize) -> String {
    match messages {
        0 => no_turns(conversation),
        _ => format!("Resumed conversation with {messages} messages"),
    }
}

/// That nothing was said yet.
pub(crate) fn no_turns(conversation: ConversationId) -> String {
    format!("Conversation {} has no turns", conversation.short())
}

/// Provider and model, as lists show them.
pub(crate) fn talked_with(settings: &Settings) -> String {
    let known = |name: &Option<String>| name.as_deref().map_or("unknown".to_owned(), clean::line);
    format!("{} ({})", known(&settings.provider), known(&settings.model))
}

/// What to say when the conversation was deleted by somebody else.
pub(crate) fn begun_again(begun_again: &BegunAgain) -> String {
    format!(
        "Conversation {} was deleted meanwhile. What is said from now on is saved in a new one: rejoin -r {}",
        begun_again.deleted.short(),
        begun_again.conversation.short()
    )
}

/// What to say when an append became a branch.
pub(crate) fn branched(receipt: &Receipt) -> Option<String> {
    receipt.forked.then(|| {
        let short = receipt.conversation.short();
        format!(
            "The conversation had gone on from there, so this is a branch. See all of it: rejoin tree {short}"
        )
    })
}
