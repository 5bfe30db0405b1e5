//! What file paths say: the project of a session, and the runs of its sub-agents.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::Result;
use crate::formats::folder;

/// The directory of sessions, relative to the directory of a project.
const CHATS: &str = "chats";

/// The maximum size of the list of projects, which has only a few paths.
const SMALL: u64 = 1 << 20;

/// Returns the project of a session: recorded next to its chats, or in the list of all projects.
pub(super) fn project(path: &Path) -> Result<Option<String>> {
    let is_chats = |above: &&Path| above.file_name().is_some_and(|name| name == CHATS);
    let Some(own) = path.ancestors().skip(1).find(is_chats).and_then(Path::parent) else { return Ok(None) };
    if let Some(root) = folder::small_text(&own.join(".project_root"), SMALL)? {
        return Ok(Some(root.trim().to_owned()).filter(|root| !root.is_empty()));
    }
    let Some(home) = own.parent().and_then(Path::parent) else { return Ok(None) };
    let list = folder::small_text(&home.join("projects.json"), SMALL)?;
    let list: Value = list.and_then(|list| serde_json::from_str(&list).ok()).unwrap_or_default();
    let projects = list.get("projects").unwrap_or(&list).as_object();
    let name = own.file_name().and_then(|name| name.to_str());
    let found =
        projects.and_then(|all| all.iter().find(|(_, short)| name.is_some() && short.as_str() == name));
    Ok(found.map(|(path, _)| path.clone()))
}

/// Returns the files of the sub-agents that a session started. Ignores symbolic links.
pub(super) fn runs(path: &Path, session: &str) -> Result<Vec<PathBuf>> {
    let is_plain = !session.is_empty()
        && session.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    let directory = path.parent().filter(|_| is_plain).map(|directory| directory.join(session));
    let mut runs = directory.map_or_else(|| Ok(Vec::new()), |directory| folder::files(&directory))?;
    runs.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl" || ending == "json"));
    Ok(runs)
}

/// Returns the session that started the sub-agent of a file: its id and its file.
pub(super) fn session_of(path: &Path) -> Result<Option<(String, PathBuf)>> {
    let Some((id, chats)) = started_by(path) else { return Ok(None) };
    let Some(beginning) = id.get(..8) else { return Ok(None) };
    let ends = [format!("-{beginning}.jsonl"), format!("-{beginning}.json")];
    let is_session = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        ends.iter().any(|end| name.ends_with(end))
    };
    Ok(folder::files(chats)?.into_iter().find(is_session).map(|file| (id.to_owned(), file)))
}

/// Returns the id of the session that a sub-agent's file is below, and the directory of all sessions.
fn started_by(path: &Path) -> Option<(&str, &Path)> {
    let directory = path.parent()?;
    let chats = directory.parent().filter(|chats| chats.file_name().is_some_and(|name| name == CHATS))?;
    Some((directory.file_name()?.to_str()?, chats))
}
