//! `rejoin fork`: a named branch at a message. Nothing is copied and the head stays where it is.

use std::io::Write;

use rejoin::{Branch, ConversationId, StoredConversation, StoredMessage};
use serde::Serialize;

use crate::context::Context;
use crate::error::Failure;
use crate::named;
use crate::ui::fit;

/// Columns of a title that was made up: enough to recognise what it was made from.
const MADE_TITLE: usize = 60;

/// Start a named branch at a message
///
/// The branch belongs to the same conversation and shares its history up to the message.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin fork x7Gh2a --title \"On a budget\"
  rejoin fork x7Gh2a                       Use the conversation's title")]
pub(crate) struct Args {
    /// The message to branch from
    message: String,

    /// The branch's title; default: the conversation's
    #[arg(long)]
    title: Option<String>,
}

/// The branch that was made, as programs read it.
#[derive(Serialize)]
struct Forked {
    conversation: ConversationId,
    branch: Branch,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let archive = context.archive_to_read()?;
    let (stored, message) = named::message(&archive, &args.message)?;
    let title = match &args.title {
        Some(title) => title.trim().to_owned(),
        None => made_title(&stored, &message),
    };
    let branch = archive.fork(stored.id, message.id, &title)?;
    if context.is_json() {
        return context.answer_json(&Forked { conversation: stored.id, branch });
    }
    let mut answer = context.answer();
    writeln!(answer, "{}", branch.id)?;
    answer.flush()?;
    context.note(&format!(
        "Created branch \"{}\". Add to it: rejoin append --parent {} \"your message\"",
        fit::snippet(&title, MADE_TITLE),
        message.id
    ));
    Ok(())
}

/// The conversation's title with a number; a conversation without one lends the message's first words.
fn made_title(stored: &StoredConversation, message: &StoredMessage) -> String {
    let said = message.message.text();
    match &stored.conversation.title {
        Some(title) if !title.trim().is_empty() => {
            format!("{} (fork {})", fit::snippet(title, MADE_TITLE), stored.branches.len() + 1)
        }
        _ if said.trim().is_empty() => format!("Fork at {}", message.id),
        _ => fit::snippet(&said, MADE_TITLE),
    }
}
