//! `rejoin provider show`

use std::io::Write;

use serde::Serialize;

use crate::commands::provider::missing;
use crate::config::origin::ValueOrigin;
use crate::context::Context;
use crate::error::Failure;
use crate::provider::{KnownProvider, find_key, unknown};
use crate::ui::json::JsonText;

/// Show the settings of a provider
///
/// Shows its address, its model and where its key was found. The key itself is not printed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin provider show
  rejoin provider show anthropic --json")]
pub(super) struct Args {
    /// The provider; default: the one in use
    name: Option<String>,
}

/// A provider as programs read it.
#[derive(Serialize)]
struct ProviderAnswer<'a> {
    name: &'a str,
    kind: &'static str,
    base_url: Option<&'a str>,
    model: Option<&'a str>,
    context_window: Option<u64>,
    key: &'static str,
    is_chosen: bool,
    #[serde(rename = "where")]
    chosen_by: Option<JsonText<&'a ValueOrigin>>,
    next: Option<&'a str>,
}

pub(super) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let chosen = context.config.setting("provider");
    let name = args.name.as_deref().or(context.config.provider()).unwrap_or("offline");
    let known = KnownProvider::named(&context.config, name).ok_or_else(|| unknown(&context.config, name))?;
    let place = find_key(context, &known)?.place;
    let facts = known.model.as_ref().and_then(|model| context.config.models().remove(model));
    let window = facts.and_then(|facts| facts.context_window).or(known.context_window);
    let next = missing(&known, &place);
    let is_chosen = context.config.provider().unwrap_or("offline") == name;
    if context.is_json() {
        return context.answer_json(&ProviderAnswer {
            name: &known.name,
            kind: known.api.as_str(),
            base_url: known.base_url.as_deref(),
            model: known.model.as_deref(),
            context_window: window,
            key: place.name(),
            is_chosen,
            chosen_by: chosen.filter(|_| is_chosen).map(|setting| JsonText(&setting.origin)),
            next: next.as_deref(),
        });
    }
    let dash = || "-".to_owned();
    let rows = [
        ("name", known.name.clone()),
        ("speaks", known.api.as_str().to_owned()),
        ("base url", known.base_url.clone().unwrap_or_else(dash)),
        ("model", known.model.clone().unwrap_or_else(dash)),
        ("window", window.map_or_else(dash, |window| format!("{window} tokens"))),
        ("key", place.told()),
        ("chosen by", chosen.filter(|_| is_chosen).map_or_else(dash, |setting| setting.origin.to_string())),
    ];
    let mut answer = context.answer();
    for (label, value) in rows {
        writeln!(answer, "{label:<10} {}", crate::ui::clean::line(&value))?;
    }
    answer.flush()?;
    if let Some(next) = next {
        context.note(&format!("Next: run `{next}`"));
    }
    Ok(())
}
