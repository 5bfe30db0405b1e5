//! The paths of the program's files: rollouts and the index of thread names.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::Result;
use crate::formats::codex::read::bases;
use crate::formats::fingerprint::Companion;
use crate::formats::{Source, folder};

/// The depth of the directories for years, months and days, plus one.
const DEPTH: usize = 4;

/// A larger index of names is not read.
const INDEX_BYTES: u64 = 64 << 20;

/// A larger index is only compared by metadata, because it is read for every rollout.
const SMALL_INDEX: u64 = 1 << 20;

const SESSIONS: &str = "sessions";
const ARCHIVED: &str = "archived_sessions";

/// True when a rollout is archived.
pub(super) fn is_archived(path: &Path) -> bool {
    path.parent().and_then(Path::file_name).is_some_and(|name| name == ARCHIVED)
}

/// Returns the program's own directory, from the path of a rollout.
fn home(path: &Path) -> Option<&Path> {
    let is_root =
        |directory: &&Path| directory.file_name().is_some_and(|name| name == SESSIONS || name == ARCHIVED);
    path.ancestors().skip(1).find(is_root)?.parent()
}

/// Returns the file of another rollout: next to this one, or wherever the program keeps them.
pub(super) fn rollout(beside: &Path, id: &str) -> Result<Option<PathBuf>> {
    // An id is untrusted input and must not lead outside the directory.
    let (Ok(_), Some(directory)) = (uuid::Uuid::try_parse(id), beside.parent()) else { return Ok(None) };
    if let Some(near) = find(directory, id, 0)? {
        return Ok(Some(near));
    }
    let Some(home) = home(beside) else { return Ok(None) };
    for root in [SESSIONS, ARCHIVED] {
        if let Some(found) = find(&home.join(root), id, DEPTH)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn find(directory: &Path, id: &str, depth: usize) -> Result<Option<PathBuf>> {
    let paths = folder::entries(directory)?;
    let is_meant = |path: &&PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let stem = name.strip_suffix(".zst").unwrap_or(name);
        stem.strip_suffix(".jsonl").is_some_and(|stem| stem.ends_with(id))
    };
    for path in paths.iter().filter(is_meant) {
        if folder::is_file(path)? {
            return Ok(Some(path.clone()));
        }
    }
    if depth == 0 {
        return Ok(None);
    }
    // Directories of years, months and days have no extension; the many rollouts have one.
    let is_directory = |path: &&PathBuf| {
        path.extension().is_none() && fs::symlink_metadata(path).is_ok_and(|there| there.is_dir())
    };
    for below in paths.iter().rev().filter(is_directory) {
        if let Some(found) = find(below, id, depth - 1)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Returns what is read with a rollout: its thread's name, and the rollouts that it begins with.
pub(super) fn beside(source: &Source) -> Vec<Companion> {
    let path = source.path();
    let Ok(found) = bases(path) else { return vec![Companion::Unreadable] };
    let Some((id, bases)) = found else { return Vec::new() };
    let is_small =
        |index: &PathBuf| fs::symlink_metadata(index).is_ok_and(|index| index.len() <= SMALL_INDEX);
    let name = match index(path) {
        Some(index) if !is_small(&index) => Some(Companion::Path(index)),
        _ => match title(path, &id) {
            Ok(title) => title.map(Companion::Words),
            Err(_) => Some(Companion::Unreadable),
        },
    };
    name.into_iter().chain(bases.into_iter().map(Companion::Path)).collect()
}

fn index(path: &Path) -> Option<PathBuf> {
    Some(home(path)?.join("session_index.jsonl"))
}

/// Returns the latest name of a thread.
pub(super) fn title(path: &Path, id: &str) -> Result<Option<String>> {
    #[derive(Deserialize)]
    struct ThreadName {
        id: String,
        thread_name: String,
    }
    let text = index(path).map(|index| folder::small_text(&index, INDEX_BYTES)).transpose()?.flatten();
    let text = text.unwrap_or_default();
    let mut named = text.lines().rev().filter(|line| line.contains(id)).filter_map(|line| {
        let named: ThreadName = serde_json::from_str(line).ok()?;
        (named.id == id).then_some(named.thread_name)
    });
    Ok(named.next().filter(|name| !name.trim().is_empty()))
}
