//! `rejoin uncompact`: the model is sent again what a summary stood for.

use rejoin::MessageId;
use rejoin_agent::Fullness;
use serde::Serialize;

use crate::commands::compact::which;
use crate::compaction;
use crate::context::Context;
use crate::error::Failure;
use crate::named;
use crate::session::{Asked, Quiet, SessionOverrides, runtime};
use crate::shapes::Within;

/// Undo the newest compaction of a conversation
///
/// Later requests send the original messages instead of the summary. Messages added since stay. Without
/// ID, applies to the active conversation.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin uncompact lisbon
  rejoin show lisbon --view chat     See what the model receives then")]
pub(crate) struct Args {
    /// The conversation; default: the active one
    id: Option<String>,
}

/// The summary that is passed over, and what the model is sent then, as programs read it.
#[derive(Serialize)]
struct Undone {
    #[serde(flatten)]
    within: Within,
    ignored: Option<MessageId>,
    tokens: u64,
    window: Option<u64>,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let archive = context.archive_to_read()?;
    let stored = which(args.id.as_deref(), &archive, context)?;
    let title = named::title(&stored);
    let asked = Asked::Nobody(SessionOverrides::default());
    let (summary, fullness) = runtime()?.block_on(async {
        let mut quiet = Quiet::begin(context, archive, &stored, None, &asked)?;
        let summary = quiet.talk.uncompact().await?;
        let known = quiet.talk.fullness();
        // A provider that counted the last request knows best; else the initial context is counted here.
        let tokens = known.tokens.max(quiet.talk.foresee().await.request_tokens);
        Ok::<_, Failure>((summary, Fullness { tokens, ..known }))
    })?;
    if context.is_json() {
        return context.answer_json(&Undone {
            within: stored.id.into(),
            ignored: summary,
            tokens: fullness.tokens,
            window: fullness.window,
        });
    }
    let Some(summary) = summary else {
        context.note(&format!("\"{title}\" is not compacted; there is nothing to undo."));
        return Ok(());
    };
    let tokens = compaction::sent_again(fullness, context.config.compact_threshold());
    context.note(&format!("The model receives the messages of \"{title}\" again: {tokens}"));
    context.note(&format!("The ignored summary: {summary}"));
    Ok(())
}
