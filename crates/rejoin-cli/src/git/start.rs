//! Starts git: the one place that does.
//!
//! What a repository configures can run programs: hooks, filters, monitors, and whatever is to fetch an
//! object that is missing. So nothing is asked of git in a repository, except by whoever commits to it. What
//! has to be computed from its objects is computed beside it: in an empty repository of our own that borrows
//! the objects, and whose configuration is ours.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rejoin_agent::Environment;

use crate::child;

/// How long a question about objects may take. It decides nothing that would be worth waiting for.
const PATIENCE: Duration = Duration::from_secs(2);

/// The most that git may ask the system for at once, in bytes. A commit is
/// smaller; one that says it is larger lies.
const LARGEST_ALLOCATION: &str = "67108864";

/// The most that is read of an answer.
const LONGEST_ANSWER: u64 = 4096;

/// What would make git work in another repository than the one that is named.
const ELSEWHERE: [&str; 6] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
];

/// What the files of a project must not be able to do, whoever wrote them. A bare repository that lies among
/// them is none, because its configuration could name programs to run; nor does a repository name what
/// watches its files, or have itself tidied up.
const GUARDS: [&str; 8] = [
    "-c",
    "safe.bareRepository=explicit",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
];

/// What git may do in a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GitReach {
    /// Look at it; it does not reach out for what is missing, whatever is configured.
    Look,
    /// Commit to it: hooks, filters and signing run. A hook may push.
    Commit,
}

/// The version of git, if it can be started.
pub(crate) fn version(environment: &Environment) -> Option<String> {
    let output = git(environment).arg("--version").output().ok().filter(|output| output.status.success())?;
    let said = String::from_utf8_lossy(&output.stdout);
    Some(said.trim().trim_start_matches("git version ").to_owned())
}

/// Runs git in the repository of a directory.
pub(super) fn in_repository<S: AsRef<OsStr>>(
    environment: &Environment,
    directory: &Path,
    reach: GitReach,
    arguments: impl IntoIterator<Item = S>,
) -> io::Result<Output> {
    let mut command = git(environment);
    command.arg("-C").arg(directory).args(GUARDS).args(arguments);
    ELSEWHERE.iter().for_each(|name| {
        command.env_remove(name);
    });
    if reach == GitReach::Look {
        // Older versions do not know the variable for this, so no way to fetch is allowed at all.
        command.env("GIT_ALLOW_PROTOCOL", "none");
    }
    command.output()
}

/// What git says about objects, in one line; none when it fails, or takes too long.
/// `objects` is the directory that they are in, and `format` the kind of their names.
/// Nothing else of their repository is read.
pub(super) fn about_objects(objects: &Path, format: &str, arguments: &[&str]) -> Option<String> {
    let own = tempfile::tempdir().ok()?;
    fs::create_dir(own.path().join("refs")).ok()?;
    fs::write(own.path().join("HEAD"), "ref: refs/heads/none\n").ok()?;
    let config = format!(
        "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = {format}\n"
    );
    fs::write(own.path().join("config"), config).ok()?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut command = git(&child::without_known_keys());
    command
        .args(arguments)
        .current_dir(own.path())
        .env_clear()
        .env("PATH", path)
        .env("HOME", own.path())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_ATTR_NOSYSTEM", "1")
        .env("GIT_DIR", own.path())
        .env("GIT_OBJECT_DIRECTORY", objects)
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_ALLOW_PROTOCOL", "none")
        .env("GIT_ALLOC_LIMIT", LARGEST_ALLOCATION);
    answer_in_time(command, PATIENCE)
}

/// The first line that a program writes, if it ends well and in time. One that does
/// not is ended: an object may be a pipe.
fn answer_in_time(mut command: Command, patience: Duration) -> Option<String> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let pipe = child.stdout.take()?;
    let (sender, said) = mpsc::channel();
    thread::spawn(move || {
        let mut text = String::new();
        let outcome = pipe.take(LONGEST_ANSWER).read_to_string(&mut text);
        let _ = sender.send(outcome.map(|_| text));
    });
    let said = said.recv_timeout(patience);
    if said.is_err() {
        let _ = child.kill();
    }
    let is_well = child.wait().is_ok_and(|status| status.success());
    let text = said.ok()?.ok().filter(|_| is_well)?;
    text.lines().next().map(str::to_owned)
}

fn git(environment: &Environment) -> Command {
    let mut command = environment.command("git");
    command
        .stdin(Stdio::null())
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_PAGER", "cat")
        .env("GIT_NO_LAZY_FETCH", "1");
    command
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_program_that_does_not_answer_is_ended() {
        let mut slow = Command::new("sleep");
        slow.arg("60");
        let began = Instant::now();

        let answer = answer_in_time(slow, Duration::from_millis(50));

        assert_eq!(answer, None);
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    }

    #[test]
    fn an_answer_counts_only_when_the_program_ends_well() {
        let shell = |line: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", line]);
            answer_in_time(command, Duration::from_secs(20))
        };

        let answers = ["echo one; echo two", "echo one; exit 1", "true"].map(shell);

        assert_eq!(answers, [Some("one".to_owned()), None, None]);
    }
}
