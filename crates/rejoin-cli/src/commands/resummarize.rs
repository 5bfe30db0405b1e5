//! `rejoin resummarize`: asks `summary.model` for a title and a synopsis. Rejoin starts it by itself.

use std::io::Write;

use rejoin_agent::{Api, summarise};
use serde::Serialize;

use crate::context::Context;
use crate::error::Failure;
use crate::named;
use crate::session::{self, Partner, SessionOverrides, partner};
use crate::shapes::Itself;

/// Ask `summary.model` for the title and synopsis of a conversation
///
/// Rejoin starts this in the background after the first turn, and when a conversation that has doubled
/// since is paused. Nothing is asked when neither is the case.
#[derive(Debug, clap::Args)]
#[command(
    hide = true,
    after_help = "\
Examples:
  rejoin resummarize lisbon"
)]
pub(crate) struct Args {
    /// The conversation, by id or the beginning of one
    id: String,

    /// Reach the provider here
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
}

/// What was asked, as programs read it.
#[derive(Serialize)]
struct Summarized<'a> {
    #[serde(flatten)]
    itself: Itself,
    asked: bool,
    title: Option<&'a str>,
    synopsis: Option<&'a str>,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let Some(model) = context.config.summary_model() else {
        return Err(Failure::invalid("no model for titles and synopses is configured")
            .hint("run `rejoin config set summary.model MODEL`"));
    };
    let archive = context.archive()?;
    let stored = named::conversation(&archive, &args.id)?;
    let overrides = SessionOverrides {
        provider: stored.conversation.settings.provider.clone(),
        model: Some(model.to_owned()),
        base_url: args.base_url,
        ..SessionOverrides::default()
    };
    let Partner { provider, model } = partner(context, &overrides)?;
    if provider.api() == Api::Offline {
        return Err(Failure::invalid("the conversation was held without a model"));
    }
    let asked = session::runtime()?.block_on(summarise(&archive, stored.id, provider.as_ref(), &model))?;
    let header = archive.conversation(stored.id)?.conversation;
    if context.is_json() {
        let synopsis = header.synopsis.as_ref().map(|synopsis| synopsis.text.as_str());
        let title = header.title.as_deref();
        return context.answer_json(&Summarized { itself: stored.id.into(), asked, title, synopsis });
    }
    if !asked {
        context.note("The conversation has not doubled since it was described last, so nothing was asked.");
        return Ok(());
    }
    let mut answer = context.answer();
    writeln!(answer, "{}", crate::ui::clean::line(header.title.as_deref().unwrap_or_default()))?;
    answer.flush()?;
    Ok(())
}
