//! `rejoin project list`.

use std::path::Path;

use rejoin::Time;
use serde::Serialize;

use super::known::{self, KnownProject};
use crate::context::Context;
use crate::error::Failure;
use crate::ui::paint::Meaning;
use crate::ui::table::{Column, Table};
use crate::ui::{clean, size};

/// List projects and whether their directories still exist
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin project list
  rejoin project list --json")]
pub(super) struct Args {}

/// Every project, as programs read it.
#[derive(Serialize)]
struct ProjectsAnswer<'a> {
    items: Vec<ProjectItem<'a>>,
    total: usize,
}

/// A project with what belongs to it.
#[derive(Serialize)]
struct ProjectItem<'a> {
    key: &'a str,
    path: Option<&'a str>,
    conversations: u64,
    messages: u64,
    bytes: u64,
    last_active_at: Option<Time>,
    exists: bool,
    places: &'a [String],
    separate_from: Option<&'a str>,
    /// Whether it is this one.
    current: bool,
}

impl<'a> ProjectItem<'a> {
    fn of(known: &'a KnownProject, this: &str) -> Self {
        Self {
            key: &known.key,
            path: known.path.as_deref(),
            conversations: known.conversations,
            messages: known.messages,
            bytes: known.bytes,
            last_active_at: known.last_active_at,
            exists: known.exists(),
            places: &known.places,
            separate_from: known.separate_from.as_deref(),
            current: known.key == this,
        }
    }
}

pub(super) fn run(_args: Args, context: &Context) -> Result<(), Failure> {
    let archive = context.archive_to_read()?;
    let all = known::all(&archive)?;
    let this = context.project_key(&archive)?;
    if context.is_json() {
        let items = all.iter().map(|known| ProjectItem::of(known, &this)).collect();
        return context.answer_json(&ProjectsAnswer { items, total: all.len() });
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

fn draw(all: &[KnownProject], this: &str, context: &Context) -> String {
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
        let separate =
            known.separate_from.as_ref().map(|other| format!(", separate from {}", clean::line(other)));
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
