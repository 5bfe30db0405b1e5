//! `rejoin project split`: a directory that was taken for another's project becomes one of its own.

use serde::Serialize;

use crate::context::Context;
use crate::error::Failure;
use crate::project_key::{self, SameProjectAnswer, carried_id};
use crate::ui::{clean, quote};

/// Separate this directory from the project whose ID it carries
///
/// Reverses the decision that it is the same project. Existing conversations stay with the other
/// project. No files are changed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin project split
  rejoin project split --project ~/src/trip-copy")]
pub(super) struct Args {}

/// The project of its own, as programs read it.
#[derive(Serialize)]
struct Split<'a> {
    key: &'a str,
    path: &'a str,
    separate_from: &'a str,
}

pub(super) fn run(_args: Args, context: &Context) -> Result<(), Failure> {
    let archive = context.archive_to_read()?;
    let directory = context.config.project();
    let path = directory.to_string_lossy();
    let id = carried_id(directory).ok_or_else(|| {
        Failure::invalid(format!("`{}` carries no id of a project", clean::line(&path)))
            .hint("it is already identified by its path")
    })?;
    let Some(other) = archive.projects().get(&id)? else {
        return Err(Failure::not_found(format!("no other project has the id `{id}`"))
            .hint("run `rejoin project list` to see the projects"));
    };
    if other.path == archive.projects().key_as_kept(&path) {
        return Err(Failure::invalid(format!("`{}` is the project's own directory", clean::line(&path)))
            .hint("run `rejoin project move . DIR` if the project is elsewhere"));
    }
    project_key::remember(&archive, &id, &path, Some(SameProjectAnswer::Separate))?;
    if context.is_json() {
        return context.answer_json(&Split { key: &path, path: &path, separate_from: &other.path });
    }
    let undo = quote::argument(&other.path);
    context.note(&format!("{path} is separate from {}", other.path));
    context.note(&format!("Undo: rejoin project merge . {undo}"));
    Ok(())
}
