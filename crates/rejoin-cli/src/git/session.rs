//! A stopped conversation as a commit: its session folder, alone.
//!
//! The folder is written below the project as the format `cortext` lays it out, and committed
//! whatever else is staged. The conversation itself is safe in the store; whatever goes wrong
//! here is told and changes nothing there.

use std::path::PathBuf;

use rejoin::{Archive, ConversationId};

use crate::context::Context;
use crate::error::{Failure, Kind};
use crate::git::programs;
use crate::git::repository::Repository;
use crate::named;
use crate::session_files::{STATE, SessionFolder, check_allowed};

/// What the store remembers of the programs that were told, with the directory of the repository.
const PROGRAMS: &str = "notice.git-programs:";

/// Commits the session of a conversation that was left, if the configuration asks for it.
pub(crate) fn commit_session(context: &Context, archive: &Archive, id: ConversationId) {
    if !context.config.commits_sessions() {
        return;
    }
    match commit(context, archive, id) {
        Ok(Some(told)) => context.note(&told),
        Ok(None) => {}
        Err(failure) => {
            let message = format!("the session was not committed: {}", failure.summary());
            context.manner.warn(&message, failure.next_step());
        }
    }
}

/// Returns what was done; none when there is nothing to do.
fn commit(context: &Context, archive: &Archive, id: ConversationId) -> Result<Option<String>, Failure> {
    let stored = archive.conversation(id)?;
    let Some(project) = context.directory_of(archive, &stored)? else { return Ok(None) };
    let Some(repository) = Repository::at(&project, context.environment())? else { return Ok(None) };
    if stored.messages == 0 {
        return Ok(None);
    }
    if let Some(obstacle) = repository.obstacle()? {
        return Err(Failure::new(Kind::Conflict, obstacle).hint("it will be committed at the next stop"));
    }
    check_allowed(context, archive, &stored)?;
    let session = SessionFolder::of(archive, id, &project)?;
    let folder = &session.folder;
    if repository.ignores(&folder.join(STATE))? {
        return Err(Failure::new(Kind::Conflict, format!("git ignores `{}`", folder.display())));
    }
    session.write()?;
    tell_programs(context, archive, &repository)?;
    let tracked = repository.listed(&["ls-files"], folder)?;
    let paths = session.paths();
    let new: Vec<PathBuf> = paths.iter().filter(|path| !tracked.contains(path)).cloned().collect();
    let mut changed = new.clone();
    if repository.has_commit()? {
        changed.extend(repository.listed(&["diff", "--name-only", "--relative", "HEAD"], folder)?);
    }
    if changed.is_empty() {
        return Ok(None);
    }
    let is_session = |path: &PathBuf| path.starts_with(folder.join(".session"));
    let what = if changed.iter().all(is_session) { "session update" } else { "session state saved" };
    let commit =
        repository.commit(&paths, &new, &format!("Conversation \"{}\": {what}", named::title(&stored)))?;
    Ok(Some(format!("Committed {} as {commit}", folder.display())))
}

/// Says which programs run, before the first commit in a repository and whenever they are others.
fn tell_programs(context: &Context, archive: &Archive, repository: &Repository) -> Result<(), Failure> {
    let (told, name) =
        (programs::told(repository)?, format!("{PROGRAMS}{}", repository.directory().display()));
    if context.shows_notes() && archive.state().recall(&name)?.as_ref() != Some(&told) {
        context.note(&told);
        archive.state().remember(&name, Some(&told))?;
    }
    Ok(())
}
