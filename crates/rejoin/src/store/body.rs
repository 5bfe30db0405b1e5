//! Reads previews and searchable text from plaintext bodies.
//!
//! They fill indexes and answer from them. Nothing that is read here decides where a message goes.

use serde_json::value::RawValue;

use crate::model::{Message, Role, Time};

/// The preview that `first` shows of a conversation whose user says this first;
/// none for what is not said by the user.
///
/// A body that is not a plaintext message has none; whoever encrypted it also writes its previews.
pub(crate) fn first_preview(body: &str) -> Option<String> {
    Message::from_body(body).ok()?.first_preview()
}

/// The preview that `last` shows of a conversation whose newest reply is this; none for anything else.
pub(crate) fn last_preview(body: &str) -> Option<String> {
    Message::from_body(body).ok()?.last_preview()
}

/// What a search looks at in a message.
#[derive(Debug)]
#[non_exhaustive]
pub struct Searchable {
    /// Everything that can be searched for.
    pub text: String,
    /// When the message was created.
    pub time: Time,
    /// Who said it.
    pub role: Role,
}

impl Searchable {
    /// Returns what a search looks at in a stored body; none when it is not a plaintext message.
    pub fn of(body: &str) -> Option<Self> {
        let message = Message::from_body(body).ok()?;
        let mut text = String::new();
        for words in message.blocks.iter().filter_map(|block| block.words()) {
            text.push_str(&words);
            text.push('\n');
        }
        Some(Self { text, time: message.created_at.unwrap_or_default(), role: message.role })
    }
}

/// True when a body is JSON in all its parts.
pub(crate) fn is_json(body: &str) -> bool {
    serde_json::from_str::<&RawValue>(body).is_ok()
}

/// The time of a stored body. It stands at the beginning of what Rejoin writes, so
/// that a search need not read the rest.
pub(crate) fn time_of(body: &str) -> Time {
    const NAME: &str = "\"created_at\":\"";
    let start = body.char_indices().map_while(|(at, _)| (at < 48).then_some(at)).last().unwrap_or(0);
    let quick = body[..start].find(NAME).and_then(|at| {
        let (time, _) = body[at + NAME.len()..].split_once('"')?;
        time.parse().ok()
    });
    quick.unwrap_or_else(|| Searchable::of(body).map(|said| said.time).unwrap_or_default())
}
