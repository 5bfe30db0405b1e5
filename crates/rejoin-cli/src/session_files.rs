//! The `.session/` files of a conversation that was left, below its project, as the format `cortext` lays
//! them out.
//!
//! The conversation itself is safe in the store; whatever goes wrong here is told and changes nothing there.

use std::fs;
use std::path::{Component, Path, PathBuf};

use rejoin::formats::{Format, Tree, WrittenFile};
use rejoin::{Archive, ConversationId, Extent, Fields, Json, StoreUrl, StoredConversation};
use serde::Deserialize;

use crate::context::Context;
use crate::durable;
use crate::error::{Failure, Kind};
use crate::git;
use crate::project_file::text_inside;

/// The format of the files, and the field of a header that names their folder.
const FORMAT: &str = "cortext";

/// What a folder is recognised by.
pub(crate) const STATE: &str = ".session/session.json";

/// What is read of the state of a session: far more than one has.
const STATE_BYTES: usize = 4 << 20;

/// So many conversations of one day may want the same name.
const ATTEMPTS: usize = 1000;

/// Writes the files of a conversation that was left, and commits them, where the configuration asks for it.
pub(crate) fn save_session(context: &Context, archive: &Archive, id: ConversationId) {
    if let Some(warning) = FolderWriter::of(context, archive, id).and_then(|writer| writer.write(archive)) {
        context.manner.warn(&warning.message, warning.hint.as_deref());
    }
    git::commit_session(context, archive, id);
}

/// Where the files of a conversation are written, and whether they may be.
///
/// It needs nothing else of the program, so a thread can write them while a prompt waits.
#[derive(Clone, Debug)]
pub(crate) struct FolderWriter {
    conversation: ConversationId,
    project: PathBuf,
    plaintext: PlaintextRule,
}

/// Whether what a store holds may be written to files that are not encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlaintextRule {
    Allowed,
    Refused,
}

/// Why files were not written.
#[derive(Debug)]
pub(crate) struct UnwrittenFiles {
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

/// The files of a session, not written yet.
#[derive(Debug)]
pub(crate) struct SessionFolder {
    project: PathBuf,
    /// Below the project.
    pub(crate) folder: PathBuf,
    files: Vec<WrittenFile>,
}

impl FolderWriter {
    /// None where the configuration asks for no files, or the project is not there.
    pub(crate) fn of(context: &Context, archive: &Archive, id: ConversationId) -> Option<Self> {
        if !context.config.writes_session_files() {
            return None;
        }
        let stored = archive.conversation(id).ok()?;
        let project = context.directory_of(archive, &stored).ok()??;
        Some(Self { conversation: id, project, plaintext: plaintext(context).ok()? })
    }

    /// Writes to a project whatever the configuration says.
    #[cfg(test)]
    pub(crate) fn below(project: &Path, conversation: ConversationId) -> Self {
        Self { conversation, project: project.to_owned(), plaintext: PlaintextRule::Allowed }
    }

    /// Writes the files, unless nothing was said. Returns why that failed.
    pub(crate) fn write(&self, archive: &Archive) -> Option<UnwrittenFiles> {
        let write = || {
            let stored = archive.conversation(self.conversation)?;
            if stored.messages == 0 {
                return Ok(());
            }
            check(archive, &stored, self.plaintext)?;
            SessionFolder::of(archive, self.conversation, &self.project)?.write()
        };
        let failure: Failure = write().err()?;
        let message = format!("the session files were not written: {}", failure.summary());
        Some(UnwrittenFiles { message, hint: failure.next_step().map(str::to_owned) })
    }
}

impl SessionFolder {
    /// The files of a conversation, in the folder that it has already or in one that is free.
    pub(crate) fn of(archive: &Archive, id: ConversationId, project: &Path) -> Result<Self, Failure> {
        let mut tree = archive.exports().tree(id, Extent::Path(None))?;
        let files = placed(&mut tree, project)?;
        let folder = folder_of(&files)?;
        Ok(Self { project: project.to_owned(), folder, files })
    }

    /// Writes them below the project.
    pub(crate) fn write(&self) -> Result<(), Failure> {
        check_inside(&self.project, &self.folder)?;
        for file in &self.files {
            durable::replace(&self.project.join(&file.path), &file.bytes)
                .map_err(|error| Failure::io(format!("write `{}`", file.path.display()), error))?;
        }
        Ok(())
    }

    /// Their paths below the project.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.files.iter().map(|file| file.path.clone()).collect()
    }
}

/// Checks whether a conversation may be written to files: what a vault keeps would stand there in the
/// clear, so both the configuration and the conversation have to allow it.
pub(crate) fn check_allowed(
    context: &Context,
    archive: &Archive,
    stored: &StoredConversation,
) -> Result<(), Failure> {
    check(archive, stored, plaintext(context)?)
}

fn plaintext(context: &Context) -> Result<PlaintextRule, Failure> {
    let is_vault = matches!(context.store_url()?, StoreUrl::Vault(_));
    Ok(if is_vault && !context.config.allows_plaintext() {
        PlaintextRule::Refused
    } else {
        PlaintextRule::Allowed
    })
}

fn check(archive: &Archive, stored: &StoredConversation, plaintext: PlaintextRule) -> Result<(), Failure> {
    if plaintext == PlaintextRule::Refused {
        return Err(Failure::new(
            Kind::Denied,
            "it is stored in a vault, and its session files would not be encrypted",
        )
        .hint(
            "run `rejoin config set git.allow_plaintext true` to allow it, or turn off `session.files` and \
             `git.commit_sessions`",
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
