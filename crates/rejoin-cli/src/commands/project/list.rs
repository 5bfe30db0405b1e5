//! `rejoin project list`.

use std::path::Path;

use serde_json::{Value as Json, json};

use super::known::{self, Known};
use crate::context::Context;
use crate::error::Failure;
use crate::ui::paint::Meaning;
use crate::ui::table::{Column, Table};
use crate::ui::{clean, size};

/// Show every project and whether its directory still exists
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin project list
  rejoin project list --json")]
pub(super) struct Args {}

pub(super) fn run(_args: Args, context: &Context) -> Result<(), Failure> {
    let archive = context.archive_to_read()?;
    let all = known::all(&archive)?;
    let this = context.project_key(&archive)?;
    if context.is_json() {
        let items: Vec<Json> = all
            .iter()
            .map(|known| {
                let mut item = known.to_json();
                item["current"] = (known.key == this).into();
                item
            })
            .collect();
        return context.answer_json(&json!({"items": items, "total": items.len()}));
    }
    if all.is_empty() {
        context.note("No projects yet. Start a conversation in one: rejoin new");
        return Ok(());
    }
    let drawn = draw(&all, &this, context);
    context.show(|output| Ok(write!(output, "{drawn}")?))?;
    if all.iter().any(|known| known.path.is_some() && !known.exists()) {
        context.note("If a missing directory was moved: rejoin project move OLD NEW");
    }
    Ok(())
}

fn draw(all: &[Known], this: &str, context: &Context) -> String {
    let clock = context.clock();
    let mut table = Table::new([
        Column::text("path").meaning(Meaning::Title),
        Column::number("conversations"),
        Column::number("size"),
        Column::text("last active").meaning(Meaning::Dim),
        Column::text("directory"),
    ]);
    let here = context.config.project();
    for known in all {
        let is_elsewhere = known.places.iter().any(|place| Path::new(place) == here);
        let directory = match (&known.path, known.exists()) {
            _ if known.key == this && !is_elsewhere => "this one".to_owned(),
            (Some(_), true) => "exists".to_owned(),
            (Some(_), false) => "missing".to_owned(),
            (None, _) => String::new(),
        };
        let separate = known.separate_from.as_ref().map(|other| format!(", separate from {}", clean::line(other)));
        table.push([
            known.shown(),
            size::number(known.conversations),
            size::bytes(known.bytes),
            known.last_active_at.map(|time| clock.relative(time.as_micros())).unwrap_or_default(),
            directory + &separate.unwrap_or_default(),
        ]);
        for place in &known.places {
            let same = if Path::new(place) == here { "this one, same project" } else { "same project" };
            table.push([clean::line(place), String::new(), String::new(), String::new(), same.to_owned()]);
        }
    }
    table.draw(context.columns(), context.paint())
}
