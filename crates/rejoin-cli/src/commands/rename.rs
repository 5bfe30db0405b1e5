//! `rejoin rename`: another title for a conversation.

use serde::Serialize;

use crate::context::Context;
use crate::error::Failure;
use crate::named;
use crate::shapes::Itself;

/// Rename a conversation
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin rename 7Kd93x Trip to Lisbon
  rejoin rename trip-to-lisbon \"Lisbon, in May\"   The title identifies it")]
pub(crate) struct Args {
    /// The conversation
    id: String,

    /// The title
    #[arg(required = true)]
    title: Vec<String>,
}

/// A title as it is and as it was, as programs read it.
#[derive(Serialize)]
struct Renamed<'a> {
    #[serde(flatten)]
    itself: Itself,
    title: Option<&'a str>,
    was: Option<&'a str>,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let archive = context.archive_to_read()?;
    let before = named::conversation(&archive, &args.id)?;
    let title = args.title.join(" ");
    let after = archive.rename(before.id, title.trim())?;
    let short = after.id.short();
    if context.is_json() {
        let (title, was) = (after.conversation.title.as_deref(), before.conversation.title.as_deref());
        return context.answer_json(&Renamed { itself: after.id.into(), title, was });
    }
    context.note(&format!("Renamed \"{}\" to \"{}\": {short}", named::title(&before), named::title(&after)));
    Ok(())
}
