//! `rejoin rewind`: the conversation goes on from an earlier message, or a later one. Nothing is removed.

use rejoin::{ConversationId, MessageId};
use serde::Serialize;

use crate::context::Context;
use crate::error::Failure;
use crate::named;

/// Go back to a message and continue from there
///
/// Later messages stay as a branch. Prints the command that undoes this.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin rewind x7Gh2a
  rejoin tree                  See the messages and their ids")]
pub(crate) struct Args {
    /// The message to continue from
    message: String,
}

/// A head as it is and as it was, as programs read it.
#[derive(Serialize)]
struct Rewound {
    conversation: ConversationId,
    head: MessageId,
    was: Option<MessageId>,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let archive = context.archive_to_read()?;
    let (stored, message) = named::message(&archive, &args.message)?;
    let was = stored.head.map(|head| head.id);
    if was != Some(message.id) {
        archive.rewind(stored.id, message.id)?;
    }
    if context.is_json() {
        return context.answer_json(&Rewound { conversation: stored.id, head: message.id, was });
    }
    let title = named::title(&stored);
    match was {
        Some(was) if was == message.id => {
            context.note(&format!("\"{title}\" is already there: the next message follows {was}"));
        }
        Some(was) => {
            context.note(&format!("The next message of \"{title}\" follows {}", message.id));
            context.note(&format!("Undo: rejoin rewind {}/{was}", stored.id.short()));
        }
        None => context.note(&format!("The next message of \"{title}\" follows {}", message.id)),
    }
    Ok(())
}
