//! The projects a store knows, and how a person names one.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use rejoin::{Archive, List, Project, Time};

use crate::context::Context;
use crate::error::Failure;
use crate::project_key::{self, SameProjectAnswer};
use crate::ui::{clean, size};

/// A project with what belongs to it.
#[derive(Clone, Debug)]
pub(super) struct KnownProject {
    /// Empty for conversations that belong to no project.
    pub(super) key: String,
    /// Where it was last; none for a key that nobody remembers the directory of.
    pub(super) path: Option<String>,
    pub(super) first_commit: Option<String>,
    pub(super) conversations: u64,
    pub(super) messages: u64,
    pub(super) bytes: u64,
    pub(super) last_active_at: Option<Time>,
    /// Further directories that the user said are the same project.
    pub(super) places: Vec<String>,
    /// The project whose id its directory carries, where the user said that it is another.
    pub(super) separate_from: Option<String>,
}

impl KnownProject {
    /// The path, or what there is instead, safe to show.
    pub(super) fn shown(&self) -> String {
        clean::line(self.named())
    }

    /// The path, or what there is instead, as it is.
    pub(super) fn named(&self) -> &str {
        match &self.path {
            Some(path) => path,
            None if self.key.is_empty() => "(no project)",
            None => &self.key,
        }
    }

    pub(super) fn exists(&self) -> bool {
        self.path.as_ref().is_some_and(|path| Path::new(path).is_dir())
    }

    /// A directory that nothing is known of.
    pub(super) fn at(directory: &Path) -> Option<Self> {
        let path = directory.is_dir().then(|| directory.to_string_lossy().into_owned())?;
        Some(Project { key: path.clone(), path, first_commit: None }.into())
    }

    /// `3 conversations`.
    pub(super) fn count(&self) -> String {
        size::count(self.conversations, "conversation", "conversations")
    }
}

impl From<Project> for KnownProject {
    fn from(project: Project) -> Self {
        Self {
            key: project.key,
            path: Some(project.path),
            first_commit: project.first_commit,
            conversations: 0,
            messages: 0,
            bytes: 0,
            last_active_at: None,
            places: Vec::new(),
            separate_from: None,
        }
    }
}

/// Every project: those that are remembered, and those that conversations name. The last active comes first.
pub(super) fn all(archive: &Archive) -> Result<Vec<KnownProject>, Failure> {
    let mut known: BTreeMap<String, KnownProject> = BTreeMap::new();
    for project in archive.projects().list()? {
        known.insert(project.key.clone(), project.into());
    }
    let (now, list) = (archive.now(), List { includes_expired: true, ..List::default() });
    archive.reader().each_conversation(&list, &mut |stored| {
        let key = stored.conversation.project.clone().unwrap_or_default();
        let entry = known.entry(key.clone()).or_insert_with(|| KnownProject {
            path: Some(key.clone()).filter(|key| Path::new(key).is_absolute()),
            ..KnownProject::from(Project { key, path: String::new(), first_commit: None })
        });
        entry.conversations += 1;
        entry.messages += stored.messages;
        entry.bytes += stored.bytes;
        let active = Some(stored.last_active_at).filter(|active| !active.is_far_ahead_of(now));
        entry.last_active_at = entry.last_active_at.max(active);
        Ok(())
    })?;
    for (id, path, answer) in project_key::answers(archive)? {
        let other = known.get(&id).and_then(|project| project.path.clone());
        match answer {
            SameProjectAnswer::Same if other.as_ref() == Some(&path) => {}
            SameProjectAnswer::Same => {
                if let Some(project) = known.get_mut(&id) {
                    project.places.push(path);
                }
            }
            SameProjectAnswer::Separate => {
                let by_path = Project { key: path.clone(), path: path.clone(), first_commit: None };
                known.entry(path).or_insert_with(|| by_path.into()).separate_from = other.or(Some(id));
            }
        }
    }
    let mut all: Vec<KnownProject> = known.into_values().collect();
    all.sort_by(|a, b| b.last_active_at.cmp(&a.last_active_at).then_with(|| a.path.cmp(&b.path)));
    Ok(all)
}

/// The project with this key or at this path.
///
/// A directory inside a project is not taken for it: who mistypes must not move a whole project.
pub(super) fn find(all: &[KnownProject], typed: &str, context: &Context) -> Option<KnownProject> {
    if typed.is_empty() {
        return None;
    }
    let path = absolute(typed, context);
    let by_key = |wanted: &str| all.iter().find(|known| known.key == wanted);
    let is_there =
        |known: &&KnownProject| known.path.iter().chain(&known.places).any(|known| Path::new(known) == path);
    let by_path = || by_key(&path.to_string_lossy()).or_else(|| all.iter().find(is_there));
    by_key(typed).or_else(by_path).cloned()
}

/// What was typed as an absolute path: resolved where it exists, else by its text alone. `.` is this project.
pub(super) fn absolute(typed: &str, context: &Context) -> PathBuf {
    if typed == "." {
        return context.config.project().to_owned();
    }
    let path = context.surroundings.working_directory.join(typed);
    if let Ok(resolved) = path.canonicalize() {
        return resolved;
    }
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(component),
        }
    }
    plain
}

pub(super) fn not_known(typed: &str) -> Failure {
    Failure::not_found(format!("no project `{}` is known", clean::line(typed)))
        .hint("run `rejoin project list` to see them")
}
