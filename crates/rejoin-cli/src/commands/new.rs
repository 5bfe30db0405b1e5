//! `rejoin new`: an empty conversation, made the active one.

use std::io::Write;

use rejoin::Conversation;

use crate::context::Context;
use crate::error::Failure;
use crate::git::head_of;
use crate::shapes::Itself;

/// Start a conversation and make it the active one
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin new --title \"Trip to Lisbon\"
  rejoin append \"Where should we eat?\"     Add to that conversation")]
pub(crate) struct Args {
    /// The title
    #[arg(long)]
    title: Option<String>,

    /// The kind of conversation
    #[arg(long, default_value = "chat")]
    kind: String,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let archive = context.archive()?;
    let project = context.project(&archive)?;
    let conversation = Conversation {
        title: args.title,
        kind: args.kind,
        project: Some(project.key),
        git_commit: head_of(context.config.project()),
        follows_retention: true,
        ..Conversation::default()
    };
    let id = archive.start(conversation)?.id();
    context.set_active(&archive, id)?;
    context.refuse_switched()?;
    if context.is_json() {
        return context.answer_json(&Itself::from(id));
    }
    let mut answer = context.answer();
    writeln!(answer, "{}", id.short())?;
    answer.flush()?;
    context.note("It is the active conversation of this project. Add to it: rejoin append \"your message\"");
    Ok(())
}
