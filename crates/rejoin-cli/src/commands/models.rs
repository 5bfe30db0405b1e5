//! `rejoin models`: the models that a provider offers.

use rejoin_agent::Api;
use serde::Serialize;

use crate::context::Context;
use crate::error::Failure;
use crate::provider::{KnownProvider, models, unknown};
use crate::session;
use crate::shapes::Items;
use crate::ui::clean;

/// List the models that a provider offers
///
/// Asks the provider. The one that is configured has a star.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin models
  rejoin models --provider ollama
  rejoin models --json | jq -r '.items[].name'")]
pub(crate) struct Args {
    /// Ask this provider instead of the one in use
    #[arg(short, long, value_name = "PROVIDER")]
    provider: Option<String>,
}

/// A model as programs read it.
#[derive(Serialize)]
struct ModelItem {
    name: String,
    provider: String,
    is_chosen: bool,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let name = args.provider.as_deref().or(context.config.provider()).ok_or_else(|| {
        Failure::invalid("no provider is chosen").hint("run `rejoin setup`, or add `--provider NAME`")
    })?;
    let known = KnownProvider::named(&context.config, name).ok_or_else(|| unknown(&context.config, name))?;
    if known.api == Api::Offline {
        return Err(Failure::invalid(format!("`{name}` answers without a model")).hint("run `rejoin setup`"));
    }
    let names = session::runtime()?.block_on(models(context, &known))?;
    let is_chosen = |name: &String| known.model.as_ref() == Some(name);
    if context.is_json() {
        let item =
            |name: String| ModelItem { is_chosen: is_chosen(&name), provider: known.name.clone(), name };
        return context.answer_json(&Items { items: names.into_iter().map(item).collect() });
    }
    context.show(|answer| {
        for name in &names {
            let star = if is_chosen(name) { "* " } else { "  " };
            writeln!(answer, "{star}{}", clean::line(name))?;
        }
        Ok(())
    })
}
