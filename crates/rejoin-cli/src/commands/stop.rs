//! `rejoin stop`: leave a conversation, paused or completed.

use std::io::Write;

use rejoin::Status;
use serde::Serialize;

use crate::context::Context;
use crate::error::Failure;
use crate::session::choose;
use crate::session::stop::{StopMode, stop};
use crate::session::summary::{Describing, Occasion};
use crate::session_files::save_session;
use crate::shapes::Itself;

/// Pause a conversation, or mark it as completed
///
/// Nothing is deleted. Without ID, the active conversation is paused.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin stop
  rejoin stop lisbon --complete")]
pub(crate) struct Args {
    /// The conversation; default: the active one
    id: Option<String>,

    /// Mark it as completed
    #[arg(long)]
    complete: bool,
}

/// How a conversation was left, as programs read it.
#[derive(Serialize)]
struct StopAnswer<'a> {
    #[serde(flatten)]
    itself: Itself,
    title: Option<&'a str>,
    status: Status,
    summary: &'a str,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let archive = context.archive_to_read()?;
    let id = match &args.id {
        Some(name) => choose::conversation(&archive, name)?,
        None => context.needed_conversation(&archive)?,
    };
    let stopped = stop(&archive, id, if args.complete { StopMode::Complete } else { StopMode::Pause })?;
    let short = id.short().to_string();
    if context.is_json() {
        let header = &stopped.stored.conversation;
        context.answer_json(&StopAnswer {
            itself: id.into(),
            title: header.title.as_deref(),
            status: header.status,
            summary: &stopped.summary,
        })?;
    } else {
        let mut answer = context.answer();
        write!(answer, "{}", stopped.told(&format!("rejoin resume {short}")))?;
        answer.flush()?;
    }
    if let Some(describing) = Describing::of(context) {
        describing.start_if_due(&archive, id, Occasion::Pause);
    }
    save_session(context, &archive, id);
    Ok(())
}
