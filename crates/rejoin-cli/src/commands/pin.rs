//! `rejoin pin`: a message that every view shows, however often its conversation is compacted.

use rejoin::{ConversationId, MessageId};
use serde::Serialize;

use crate::context::Context;
use crate::error::Failure;
use crate::named;

/// Pin a message so that compaction keeps it
///
/// A pinned message is always sent in full, even when a summary replaces the messages around it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin pin x7Gh2a
  rejoin pin x7Gh2a --remove
  rejoin tree                  See the messages and their ids")]
pub(crate) struct Args {
    /// The message
    message: String,

    /// Remove the pin
    #[arg(long)]
    remove: bool,
}

/// Whether a message is pinned and was, as programs read it.
#[derive(Serialize)]
struct Pinned {
    conversation: ConversationId,
    message: MessageId,
    pinned: bool,
    was: bool,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let archive = context.archive_to_read()?;
    let (stored, message) = named::message(&archive, &args.message)?;
    let (was, is_pinned) = (message.is_pinned, !args.remove);
    match (was, is_pinned) {
        (false, true) => archive.marks().pin(stored.id, message.id)?,
        (true, false) => archive.marks().unpin(stored.id, message.id)?,
        (true, true) | (false, false) => {}
    }
    if context.is_json() {
        let (conversation, message) = (stored.id, message.id);
        return context.answer_json(&Pinned { conversation, message, pinned: is_pinned, was });
    }
    let done = match (was, is_pinned) {
        (false, true) => "Pinned; compaction keeps it",
        (true, true) => "Pinned already",
        (true, false) => "Took away the pin",
        (false, false) => "It was not pinned",
    };
    context.note(&format!("{done}: {}", message.id));
    Ok(())
}
