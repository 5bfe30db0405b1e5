//! `rejoin project id`: an id that the project carries along, wherever its directory goes.

use std::fs;
use std::io::Write;
use std::path::Path;

use rejoin::store::Foreign;
use rejoin::{Archive, ConversationId, Nature, Project, SystemNature, Time};
use serde::Serialize;

use crate::context::Context;
use crate::durable;
use crate::error::{Failure, Kind};
use crate::place::{self, IDENTITY};
use crate::private;
use crate::project_key::{carried_id, key_at, new_project_at, project_at};
use crate::ui::quote;

/// Give this project an ID so that its directory can move
///
/// The ID is written to `.rejoin/project` and identifies the project instead of its path. After the
/// directory has moved, Rejoin asks once whether it is the same project.
///
/// If a pull brings an ID into a project that already has conversations, the ID takes effect when you
/// run this command.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin project id            Create an ID, or show the existing one")]
pub(super) struct Args {}

/// The id of a project, and how many conversations go by it from now on, as programs read it.
#[derive(Serialize)]
struct Identified<'a> {
    id: &'a str,
    path: &'a str,
    conversations: u64,
}

pub(super) fn run(_args: Args, context: &Context) -> Result<(), Failure> {
    let directory = context.config.project();
    let archive = context.archive_to_read()?;
    let is_new = carried_id(directory).is_none();
    if is_new {
        write(directory)?;
    }
    let (project, from) = match new_project_at(&archive, directory)? {
        Some(new) => new,
        None => {
            refuse_foreign(&archive, directory)?;
            let project = project_at(&archive, directory)?;
            let path = project.path.clone();
            (project, path)
        }
    };
    let mut moved = take_over(&archive, &from, &project)?;
    if from != project.path {
        moved += take_over(&archive, &project.path, &project)?;
    }
    if context.is_json() {
        let Project { key, path, .. } = &project;
        return context.answer_json(&Identified { id: key, path, conversations: moved });
    }
    let mut answer = context.answer();
    writeln!(answer, "{}", project.key)?;
    answer.flush()?;
    if is_new {
        context.note(&format!("The project goes by this id: {}", directory.join(IDENTITY).display()));
    }
    Ok(())
}

/// Writes a fresh id: a UUID, made the way ids of conversations are.
fn write(directory: &Path) -> Result<(), Failure> {
    let file = directory.join(IDENTITY);
    let below = file.parent().unwrap_or(directory);
    if fs::symlink_metadata(below).is_ok_and(|metadata| metadata.is_symlink()) {
        return Err(Failure::new(Kind::Denied, format!("write `{}`", file.display()))
            .because("its directory is a symbolic link")
            .hint("replace the link with a directory"));
    }
    if let Some(foreign) = Foreign::look(directory) {
        return Err(private::refusal(format!("write `{}`", file.display()), &foreign));
    }
    let mut random = [0; 10];
    SystemNature.fill(&mut random);
    let id = ConversationId::new(Time::now(), random);
    durable::replace(&file, format!("{id}\n").as_bytes())
        .map_err(|error| Failure::io(format!("write `{}`", file.display()), error))
}

/// Moves what is still kept under the path, or under an older id. Also when the id is old: a
/// crash may have come between the two.
fn take_over(archive: &Archive, from: &str, project: &Project) -> Result<u64, Failure> {
    let known = archive.projects().get(&project.key)?.unwrap_or_else(|| project.clone());
    let moved = archive.projects().move_to(from, &known)?;
    place::carry_active(archive, from, &project.key)?;
    Ok(moved)
}

/// An id that does not count here must not take over what is kept by the path.
fn refuse_foreign(archive: &Archive, directory: &Path) -> Result<(), Failure> {
    let carried = carried_id(directory);
    if carried.is_none() || carried == Some(key_at(archive, directory)?) {
        return Ok(());
    }
    let other = carried.and_then(|id| archive.projects().get(&id).ok().flatten());
    let other = other.map_or_else(|| "another directory".to_owned(), |project| project.path);
    let file = directory.join(IDENTITY);
    Err(Failure::invalid(format!("`{}` holds the id of the project at `{other}`", file.display())).hint(format!(
        "if it is the same project, run `rejoin project merge . {}`; if not, remove the file and run `rejoin project id` again",
        quote::argument(&other)
    )))
}
