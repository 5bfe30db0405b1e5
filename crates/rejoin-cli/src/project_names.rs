//! Names of projects, short enough for a column.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use rejoin::{Archive, StoredConversation};

use crate::error::Failure;

/// What stands for no project.
const NONE: &str = "none";

/// The paths of projects, and their last parts, by key.
#[derive(Debug, Default)]
pub(crate) struct ProjectNames {
    paths: HashMap<String, String>,
    short: HashMap<String, String>,
}

impl ProjectNames {
    pub(crate) fn of(archive: &Archive) -> Result<Self, Failure> {
        let paths: HashMap<String, String> =
            archive.projects().list()?.into_iter().map(|project| (project.key, project.path)).collect();
        let mut met: HashMap<String, u32> = HashMap::new();
        paths.values().for_each(|path| *met.entry(end(path, 1)).or_default() += 1);
        let short = |path: &String| match end(path, 1) {
            last if met[&last] > 1 => end(path, 2),
            last => last,
        };
        let short = paths.iter().map(|(key, path)| (key.clone(), short(path))).collect();
        Ok(Self { paths, short })
    }

    pub(crate) fn path_of<'a>(&'a self, stored: &'a StoredConversation) -> &'a str {
        Self::found(&self.paths, stored)
    }

    pub(crate) fn short_of<'a>(&'a self, stored: &'a StoredConversation) -> &'a str {
        Self::found(&self.short, stored)
    }

    fn found<'a>(names: &'a HashMap<String, String>, stored: &'a StoredConversation) -> &'a str {
        let key = stored.conversation.project.as_deref().unwrap_or(NONE);
        names.get(key).map_or(key, String::as_str)
    }
}

/// Whether these are of more than one project.
pub(crate) fn are_several(items: &[StoredConversation]) -> bool {
    items.iter().map(|stored| stored.conversation.project.as_deref()).collect::<BTreeSet<_>>().len() > 1
}

/// The last parts of a path, as many as are asked for.
fn end(path: &str, parts: usize) -> String {
    let all: Vec<_> = Path::new(path).iter().map(|part| part.to_string_lossy()).collect();
    all[all.len().saturating_sub(parts)..].join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_path_names_a_project() {
        let ends = [end("/home/ada/trip", 1), end("/home/ada/trip", 2), end("trip", 2), end("/", 1)];

        assert_eq!(ends, ["trip", "ada/trip", "trip", "/"]);
    }
}
