//! Which directory is the project.
//!
//! A project is what the user or root put there. A directory that another user owns or can write
//! is nobody's project, and what lies above it is not looked at: whoever plants a `.git` in /tmp
//! must not decide for everything below.

use std::io;
use std::path::{Path, PathBuf};

use rejoin::store::User;

use crate::config::ConfigWarning;
use crate::config::choices::ProjectScope;
use crate::error::Failure;
use crate::private;
use crate::project_file::{FileReading, read_inside};

/// Where a project keeps its own configuration, below its directory.
pub(crate) const FILE: &str = ".rejoin/config.toml";

/// What marks a directory as a project. In a linked work tree `.git` is a file.
const MARKS: [&str; 2] = [".rejoin", ".git"];

/// What is read of a directory beside its marks.
const INSTRUCTIONS: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// Returns the project that `start` belongs to, with symbolic links resolved so that it has one name only.
pub(crate) fn directory_of(start: &Path, scope: ProjectScope) -> Result<PathBuf, Failure> {
    Ok(around(User::current(), &real(start)?, scope).directory.to_owned())
}

/// A directory with symbolic links resolved.
pub(super) fn real(start: &Path) -> Result<PathBuf, Failure> {
    start
        .canonicalize()
        .map_err(|error| Failure::io(format!("find the project in `{}`", start.display()), error))
}

/// A project as it was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoundProject<'a> {
    pub(super) directory: &'a Path,
    /// True when no other user owns or can write the directory; otherwise that
    /// was not looked at, or it is so.
    pub(super) is_own: bool,
}

/// Returns the project that a directory without symbolic links belongs to.
pub(super) fn around(user: User, start: &Path, scope: ProjectScope) -> FoundProject<'_> {
    let marked = match scope {
        ProjectScope::Directory => None,
        ProjectScope::Repository => own_ancestors_by(user, start).find(|own| is_marked(own)),
    };
    FoundProject { directory: marked.unwrap_or(start), is_own: marked.is_some() }
}

/// A directory and those above it, up to the first that another user owns or can write.
pub(crate) fn own_ancestors(start: &Path) -> impl Iterator<Item = &Path> {
    own_ancestors_by(User::current(), start)
}

/// The same for a user who is known already.
fn own_ancestors_by(user: User, start: &Path) -> impl Iterator<Item = &Path> {
    start.ancestors().take_while(move |directory| user.look(directory).is_none())
}

/// The project whose configuration file this is, if it is one.
pub(super) fn of_file(path: &Path) -> Option<&Path> {
    path.ends_with(FILE).then(|| path.ancestors().nth(2)).flatten()
}

/// What lies in a project and is not used, because somebody else could have written it.
pub(super) fn unused(FoundProject { directory: project, is_own }: FoundProject<'_>) -> Option<ConfigWarning> {
    let path = project.join(FILE);
    let is_missing =
        |folder: &Path| folder.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    if is_own && path.parent().is_some_and(is_missing) {
        return None;
    }
    let (why, hint) = match read_inside(&path, project, 0) {
        FileReading::Foreign(foreign) if foreign.path == project => {
            let has_some = is_marked(project) || INSTRUCTIONS.iter().any(|name| project.join(name).exists());
            let message = format!("nothing in `{}` is used for configuration: {foreign}", project.display());
            return has_some.then(|| ConfigWarning { message, hint: Some(private::remedy(&foreign)) });
        }
        FileReading::Foreign(foreign) => (foreign.to_string(), private::remedy(&foreign)),
        FileReading::Outside => (
            "it is reached through a symbolic link that leads out of the project".to_owned(),
            "replace the link with a regular file".to_owned(),
        ),
        FileReading::Content(_) | FileReading::Absent | FileReading::Irregular | FileReading::Failed(_) => {
            return None;
        }
    };
    Some(ConfigWarning { message: format!("ignored `{}`: {why}", path.display()), hint: Some(hint) })
}

fn is_marked(directory: &Path) -> bool {
    MARKS.iter().any(|mark| directory.join(mark).exists())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_nearest_marked_ancestor_is_the_project_unless_only_the_directory_counts() {
        let root = tempfile::tempdir().unwrap();
        let repository = root.path().canonicalize().unwrap().join("repository");
        let below = repository.join("src/deep");
        fs::create_dir_all(&below).unwrap();
        fs::create_dir(repository.join(".git")).unwrap();

        let found = [ProjectScope::Repository, ProjectScope::Directory]
            .map(|scope| directory_of(&below, scope).unwrap());

        assert_eq!(found, [repository, below]);
    }

    #[test]
    fn a_directory_that_others_can_write_is_not_a_project_and_hides_what_is_above() {
        let root = tempfile::tempdir().unwrap();
        let repository = root.path().canonicalize().unwrap().join("repository");
        let below = repository.join("shared/own/deep");
        fs::create_dir_all(&below).unwrap();
        fs::create_dir(repository.join(".git")).unwrap();
        fs::create_dir(repository.join("shared/.git")).unwrap();
        let found = |mode| {
            fs::set_permissions(repository.join("shared"), Permissions::from_mode(mode)).unwrap();
            directory_of(&below, ProjectScope::Repository).unwrap()
        };

        let found = [0o755, 0o777, 0o1777].map(found);

        assert_eq!(found, [repository.join("shared"), below.clone(), below]);
    }
}
