//! What a list shows of a conversation's messages, computed again when messages were removed.

use crate::model::{Message, Role, preview};

/// The preview that `first` shows of a message, and the one that `last` shows of an assistant message.
///
/// A body that is not a message in the clear gives neither; whoever sealed it also writes its previews.
pub(crate) fn previews(body: &str) -> (String, Option<String>) {
    let Ok(message) = Message::from_body(body) else { return (String::new(), None) };
    let preview = preview(&message.text());
    let last = (message.role == Role::Assistant).then(|| preview.clone());
    (preview, last)
}

/// Everything in a stored body that can be searched for, and the message's time.
pub(crate) fn searchable(body: &str) -> Option<(String, crate::model::Time)> {
    let message = Message::from_body(body).ok()?;
    let mut text = String::new();
    for words in message.blocks.iter().filter_map(|block| block.words()) {
        text.push_str(&words);
        text.push('\n');
    }
    Some((text, message.created_at.unwrap_or_default()))
}
