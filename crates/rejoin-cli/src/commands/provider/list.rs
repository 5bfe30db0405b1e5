//! `rejoin provider list`

use serde_json::json;

use crate::context::Context;
use crate::error::Failure;
use crate::provider::{KeyFinder, KeyPlace, Known};
use crate::ui::table::{Column, Table};

/// List the providers that can be talked to
///
/// The one in use has a star. The last column says where its key was found.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin provider list
  rejoin provider list --json | jq -r '.items[].name'")]
pub(super) struct Args {}

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
    for known in Known::all(&context.config) {
        let place = keys.find(&known).map(|found| found.place);
        let key = place.as_ref().map_or_else(|_| "unusable".to_owned(), KeyPlace::told);
        let is_chosen = known.name == chosen;
        items.push(json!({
            "name": known.name, "kind": known.api.as_str(), "base_url": known.base_url, "model": known.model,
            "key": key, "is_chosen": is_chosen,
        }));
        let star = if is_chosen { "*" } else { "" };
        let model = known.model.unwrap_or_default();
        table.push([star.into(), known.name, known.api.as_str().into(), model, key, known.title]);
    }
    if context.is_json() {
        return context.answer_json(&json!({"items": items}));
    }
    context.show(|answer| Ok(write!(answer, "{}", table.draw(context.columns(), context.paint()))?))
}
