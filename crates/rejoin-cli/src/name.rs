//! Names that a person typed, found in the archive, with what to do when one is not there.

use rejoin::{Archive, ConversationId, ErrorKind, MessageId, Named};

use crate::error::Failure;

/// What a name stands for: a conversation or a message.
pub(crate) fn resolve(archive: &Archive, name: &str) -> Result<Named, Failure> {
    archive.resolve(name).map_err(explain)
}

/// The conversation that a name stands for.
pub(crate) fn conversation(archive: &Archive, name: &str) -> Result<ConversationId, Failure> {
    archive.resolve_conversation(name).map_err(explain)
}

/// The message that a name stands for, and its conversation.
pub(crate) fn message(archive: &Archive, name: &str) -> Result<(ConversationId, MessageId), Failure> {
    archive.resolve_message(name).map_err(explain)
}

/// The message of this conversation that a name stands for.
pub(crate) fn message_in(
    archive: &Archive,
    conversation: ConversationId,
    name: &str,
) -> Result<MessageId, Failure> {
    // A name that says its conversation itself is taken as it is, and must say this one.
    let full = if name.contains('/') { name.to_owned() } else { format!("{conversation}/{name}") };
    let (found, id) = message(archive, &full)?;
    if found != conversation {
        return Err(Failure::not_found(format!(
            "conversation `{}` has no message `{id}`",
            conversation.short()
        ))
        .hint(format!("it belongs to conversation {}", found.short())));
    }
    Ok(id)
}

fn explain(error: rejoin::Error) -> Failure {
    let kind = error.kind();
    let failure = Failure::from(error);
    match kind {
        ErrorKind::NotFound => failure.or_hint("run `rejoin list` to see the conversations"),
        ErrorKind::Invalid => failure.or_hint("run `rejoin list` for ids; the beginning of one is enough"),
        _ => failure,
    }
}
