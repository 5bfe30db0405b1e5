//! `rejoin provider list`

use serde::Serialize;

use crate::context::Context;
use crate::error::Failure;
use crate::provider::{KeyFinder, KeyPlace, KnownProvider};
use crate::shapes::Items;
use crate::ui::table::{Column, Table};

/// List providers
///
/// A star marks the provider in use. The last column shows where its key was found.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin provider list
  rejoin provider list --json | jq -r '.items[].name'")]
pub(super) struct Args {}

/// A provider as programs read it.
#[derive(Serialize)]
struct ProviderItem {
    name: String,
    kind: &'static str,
    base_url: Option<String>,
    model: Option<String>,
    key: String,
    is_chosen: bool,
}

pub(super) fn run(_args: Args, context: &Context) -> Result<(), Failure> {
    let chosen = context.config.provider().unwrap_or("offline");
    let mut items = Vec::new();
    let mut table = Table::new([
        Column::text(""),
        Column::text("name"),
        Column::text("speaks"),
        Column::text("model").shrinks_to(12),
        Column::text("key"),
        Column::text("about").shrinks_to(12),
    ]);
    let mut keys = KeyFinder::new(context);
    for known in KnownProvider::all(&context.config) {
        let place = keys.find(&known).map(|found| found.place);
        let key = place.as_ref().map_or_else(|_| "unusable".to_owned(), KeyPlace::told);
        let is_chosen = known.name == chosen;
        items.push(ProviderItem {
            name: known.name.clone(),
            kind: known.api.as_str(),
            base_url: known.base_url,
            model: known.model.clone(),
            key: key.clone(),
            is_chosen,
        });
        let star = if is_chosen { "*" } else { "" };
        let model = known.model.unwrap_or_default();
        table.push([star.into(), known.name, known.api.as_str().into(), model, key, known.title]);
    }
    if context.is_json() {
        return context.answer_json(&Items { items });
    }
    context.show(|answer| Ok(write!(answer, "{}", table.draw(context.columns(), context.paint()))?))
}
