//! Where the program keeps its files: the rollout of a thread, and the names of threads.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::formats::Source;
use crate::formats::codex::read::bases;
use crate::formats::fingerprint::Companion;

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
pub(super) fn rollout(beside: &Path, id: &str) -> Option<PathBuf> {
    // An id comes from a file, and must not lead elsewhere.
    uuid::Uuid::try_parse(id).ok()?;
    let directory = beside.parent()?;
    let near = find(directory, id, 0);
    near.or_else(|| {
        let home = home(beside)?;
        [SESSIONS, ARCHIVED].iter().find_map(|root| find(&home.join(root), id, DEPTH))
    })
}

fn find(directory: &Path, id: &str, depth: usize) -> Option<PathBuf> {
    let mut below = Vec::new();
    for entry in fs::read_dir(directory).ok()?.filter_map(Result::ok) {
        let Ok(kind) = entry.file_type() else { continue };
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let stem = name.strip_suffix(".zst").unwrap_or(&name);
        if kind.is_file() && stem.strip_suffix(".jsonl").is_some_and(|stem| stem.ends_with(id)) {
            return Some(entry.path());
        }
        if kind.is_dir() && depth > 0 {
            below.push(entry.path());
        }
    }
    below.sort();
    below.into_iter().rev().find_map(|directory| find(&directory, id, depth - 1))
}

/// What is read with a rollout: the name of its thread, and the rollouts that it begins with.
pub(super) fn beside(source: &Source) -> Vec<Companion> {
    let path = source.path();
    let Some((id, bases)) = bases(path) else { return Vec::new() };
    let is_small =
        |index: &PathBuf| fs::symlink_metadata(index).is_ok_and(|index| index.len() <= SMALL_INDEX);
    let name = match index(path) {
        Some(index) if !is_small(&index) => Some(Companion::Path(index)),
        _ => title(path, &id).map(Companion::Words),
    };
    name.into_iter().chain(bases.into_iter().map(Companion::Path)).collect()
}

fn index(path: &Path) -> Option<PathBuf> {
    Some(home(path)?.join("session_index.jsonl"))
}

/// The name that a thread was given last.
pub(super) fn title(path: &Path, id: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        id: String,
        thread_name: String,
    }
    let index = index(path)?;
    let metadata = fs::symlink_metadata(&index).ok()?;
    if !metadata.is_file() || metadata.len() > INDEX_BYTES {
        return None;
    }
    let text = fs::read_to_string(index).ok()?;
    let mut named = text.lines().rev().filter(|line| line.contains(id)).filter_map(|line| {
        let named: Named = serde_json::from_str(line).ok()?;
        (named.id == id).then_some(named.thread_name)
    });
    named.next().filter(|name| !name.trim().is_empty())
}
