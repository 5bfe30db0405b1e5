//! What a model is told beside a message of the user: kept in a field of the message, shown in every view.
//!
//! It is no part of what the user said, so lists, exports and searches leave it out. A request repeats it to
//! the letter, so that a provider's cache goes on.

use rejoin::view::Viewed;
use rejoin::{Block, Json, Message, Role};

/// The field of a message.
const FIELD: &str = "context";

/// Keeps a note with a message.
pub(super) fn attach(message: &mut Message, note: &str) {
    message.extra.set(FIELD, Json::of(&note).expect("a string is JSON"));
}

/// Shows the notes of a view, each before the message that it belongs to.
pub(super) fn show(messages: &mut [Viewed<'_>]) {
    for viewed in messages.iter_mut().filter(|viewed| viewed.message.role == Role::User) {
        let note: Option<String> = viewed.message.extra.field(FIELD).and_then(|note| note.to().ok());
        if let Some(note) = note {
            viewed.message.to_mut().blocks.insert(0, Block::text(note));
        }
    }
}
