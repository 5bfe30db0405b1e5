//! `rejoin label`: a word beside a message, to find it again in the tree.

use rejoin::{ConversationId, MessageId};
use serde::Serialize;

use crate::context::Context;
use crate::error::Failure;
use crate::named;
use crate::ui::clean;

/// Label a message
///
/// The label is shown next to the message in `rejoin tree`. The message itself does not change.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin label x7Gh2a good idea
  rejoin label x7Gh2a --remove")]
pub(crate) struct Args {
    /// The message
    message: String,

    /// The label
    #[arg(required_unless_present = "remove", conflicts_with = "remove")]
    text: Vec<String>,

    /// Remove the label
    #[arg(long)]
    remove: bool,
}

/// A label as it is and as it was, as programs read it.
#[derive(Serialize)]
struct Labeled<'a> {
    conversation: ConversationId,
    message: MessageId,
    label: Option<&'a str>,
    was: Option<&'a str>,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let archive = context.archive_to_read()?;
    let (stored, message) = named::message(&archive, &args.message)?;
    let text = args.text.join(" ");
    let label = (!args.remove).then_some(text.trim());
    let was = message.message.label.as_deref();
    if was != label {
        archive.marks().label(stored.id, message.id, label)?;
    }
    if context.is_json() {
        let (conversation, message) = (stored.id, message.id);
        return context.answer_json(&Labeled { conversation, message, label, was });
    }
    let done = match (label, was) {
        (Some(label), Some(was)) if label != was => {
            format!("Labeled \"{}\" instead of \"{}\"", clean::line(label), clean::line(was))
        }
        (Some(label), _) => format!("Labeled \"{}\"", clean::line(label)),
        (None, Some(was)) => format!("Removed the label \"{}\"", clean::line(was)),
        (None, None) => "There was no label".to_owned(),
    };
    context.note(&format!("{done}: {}", message.id));
    Ok(())
}
