//! The commit that is checked out, read from the repository's files: no program is started for it.

use std::fs;
use std::path::{Path, PathBuf};

/// A reference is a name of another so many times at most.
const LINKS: usize = 5;

/// The commit that is checked out in a directory's repository; none where there is none, or it cannot be read.
pub(crate) fn head_of(project: &Path) -> Option<String> {
    let own = directory(project)?;
    // A linked working tree keeps its head to itself and shares the rest.
    let shared = fs::read_to_string(own.join("commondir")).ok();
    let shared = shared.map_or_else(|| own.clone(), |path| own.join(path.trim()));
    let mut text = fs::read_to_string(own.join("HEAD")).ok()?;
    for _ in 0..LINKS {
        let Some(name) = text.trim().strip_prefix("ref: ") else { break };
        let is_plain = name.starts_with("refs/") && !name.split('/').any(|part| part == "..");
        let name = Some(name).filter(|_| is_plain)?;
        text = fs::read_to_string(shared.join(name)).ok().or_else(|| packed(&shared, name))?;
    }
    let commit = text.trim();
    let is_commit = matches!(commit.len(), 40 | 64) && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_commit.then(|| commit.to_owned())
}

/// The directory of the nearest repository at or above a directory.
fn directory(project: &Path) -> Option<PathBuf> {
    let (root, git) =
        project.ancestors().map(|above| (above, above.join(".git"))).find(|(_, git)| git.exists())?;
    if git.is_dir() {
        return Some(git);
    }
    let text = fs::read_to_string(git).ok()?;
    Some(root.join(text.trim().strip_prefix("gitdir: ")?))
}

/// A reference in the file that holds many.
fn packed(directory: &Path, name: &str) -> Option<String> {
    let text = fs::read_to_string(directory.join("packed-refs")).ok()?;
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(_, own)| *own == name).map(|(commit, _)| commit.to_owned())
}

#[cfg(test)]
mod tests {
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

        let found = places.each_ref().map(|place| head_of(place.path()));

        assert_eq!(found, [(); 4].map(|()| Some(commit.to_owned())));
    }

    #[test]
    fn what_is_no_commit_is_none() {
        let places = [
            repository(&[(".git/HEAD", "ref: refs/heads/main\n")]),
            repository(&[(".git/HEAD", "ref: refs/../../secret\n"), (".git/refs/x", ""), ("secret", "x")]),
            repository(&[(".git/config", "")]),
        ];

        let found = places.each_ref().map(|place| head_of(place.path()));

        assert_eq!(found, [None, None, None]);
    }
}
