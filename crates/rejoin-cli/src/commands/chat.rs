//! `rejoin chat`: one turn in the active conversation.

use crate::commands::talk::TalkManner;
use crate::context::Context;
use crate::error::Failure;
use crate::session::{self, Start, TalkInput, Then};

/// Send a message in the active conversation
///
/// The active conversation is the one that `new`, `resume` or `append` last used. If there is none, a
/// new one starts.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin resume lisbon
  rejoin chat \"And on a budget?\"")]
pub(crate) struct Args {
    /// The message to send, in quotes
    message: String,

    #[command(flatten)]
    manner: TalkManner,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    args.manner.check()?;
    let start = match context.active_conversation(&context.archive_to_read()?)? {
        Some(id) => Start::Conversation(id.to_string()),
        None => Start::New,
    };
    let said = TalkInput { message: Some(args.message), then: Then::Leave };
    session::say(context, &start, &args.manner.overrides(), said)
}
