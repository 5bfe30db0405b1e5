//! `rejoin project move` and `rejoin project merge`: conversations get another project.

use std::path::Path;

use rejoin::{Archive, List, Project};
use rejoin_agent::{Rules, directory_identity};
use serde::Serialize;

use super::known::{self, KnownProject, not_known};
use crate::config::project::directory_of;
use crate::context::{Consent, Context};
use crate::error::Failure;
use crate::place;
use crate::project_key::{self, carried_id, project_at};
use crate::ui::consent::ConsentText;
use crate::ui::{clean, quote, size};

/// Record that a project's directory was renamed or moved
///
/// The conversations of the old directory then belong to the new one, with the tools you allowed there.
/// No files are moved.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin project move ~/src/trip ~/src/lisbon
  rejoin project move ~/src/trip .")]
pub(super) struct MoveArgs {
    /// The old directory
    old: String,

    /// The new directory
    new: String,

    /// Do not ask, even if the new directory is missing or has conversations
    #[arg(long)]
    yes: bool,
}

/// Merge one project's conversations into another project
///
/// This cannot be undone: the original project of each conversation is not recorded. If the directories
/// carry different project IDs, they count as one project from then on. No files are changed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin project merge ~/src/trip-copy ~/src/trip
  rejoin project merge ../copy . --yes")]
pub(super) struct MergeArgs {
    /// The project to merge from
    from: String,

    /// The project to merge into
    into: String,

    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

/// What was given, as programs read it.
#[derive(Serialize)]
struct Given<'a> {
    from: ProjectEnd<'a>,
    to: ProjectEnd<'a>,
    conversations: u64,
}

/// A project that gives or gets.
#[derive(Serialize)]
struct ProjectEnd<'a> {
    key: &'a str,
    path: Option<&'a str>,
}

pub(super) fn run_move(args: MoveArgs, context: &Context) -> Result<(), Failure> {
    let archive = context.archive_to_read()?;
    let all = known::all(&archive)?;
    let from = known::find(&all, &args.old, context).ok_or_else(|| not_known(&args.old))?;
    let to = destination(&args.new, &from, &archive, context)?;
    if from.path.as_deref() == Some(&to.path) && from.key == to.key {
        return Err(Failure::usage(format!("the project is already at `{}`", clean::line(&to.path))));
    }
    let consent = Consent::from(args.yes);
    let path = &to.path;
    if !Path::new(&to.path).is_dir() {
        let question = ConsentText::line(&format!("There is no directory {path}. Move the project there?"));
        context.confirm(&question, consent)?;
    }
    let is_there = |known: &&KnownProject| [&to.key, &to.path].contains(&&known.key) && known.key != from.key;
    let others = all.iter().find(is_there);
    if let Some(others) = others.filter(|known| known.conversations > 0) {
        let count = others.count();
        context.confirm(&ConsentText::line(&format!("{path} already has {count}. Merge them?")), consent)?;
    }
    carry_rules(&archive, &from, &to)?;
    let moved = give(&archive, &from, &to)?;
    answer(&from, &to, moved, context)?;
    if others.is_none_or(|known| known.conversations == 0) {
        let [new, old] =
            [&to.path, from.path.as_ref().unwrap_or(&from.key)].map(|path| quote::argument(path));
        context.note(&format!("Undo: rejoin project move {new} {old}"));
    }
    Ok(())
}

pub(super) fn run_merge(args: MergeArgs, context: &Context) -> Result<(), Failure> {
    let archive = context.archive_to_read()?;
    let all = known::all(&archive)?;
    let into = known::find(&all, &args.into, context).ok_or_else(|| not_known(&args.into))?;
    let directory = known::absolute(&args.from, context);
    let carries_id = carried_id(&directory).is_some_and(|id| id == into.key);
    // A directory that nothing was said in can be named too, where it carries the id of the other project.
    let unused = || KnownProject::at(&directory).filter(|_| carries_id);
    let from = known::find(&all, &args.from, context).or_else(unused).ok_or_else(|| not_known(&args.from))?;
    if from.key == into.key {
        return Err(Failure::usage("both are the same project").hint("run `rejoin project list` to see them"));
    }
    let question = format!(
        "Give the {} of {} to {} ({})? They cannot be told apart afterwards.",
        from.count(),
        from.named(),
        into.named(),
        into.count()
    );
    context.confirm(&ConsentText::line(&question), Consent::from(args.yes))?;
    let path = into.path.clone().unwrap_or_else(|| into.key.clone());
    let to = Project { key: into.key.clone(), path, first_commit: into.first_commit };
    let moved =
        if carries_id { project_key::join(&archive, &directory, &to)? } else { give(&archive, &from, &to)? };
    answer(&from, &to, moved, context)
}

/// The project at the new place. A directory inside a project means the project.
fn destination(
    typed: &str,
    from: &KnownProject,
    archive: &Archive,
    context: &Context,
) -> Result<Project, Failure> {
    if typed.is_empty() {
        return Err(Failure::usage("the new directory has no name"));
    }
    let path = known::absolute(typed, context);
    if path.is_dir() {
        let directory = directory_of(&path, context.config.project_scope())?;
        let project = project_at(archive, &directory)?;
        // The user says that this is where the project with this id is.
        let key = carried_id(&directory).filter(|id| *id == from.key).unwrap_or(project.key);
        return Ok(Project { key, ..project });
    }
    if path.exists() {
        return Err(Failure::invalid(format!("`{}` is not a directory", clean::line(typed))));
    }
    let path = path.to_string_lossy().into_owned();
    // The id that a project carries arrives together with its directory.
    let carries_id = from.path.as_ref() != Some(&from.key);
    let key = if carries_id { from.key.clone() } else { path.clone() };
    Ok(Project { key, path, first_commit: from.first_commit.clone() })
}

/// Gives the conversations away and returns how many. A project that carries its id only gets another path.
fn give(archive: &Archive, from: &KnownProject, to: &Project) -> Result<u64, Failure> {
    if from.key == to.key {
        // What was kept by the path while the directory counted as a separate project goes along.
        let by_path = archive.projects().move_to(&to.path, to)?;
        place::carry_active(archive, &to.path, &to.key)?;
        for path in from.path.iter().chain([&to.path]) {
            project_key::remember(archive, &to.key, path, None)?;
        }
        return Ok(from.conversations + by_path);
    }
    let moved = archive.projects().move_to(&from.key, to)?;
    place::carry_active(archive, &from.key, &to.key)?;
    Ok(moved)
}

/// Lets tools do at the new path what the user has allowed at the old one: who
/// moves a project says that it is the same.
fn carry_rules(archive: &Archive, from: &KnownProject, to: &Project) -> Result<(), Failure> {
    let (Some(old), Some(identity)) = (&from.path, directory_identity(Path::new(&to.path))) else {
        return Ok(());
    };
    let mut ids = Vec::new();
    let list = List { project: Some(from.key.clone()), includes_expired: true, ..List::default() };
    archive.reader().each_conversation(&list, &mut |stored| {
        ids.push(stored.id);
        Ok(())
    })?;
    for id in ids {
        let Some(text) = archive.state().recall_for(id, Rules::NAME)? else { continue };
        // Rules that cannot be read are asked for again.
        if let Ok(moved) = Rules::move_remembered(&text, old, &to.path, &identity) {
            archive.state().remember_for(id, Rules::NAME, Some(&moved))?;
        }
    }
    Ok(())
}

fn answer(from: &KnownProject, to: &Project, moved: u64, context: &Context) -> Result<(), Failure> {
    if context.is_json() {
        return context.answer_json(&Given {
            from: ProjectEnd { key: &from.key, path: from.path.as_deref() },
            to: ProjectEnd { key: &to.key, path: Some(&to.path) },
            conversations: moved,
        });
    }
    let count = size::count(moved, "conversation", "conversations");
    context.note(&format!("Gave {count} of {} to {}", from.shown(), clean::line(&to.path)));
    Ok(())
}
