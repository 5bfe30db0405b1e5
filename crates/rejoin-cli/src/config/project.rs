//! Which directory is the project.

use std::path::{Path, PathBuf};

use crate::config::choices::Scope;
use crate::error::Failure;

/// Where a project keeps its own configuration, below its directory.
pub(crate) const FILE: &str = ".rejoin/config.toml";

/// What marks a directory as a project. In a linked work tree `.git` is a file.
const MARKS: [&str; 2] = [".rejoin", ".git"];

/// Returns the project that `start` belongs to, with symbolic links resolved so that it has one name only.
pub(crate) fn directory_of(start: &Path, scope: Scope) -> Result<PathBuf, Failure> {
    let start = start
        .canonicalize()
        .map_err(|error| Failure::io(format!("find the project in `{}`", start.display()), error))?;
    let marked = |directory: &&Path| MARKS.iter().any(|mark| directory.join(mark).exists());
    match scope {
        Scope::Directory => Ok(start),
        Scope::Repository => Ok(start.ancestors().find(marked).unwrap_or(&start).to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_nearest_marked_ancestor_is_the_project_unless_only_the_directory_counts() {
        let root = tempfile::tempdir().unwrap();
        let repository = root.path().canonicalize().unwrap().join("repository");
        let below = repository.join("src/deep");
        fs::create_dir_all(&below).unwrap();
        fs::create_dir(repository.join(".git")).unwrap();

        let found = [Scope::Repository, Scope::Directory].map(|scope| directory_of(&below, scope).unwrap());

        assert_eq!(found, [repository, below]);
    }
}
