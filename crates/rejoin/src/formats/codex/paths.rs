//! Where the program keeps its files: the rollout of a thread, and the names of threads.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::Result;
use crate::formats::codex::read::bases;
use crate::formats::fingerprint::Companion;
use crate::formats::{Source, folder};

/// Directories of years, months and days, and one more.
const DEPTH: usize = 4;

/// An index of names that is larger is not read.
const INDEX_BYTES: u64 = 64 << 20;

/// An index that is larger is looked at from outside only: it is read for every rollout.
const SMALL_INDEX: u64 = 1 << 20;

const SESSIONS: &str = "sessions";
const ARCHIVED: &str = "archived_sessions";

/// True when a rollout was put away.
pub(super) fn is_archived(path: &Path) -> bool {
    path.parent().and_then(Path::file_name).is_some_and(|name| name == ARCHIVED)
}

/// The program's own directory, from the place of a rollout.
fn home(path: &Path) -> Option<&Path> {
    let is_root =
        |directory: &&Path| directory.file_name().is_some_and(|name| name == SESSIONS || name == ARCHIVED);
    path.ancestors().skip(1).find(is_root)?.parent()
}

/// The file of another rollout: beside this one, or wherever the program keeps them.
pub(super) fn rollout(beside: &Path, id: &str) -> Result<Option<PathBuf>> {
    // An id comes from a file, and must not lead elsewhere.
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
    // Years, months and days have no ending, and the many rollouts in them have one.
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

/// What is read with a rollout: the name of its thread, and the rollouts that it begins with.
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

/// The name that a thread was given last.
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
