//! A repository, through git itself.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Output;

use rejoin_agent::Environment;

use crate::config::project::own_ancestors;
use crate::error::{Failure, Kind};
use crate::git::start::{self, GitReach};
use crate::ui::quote;

/// What git leaves in its directory while it is in the middle of something.
const UNDER_WAY: [(&str, &str); 5] = [
    ("MERGE_HEAD", "a merge is under way"),
    ("rebase-merge", "a rebase is under way"),
    ("rebase-apply", "a rebase is under way"),
    ("CHERRY_PICK_HEAD", "a cherry-pick is under way"),
    ("REVERT_HEAD", "a revert is under way"),
];

/// A working tree, at one of its directories. Paths are below that directory, and
/// no character of theirs is a pattern.
#[derive(Debug)]
pub(super) struct Repository {
    directory: PathBuf,
    environment: Environment,
}

impl Repository {
    /// The repository that a directory belongs to, if it belongs to one that
    /// nobody else could have put there.
    pub(super) fn at(directory: &Path, environment: Environment) -> Result<Option<Self>, Failure> {
        // Where there is none, git is not asked and need not be there.
        if !own_ancestors(directory).any(|above| above.join(".git").exists()) {
            return Ok(None);
        }
        let repository = Self { directory: directory.to_owned(), environment };
        let inside = repository.run(["rev-parse", "--is-inside-work-tree"])?;
        Ok((inside == "true\n").then_some(repository))
    }

    /// The directory that it was asked for.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Where the repository keeps something of its own.
    pub(super) fn git_path(&self, name: &str) -> Result<PathBuf, Failure> {
        let path = self.run(["rev-parse", "--git-path", name])?;
        Ok(self.directory.join(path.trim_end_matches('\n')))
    }

    /// The settings whose keys match a pattern, from all files of configuration
    /// that count, the strongest last.
    pub(super) fn configured(&self, keys: &str) -> Result<Vec<(String, String)>, Failure> {
        // Without any, git ends with a failure and says nothing.
        let output = self.try_run(["config", "--null", "--get-regexp", keys])?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let settings =
            text.split_terminator('\0').map(|setting| setting.split_once('\n').unwrap_or((setting, "true")));
        Ok(settings.map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
    }

    /// Why nothing should be committed now, if there is a reason.
    pub(super) fn obstacle(&self) -> Result<Option<&'static str>, Failure> {
        for (name, what) in UNDER_WAY {
            if self.git_path(name)?.exists() {
                return Ok(Some(what));
            }
        }
        let branch = self.try_run(["symbolic-ref", "--quiet", "HEAD"])?;
        Ok((!branch.status.success()).then_some("no branch is checked out"))
    }

    /// True when git passes a path by.
    pub(super) fn ignores(&self, path: &Path) -> Result<bool, Failure> {
        let arguments =
            [OsStr::new("check-ignore"), OsStr::new("--quiet"), OsStr::new("--"), path.as_os_str()];
        Ok(self.try_run(arguments)?.status.success())
    }

    /// The paths below a folder, relative to the directory, that a listing command of git names.
    pub(super) fn listed(&self, command: &[&str], folder: &Path) -> Result<Vec<PathBuf>, Failure> {
        let arguments =
            command.iter().map(OsStr::new).chain([OsStr::new("-z"), OsStr::new("--"), folder.as_os_str()]);
        let text = self.run(arguments)?;
        Ok(text.split('\0').filter(|path| !path.is_empty()).map(PathBuf::from).collect())
    }

    /// Commits these paths and nothing else, whatever is staged. The programs of the repository run. What was
    /// not tracked before is not tracked after a refusal either.
    pub(super) fn commit(
        &self,
        paths: &[PathBuf],
        new: &[PathBuf],
        message: &str,
    ) -> Result<String, Failure> {
        let with = |command: &[&'static str], paths: &[PathBuf]| {
            let words = command.iter().map(|word| OsStr::new(*word).to_owned());
            let paths = paths.iter().map(|path| path.as_os_str().to_owned());
            words.chain([OsStr::new("--").to_owned()]).chain(paths).collect::<Vec<_>>()
        };
        if !new.is_empty() {
            self.check(self.start(GitReach::Commit, with(&["add", "--intent-to-add"], new))?)?;
        }
        let mut commit = with(&["commit", "--quiet", "--only", "--message"], paths);
        commit.insert(4, message.into());
        let committed = self.check(self.start(GitReach::Commit, commit)?);
        if committed.is_err() && !new.is_empty() {
            // The first failure is the one to tell.
            let _ = self.run(with(&["rm", "--cached", "--quiet", "--force"], new));
        }
        committed?;
        Ok(self.run(["rev-parse", "--short", "HEAD"])?.trim().to_owned())
    }

    /// True when there is a commit to compare with.
    pub(super) fn has_commit(&self) -> Result<bool, Failure> {
        Ok(self.try_run(["rev-parse", "--quiet", "--verify", "HEAD"])?.status.success())
    }

    /// Runs git and returns what it said; a failure tells what it complained about.
    fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Result<String, Failure> {
        self.check(self.try_run(arguments)?)
    }

    fn try_run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Result<Output, Failure> {
        self.start(GitReach::Look, arguments)
    }

    fn start<S: AsRef<OsStr>>(
        &self,
        reach: GitReach,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<Output, Failure> {
        start::in_repository(&self.environment, &self.directory, reach, arguments)
            .map_err(|error| Failure::io("run `git`", error))
    }

    fn check(&self, output: Output) -> Result<String, Failure> {
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = [&output.stderr, &output.stdout].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        let told = said.iter().find_map(|text| complaint(text));
        let told = told.unwrap_or_else(|| format!("git ended with {}", output.status));
        let hint = format!("run `git -C {} status` to see what is wrong", quote::path(&self.directory));
        Err(Failure::new(Kind::Other, told).hint(hint))
    }
}

/// What went wrong: the first line that names an error, or else the last, which is that of a hook.
fn complaint(text: &str) -> Option<String> {
    let marked =
        text.lines().find_map(|line| ["fatal: ", "error: "].iter().find_map(|mark| line.strip_prefix(mark)));
    let is_told = |line: &&str| !line.trim().is_empty() && !line.starts_with("hint:");
    let told = marked.or_else(|| text.lines().rev().find(is_told))?;
    Some(told.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_is_told_and_of_a_hook_the_last_line() {
        let locked = "fatal: Unable to create 'index.lock': File exists.\n\nAnother git process seems to be running.\n\
                      remove the file manually to continue.\n";
        let hook = "checking\nNo commits today.\n\nhint: wait\n";

        let told = [locked, hook, "\n"].map(complaint);

        let expected = ["Unable to create 'index.lock': File exists.", "No commits today."];
        assert_eq!(told, [Some(expected[0].to_owned()), Some(expected[1].to_owned()), None]);
    }
}
