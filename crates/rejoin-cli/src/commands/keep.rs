//! `rejoin keep`: a conversation that neither age nor clean removes.

use rejoin::Hold;
use serde_json::json;

use crate::context::Context;
use crate::error::Failure;
use crate::named;

/// Keep a conversation, so that neither its age nor clean removes it
///
/// An imported conversation is kept from the start, until you release it. Deleting it by its id still works.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin keep 7Kd93x
  rejoin keep 7Kd93x --release")]
pub(crate) struct Args {
    /// The conversation
    id: String,

    /// Let it go again
    #[arg(long)]
    release: bool,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let archive = context.archive_to_read()?;
    let stored = named::conversation(&archive, &args.id)?;
    let was = stored.conversation.hold;
    let hold = if args.release { Hold::None } else { Hold::User };
    if was != hold {
        archive.update(stored.id, |header| header.hold = hold)?;
    }
    let short = stored.id.short();
    if context.is_json() {
        let (now, was) = (hold.as_str(), was.as_str());
        let answer = json!({"id": stored.id, "short": short.as_str(), "hold": now, "was": was});
        return context.answer_json(&answer);
    }
    let title = named::title(&stored);
    context.note(&match (hold, was) {
        (Hold::None, Hold::None) => format!("\"{title}\" was not kept: {short}"),
        (Hold::None, Hold::Import | Hold::User) => {
            format!("Released \"{title}\", so it can expire or be cleaned: {short}")
        }
        (Hold::User | Hold::Import, Hold::User) => format!("\"{title}\" is kept already: {short}"),
        (Hold::User | Hold::Import, Hold::None | Hold::Import) => {
            format!("Keeping \"{title}\" until you release it: {short}")
        }
    });
    Ok(())
}
