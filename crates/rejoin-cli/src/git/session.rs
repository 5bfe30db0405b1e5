//! A stopped conversation as a commit: its session folder, alone.
//!
//! The folder is written below the project as the format `cortext` lays it out, and committed
//! whatever else is staged. The conversation itself is safe in the store; whatever goes wrong
//! here is told and changes nothing there.

use std::fs;
use std::path::{Component, Path, PathBuf};

use rejoin::formats::{Format, Tree, WrittenFile};
use rejoin::{Archive, ConversationId, Extent, Fields, Json, StoreUrl, StoredConversation};
use serde::Deserialize;

use crate::context::Context;
use crate::durable;
use crate::error::{Failure, Kind};
use crate::git::programs;
use crate::git::repository::Repository;
use crate::named;
use crate::project_file::text_inside;

/// The format whose folders are committed, and the field of a header that names them.
const FORMAT: &str = "cortext";

/// What a folder is recognised by.
const STATE: &str = ".session/session.json";

/// What is read of the state of a session: far more than one has.
const STATE_BYTES: usize = 4 << 20;

/// What the store remembers of the programs that were told, with the directory of the repository.
const PROGRAMS: &str = "notice.git-programs:";

/// So many conversations of one day may want the same name.
const ATTEMPTS: usize = 1000;

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
    check_sealed(archive, context, &stored)?;
    let mut tree = archive.exports().tree(id, Extent::Path(None))?;
    let files = placed(&mut tree, &project)?;
    let folder = folder_of(&files)?;
    if repository.ignores(&folder.join(STATE))? {
        return Err(Failure::new(Kind::Conflict, format!("git ignores `{}`", folder.display())));
    }
    check_inside(&project, &folder)?;
    for file in &files {
        durable::replace(&project.join(&file.path), &file.bytes)
            .map_err(|error| Failure::io(format!("write `{}`", file.path.display()), error))?;
    }
    tell_programs(context, archive, &repository)?;
    let tracked = repository.listed(&["ls-files"], &folder)?;
    let paths: Vec<PathBuf> = files.into_iter().map(|file| file.path).collect();
    let new: Vec<PathBuf> = paths.iter().filter(|path| !tracked.contains(path)).cloned().collect();
    let mut changed = new.clone();
    if repository.has_commit()? {
        changed.extend(repository.listed(&["diff", "--name-only", "--relative", "HEAD"], &folder)?);
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

/// What is sealed in a vault would stand in the repository in the clear, so both the configuration
/// and the conversation have to allow it.
fn check_sealed(archive: &Archive, context: &Context, stored: &StoredConversation) -> Result<(), Failure> {
    let is_vault = matches!(context.store_url()?, StoreUrl::Vault(_));
    if is_vault && !context.config.allows_plaintext() {
        return Err(Failure::new(
            Kind::Denied,
            "it is stored in a vault, and a commit would not be encrypted",
        )
        .hint(
            "run `rejoin config set git.allow_plaintext true` to allow it, or `rejoin config set \
             git.commit_sessions false` to commit none",
        ));
    }
    if !archive.exports().may_leave(stored) {
        let short = stored.id.short();
        return Err(Failure::new(Kind::Denied, "it is marked as not exportable")
            .hint(format!("run `rejoin keep {short} --exportable yes` to allow it")));
    }
    Ok(())
}

/// The files of the session, in the folder that the conversation has already or in one that is free.
fn placed(tree: &mut Tree, project: &Path) -> Result<Vec<WrittenFile>, Failure> {
    let format = Format::named(FORMAT)?;
    let files = format.write(tree)?;
    let wanted = folder_of(&files)?;
    let id = tree.conversations[0].id.clone();
    let is_own = |folder: &Path| {
        check_inside(project, folder).is_ok() && owner(&project.join(folder)).as_ref() == Some(&id)
    };
    let day = wanted.parent().unwrap_or(&wanted).to_owned();
    check_inside(project, &day)?;
    let others = fs::read_dir(project.join(&day)).into_iter().flatten().flatten();
    let known = others.map(|entry| day.join(entry.file_name())).find(|folder| is_own(folder));
    let free = || {
        let name = wanted.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let names = std::iter::once(name.clone()).chain((2..ATTEMPTS).map(|place| format!("{name}-{place}")));
        names.map(|name| day.join(name)).find(|folder| fs::symlink_metadata(project.join(folder)).is_err())
    };
    let folder =
        known.or_else(free).ok_or_else(|| Failure::new(Kind::Conflict, "no free name for its folder"))?;
    if folder == wanted {
        return Ok(files);
    }
    let mut own = Fields::new();
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    own.set("conversation_id", Json::of(&name)?);
    tree.conversations[0].header.extra.set(FORMAT, Json::of(&own)?);
    let files = format.write(tree)?;
    if folder_of(&files)? != folder {
        return Err(Failure::new(Kind::Conflict, format!("`{}` cannot be used", folder.display())));
    }
    Ok(files)
}

/// The folder that the files are in.
fn folder_of(files: &[WrittenFile]) -> Result<PathBuf, Failure> {
    let state = files.iter().find(|file| file.path.ends_with(STATE));
    let folder = state.and_then(|file| file.path.ancestors().nth(2)).map(Path::to_owned);
    folder.ok_or_else(|| Failure::invalid("write the session of a conversation without messages"))
}

/// The conversation whose state a folder holds. The repository may have brought anything under that name.
fn owner(folder: &Path) -> Option<String> {
    #[derive(Deserialize)]
    struct State {
        rejoin: Tag,
    }
    #[derive(Deserialize)]
    struct Tag {
        id: String,
    }
    let text = text_inside(&folder.join(STATE), folder, STATE_BYTES)?;
    serde_json::from_str::<State>(&text).ok().map(|state| state.rejoin.id)
}

/// A repository may bring links along, and must not be able to have files written elsewhere.
fn check_inside(project: &Path, folder: &Path) -> Result<(), Failure> {
    let mut place = project.to_owned();
    for part in folder.join(".session").components() {
        place.push(part);
        let is_link = fs::symlink_metadata(&place).is_ok_and(|found| found.is_symlink());
        if is_link || !matches!(part, Component::Normal(_)) {
            return Err(Failure::new(Kind::Denied, format!("`{}` is a link", place.display())));
        }
    }
    Ok(())
}
