//! What the places of files say: the project of a session, and the runs of its sub-agents.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

/// Where sessions are, below the directory of a project.
const CHATS: &str = "chats";

/// A list of projects is a few paths; a larger file is something else.
const SMALL: u64 = 1 << 20;

/// The directory that a session is about: written beside its chats, or in the list of all projects.
pub(super) fn project(path: &Path) -> Option<String> {
    let chats = path.ancestors().skip(1).find(|above| above.file_name().is_some_and(|name| name == CHATS))?;
    let own = chats.parent()?;
    if let Some(root) = small(&own.join(".project_root")) {
        return Some(root.trim().to_owned()).filter(|root| !root.is_empty());
    }
    let list: Value = serde_json::from_str(&small(&own.parent()?.parent()?.join("projects.json"))?).ok()?;
    let projects: &Map<String, Value> = list.get("projects").unwrap_or(&list).as_object()?;
    let name = own.file_name()?.to_str()?;
    projects.iter().find(|(_, short)| short.as_str() == Some(name)).map(|(path, _)| path.clone())
}

/// The files of the sub-agents that a session started. Symbolic links are left alone.
pub(super) fn runs(path: &Path, session: &str) -> Vec<PathBuf> {
    let is_plain = !session.is_empty()
        && session.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    let directory = path.parent().filter(|_| is_plain).map(|directory| directory.join(session));
    let mut runs: Vec<PathBuf> = directory.map(|directory| files(&directory)).unwrap_or_default();
    runs.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl" || ending == "json"));
    runs
}

/// The session that started the sub-agent whose file this is: its id, and its file.
pub(super) fn session_of(path: &Path) -> Option<(String, PathBuf)> {
    let directory = path.parent()?;
    let chats = directory.parent().filter(|chats| chats.file_name().is_some_and(|name| name == CHATS))?;
    let id = directory.file_name()?.to_str()?;
    let ends = [format!("-{}.jsonl", id.get(..8)?), format!("-{}.json", id.get(..8)?)];
    let is_session = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        ends.iter().any(|end| name.ends_with(end))
    };
    files(chats).into_iter().find(is_session).map(|file| (id.to_owned(), file))
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let is_file = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file());
    let mut files: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_file).collect();
    files.sort();
    files
}

/// The text of a small file.
fn small(path: &Path) -> Option<String> {
    if !fs::symlink_metadata(path).ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    fs::File::open(path).ok()?.take(SMALL).read_to_string(&mut text).ok()?;
    Some(text)
}
