//! The commit that is checked out and the first one, from the repository's
//! files. Nothing in the repository is run.

use std::path::{Path, PathBuf};

use rejoin::store::Foreign;

use crate::config::project::own_ancestors;
use crate::git::start;
use crate::project_file::text_inside;

/// A reference is a name of another so many times at most.
const LINKS: usize = 5;

/// A reference or a path: far more than either has.
const LONGEST: usize = 4096;

/// The file that holds many references: a hundred thousand of them.
const LARGEST_PACK: usize = 16 << 20;

/// The commit that is checked out in a directory's repository; none where there
/// is none, or it cannot be read.
pub(crate) fn head_of(project: &Path) -> Option<String> {
    RepositoryFiles::of(project)?.head()
}

/// The repository's first commit, which a clone or a moved directory shares. A directory that is no
/// repository has none, and neither has a clone that lacks a part of the history.
pub(crate) fn first_commit(project: &Path) -> Option<String> {
    let files = RepositoryFiles::at(project)?;
    let head = files.head()?;
    let format = if head.len() == 64 { "sha256" } else { "sha1" };
    let objects = files.shared.join("objects").canonicalize().ok()?;
    if Foreign::look(&objects).is_some() {
        return None;
    }
    let asked = ["rev-list", "--max-parents=0", "--max-count=1", &head];
    start::about_objects(&objects, format, &asked).filter(|said| is_commit(said))
}

/// Where a repository keeps its files.
#[derive(Debug)]
struct RepositoryFiles {
    own: PathBuf,
    /// A linked working tree keeps its head to itself and shares the rest.
    shared: PathBuf,
}

impl RepositoryFiles {
    /// The files of the nearest repository at or above a directory.
    fn of(project: &Path) -> Option<Self> {
        Self::at(own_ancestors(project).find(|above| above.join(".git").exists())?)
    }

    /// The files of the repository in a directory.
    fn at(root: &Path) -> Option<Self> {
        let root = &root.canonicalize().ok()?;
        let git = root.join(".git");
        let own = if git.is_dir() {
            Some(git).filter(|git| git.canonicalize().is_ok_and(|place| place.starts_with(root)))?
        } else {
            root.join(text_inside(&git, root, LONGEST)?.trim().strip_prefix("gitdir: ")?)
        };
        let shared = text_inside(&own.join("commondir"), &own, LONGEST);
        let shared = shared.map_or_else(|| own.clone(), |path| own.join(path.trim()));
        Some(Self { own, shared })
    }

    fn head(&self) -> Option<String> {
        let mut text = text_inside(&self.own.join("HEAD"), &self.own, LONGEST)?;
        for _ in 0..LINKS {
            let Some(name) = text.trim().strip_prefix("ref: ") else { break };
            let is_plain = name.starts_with("refs/") && !name.split('/').any(|part| part == "..");
            let name = Some(name).filter(|_| is_plain)?;
            let loose = text_inside(&self.shared.join(name), &self.shared, LONGEST);
            text = loose.or_else(|| self.packed(name))?;
        }
        let commit = text.trim();
        is_commit(commit).then(|| commit.to_owned())
    }

    /// A reference in the file that holds many.
    fn packed(&self, name: &str) -> Option<String> {
        let text = text_inside(&self.shared.join("packed-refs"), &self.shared, LARGEST_PACK)?;
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(_, own)| *own == name).map(|(commit, _)| commit.to_owned())
    }
}

fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn repository(files: &[(&str, &str)]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = directory.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        directory
    }

    #[test]
    fn the_commit_is_found_wherever_it_is_kept() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        let line = format!("{commit}\n");
        let packed = format!("# pack-refs\n{commit} refs/heads/main\n");
        let branch = ".git/HEAD";
        let places = [
            repository(&[(branch, "ref: refs/heads/main\n"), (".git/refs/heads/main", &line)]),
            repository(&[(branch, "ref: refs/heads/main\n"), (".git/packed-refs", &packed)]),
            repository(&[(branch, &line)]),
            repository(&[
                (".git", "gitdir: main/worktrees/here\n"),
                ("main/worktrees/here/HEAD", "ref: refs/heads/main\n"),
                ("main/worktrees/here/commondir", "../..\n"),
                ("main/refs/heads/main", &line),
            ]),
        ];

        let found = places.each_ref().map(|place| head_of(&place.path().canonicalize().unwrap()));

        assert_eq!(found, [(); 4].map(|()| Some(commit.to_owned())));
    }

    #[test]
    fn what_is_no_commit_is_none() {
        let places = [
            repository(&[(".git/HEAD", "ref: refs/heads/main\n")]),
            repository(&[(".git/HEAD", "ref: refs/../../secret\n"), (".git/refs/x", ""), ("secret", "x")]),
            repository(&[(".git/config", "")]),
        ];

        let found = places.each_ref().map(|place| head_of(&place.path().canonicalize().unwrap()));

        assert_eq!(found, [None, None, None]);
    }
}
