//! `rejoin rename`: another title for a conversation.

use serde_json::json;

use crate::context::Context;
use crate::error::Failure;
use crate::named;

/// Give a conversation a title
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin rename 7Kd93x Trip to Lisbon
  rejoin rename trip-to-lisbon \"Lisbon, in May\"   A title can name it")]
pub(crate) struct Args {
    /// The conversation
    id: String,

    /// Its title
    #[arg(required = true)]
    title: Vec<String>,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let archive = context.archive_to_read()?;
    let before = named::conversation(&archive, &args.id)?;
    let title = args.title.join(" ");
    let after = archive.rename(before.id, title.trim())?;
    let short = after.id.short();
    if context.is_json() {
        let (title, was) = (&after.conversation.title, &before.conversation.title);
        let answer = json!({"id": after.id, "short": short.as_str(), "title": title, "was": was});
        return context.answer_json(&answer);
    }
    context.note(&format!("Renamed \"{}\" to \"{}\": {short}", named::title(&before), named::title(&after)));
    Ok(())
}
