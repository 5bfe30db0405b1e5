//! What a list shows of a conversation's messages, computed again when messages were removed.

use crate::model::{Message, Role, Time, preview};

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
pub(crate) fn searchable(body: &str) -> Option<(String, Time)> {
    let message = Message::from_body(body).ok()?;
    let mut text = String::new();
    for words in message.blocks.iter().filter_map(|block| block.words()) {
        text.push_str(&words);
        text.push('\n');
    }
    Some((text, message.created_at.unwrap_or_default()))
}

/// The time of a stored body. It stands at the beginning of what Rejoin writes, so that a search need not read the rest.
pub(crate) fn time_of(body: &str) -> Time {
    const NAME: &str = "\"created_at\":\"";
    let start = body.char_indices().map_while(|(at, _)| (at < 48).then_some(at)).last().unwrap_or(0);
    let quick = body[..start].find(NAME).and_then(|at| {
        let (time, _) = body[at + NAME.len()..].split_once('"')?;
        time.parse().ok()
    });
    quick.unwrap_or_else(|| searchable(body).map(|(_, time)| time).unwrap_or_default())
}
