//! Commands of which one system call fails, each in its turn: the failure is told, or
//! the result is the same as without it.
//!
//! A test sweeps some of the calls, evenly. With `REJOIN_PROVE=1`, as in `just prove`, it sweeps all of them.

mod dump;
pub(crate) mod operation;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use operation::Again;
pub(crate) use operation::Operation;

use crate::skip::tell;
use crate::strace::Strace;
use crate::world::World;

/// A kind of call, and how it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failing {
    call: &'static str,
    error: &'static str,
    /// Which calls fail, after the number of the first of them, as strace has it.
    rest: &'static str,
}

/// One call fails, the others succeed.
pub(crate) const fn failing(call: &'static str, error: &'static str) -> Failing {
    Failing { call, error, rest: "" }
}

/// One call fails, and all that come after it.
const fn failing_from(call: &'static str, error: &'static str) -> Failing {
    Failing { call, error, rest: "+" }
}

/// What fails in a sweep.
const FAILINGS: [Failing; 28] = [
    failing("openat", "EIO"),
    failing("openat", "EACCES"),
    failing("openat", "EMFILE"),
    failing("read", "EIO"),
    failing("pread64", "EIO"),
    failing("getdents64", "EIO"),
    failing("newfstatat", "EIO"),
    failing("statx", "EIO"),
    failing("statx", "EACCES"),
    failing("fstat", "EIO"),
    failing("rename", "EIO"),
    failing("renameat2", "EIO"),
    failing("unlink", "EIO"),
    failing("ftruncate", "EIO"),
    failing("fdatasync", "EIO"),
    failing("fsync", "EIO"),
    failing("pwrite64", "ENOSPC"),
    failing("pwrite64", "EIO"),
    failing("write", "ENOSPC"),
    failing("mkdir", "EIO"),
    failing("flock", "EIO"),
    failing("fallocate", "ENOSPC"),
    failing_from("openat", "EMFILE"),
    failing_from("read", "EIO"),
    failing_from("pread64", "EIO"),
    failing_from("fdatasync", "EIO"),
    failing_from("pwrite64", "ENOSPC"),
    failing_from("write", "ENOSPC"),
];

/// How many calls of a kind fail in a test.
const SAMPLE: usize = 2;

/// A world in which a command can be run again and again from the same beginning.
pub(crate) struct Stage<'o> {
    operation: &'o Operation,
    strace: Strace,
    world: World,
    command: Vec<String>,
    /// What is there without the command, and after it.
    before: String,
    after: String,
    /// The number of each call about a file that is swept, by the name of the call.
    calls: BTreeMap<String, Vec<usize>>,
}

impl<'o> Stage<'o> {
    /// Prepares a world, and runs the command once without a fault.
    pub(crate) fn new(operation: &'o Operation) -> Option<Self> {
        let strace = Strace::find()?;
        let world = (operation.prepare)();
        let command = (operation.command)(&world);
        let before = (operation.result)(&world).unwrap();
        copy(&world.path(""), &world.path("template"), &PARTS);
        let mut stage =
            Self { operation, strace, world, command, before, after: String::new(), calls: BTreeMap::new() };
        stage.reset();
        let trace = stage.world.path("trace");
        let names: Vec<&str> = FAILINGS.iter().map(|failing| failing.call).collect();
        let done = output(strace.watch(&stage.program(), &names.join(","), &trace));
        assert!(done.status.success(), "{}: {done:?}", operation.name);
        stage.after = (operation.result)(&stage.world).unwrap();
        assert_eq!(stage.before != stage.after, operation.changes, "{}", operation.name);
        stage.calls = numbered(&fs::read_to_string(&trace).unwrap(), &stage.swept());
        Some(stage)
    }

    /// The places whose calls fail.
    fn swept(&self) -> Vec<String> {
        self.operation.swept.iter().map(|part| self.world.path(part).to_str().unwrap().to_owned()).collect()
    }

    fn program(&self) -> Command {
        let arguments: Vec<&str> = self.command.iter().map(String::as_str).collect();
        self.world.program(&arguments)
    }

    fn reset(&self) {
        for part in PARTS {
            let _ = fs::remove_dir_all(self.world.path(part));
        }
        copy(&self.world.path("template"), &self.world.path(""), &PARTS);
    }

    /// The numbers of the calls of a kind.
    pub(crate) fn numbers(&self, call: &str) -> &[usize] {
        self.calls.get(call).map_or(&[], Vec::as_slice)
    }

    /// Runs the command with a call that fails; what is wrong with the outcome,
    /// or whether the call was there.
    pub(crate) fn fail(&self, failing: Failing, number: usize) -> Result<bool, String> {
        let (output, was_met) = self.run(failing, number);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        let blamed = |what: &str| {
            Err(format!(
                "{}: {}:{} {number}{}: {what}\n{told}",
                self.operation.name, failing.call, failing.error, failing.rest
            ))
        };
        match (output.status.code(), output.status.signal()) {
            (Some(0), _) if self.result() == self.after => Ok(was_met),
            (Some(0), _) => blamed(&format!("exit 0, but{}", difference(&self.after, &self.result()))),
            // Who cannot write to a pipe cannot tell.
            (Some(1), _) if !told.contains("error: ") && failing.call != "write" => {
                blamed("it failed without a word")
            }
            (Some(1), _) => self.try_again().map_or_else(|what| blamed(&what), |()| Ok(was_met)),
            ended => blamed(&format!("ended with {ended:?}")),
        }
    }

    /// Runs the command with a call that fails; how it ended, and whether the call was there.
    pub(crate) fn run(&self, failing: Failing, number: usize) -> (Output, bool) {
        self.reset();
        let trace = self.world.path("trace");
        let fault = format!("{}:error={}:when={number}{}", failing.call, failing.error, failing.rest);
        let output = output(self.strace.inject(&self.program(), &fault, &trace));
        (output, Strace::has_injected(&trace))
    }

    /// What is there now.
    pub(crate) fn result(&self) -> String {
        (self.operation.result)(&self.world).unwrap_or_else(|error| format!("unreadable: {error:?}\n"))
    }

    /// After a run that failed nothing is lost, and another one comes to the end.
    fn try_again(&self) -> Result<(), String> {
        let halfway = self.result();
        let is_whole = halfway == self.before || halfway == self.after;
        if halfway.starts_with("unreadable") || self.operation.again == Again::WholeOrNot && !is_whole {
            return Err(format!("after the failure{}", difference(&self.before, &halfway)));
        }
        if self.operation.again == Again::NotTried {
            return Ok(());
        }
        let again = output(self.program());
        let told = String::from_utf8_lossy(&again.stderr).into_owned();
        let is_done = halfway == self.after;
        if !again.status.success() && !is_done {
            return Err(format!("another run failed: {told}"));
        }
        let ended = self.result();
        if ended == self.after {
            Ok(())
        } else {
            Err(format!("after another run{}", difference(&self.after, &ended)))
        }
    }

    /// Fails calls of every kind; what went wrong, and how many calls failed.
    pub(crate) fn sweep(&self) -> (Vec<String>, usize) {
        let (mut wrong, mut met) = (Vec::new(), 0);
        for failing in FAILINGS {
            for number in sample(self.numbers(failing.call)) {
                match self.fail(failing, number) {
                    Ok(was_met) => met += usize::from(was_met),
                    Err(what) => wrong.push(what),
                }
            }
        }
        (wrong, met)
    }
}

/// The parts of a world that a command may change.
const PARTS: [&str; 3] = ["home", "project", "sources"];

fn copy(from: &Path, to: &Path, parts: &[&str]) {
    fs::create_dir_all(to).unwrap();
    let present = parts.iter().map(|part| from.join(part)).filter(|part| part.exists());
    let copied = Command::new("cp").arg("-a").args(present).arg(to).status().unwrap();
    assert!(copied.success());
}

fn output(mut command: Command) -> Output {
    command.stdin(Stdio::null()).output().unwrap()
}

/// Counts the calls of the first thread, and keeps the numbers of those about certain places.
fn numbered(trace: &str, places: &[String]) -> BTreeMap<String, Vec<usize>> {
    let first = trace.split(' ').next().unwrap_or_default();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut numbers: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for line in trace.lines().filter(|line| line.split(' ').next() == Some(first)) {
        let call = line[first.len()..].trim_start();
        let Some((name, _)) = call.split_once('(').filter(|_| !call.starts_with('<')) else { continue };
        let count = counts.entry(name.to_owned()).or_default();
        *count += 1;
        // The directory that a path could begin in is no part of one that begins at the root.
        let about = call
            .split_once("AT_FDCWD<")
            .and_then(|(_, rest)| rest.split_once('>'))
            .map_or(call, |(_, rest)| rest);
        if places.iter().any(|place| about.contains(place.as_str())) {
            numbers.entry(name.to_owned()).or_default().push(*count);
        }
    }
    numbers
}

/// Some of the numbers, evenly; all of them for a proof.
fn sample(numbers: &[usize]) -> Vec<usize> {
    let wanted =
        if env::var_os("REJOIN_PROVE").is_some() { numbers.len() } else { SAMPLE.min(numbers.len()) };
    (0..wanted).map(|place| numbers[(2 * place + 1) * numbers.len() / (2 * wanted)]).collect()
}

/// The first line in which a result differs.
fn difference(expected: &str, found: &str) -> String {
    let mut lines = expected.lines().zip(found.lines());
    let (expected_lines, found_lines) = (expected.lines().count(), found.lines().count());
    let first = lines.find(|(one, other)| one != other);
    let shorten = |line: &str| line.chars().take(160).collect::<String>();
    first.map_or_else(
        || format!(" there are {found_lines} lines and not {expected_lines}"),
        |(one, other)| format!(" there is\n    {}\n  and not\n    {}", shorten(other), shorten(one)),
    )
}

fn swept(operation: &Operation) {
    let Some(stage) = Stage::new(operation) else { return };

    let (wrong, met) = stage.sweep();

    tell(&format!("{}: {met} calls failed in turn", operation.name));
    assert!(wrong.is_empty(), "{} of {met}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(met >= operation.at_least, "{met}");
}

#[test]
fn any_call_of_an_import_may_fail() {
    swept(&operation::IMPORT);
}

#[test]
fn any_call_about_the_source_of_an_import_may_fail() {
    swept(&operation::IMPORT_SOURCE);
}

#[test]
fn any_call_about_a_sub_agent_of_an_import_may_fail() {
    swept(&operation::IMPORT_SUBAGENTS);
}

#[test]
fn any_call_of_a_backup_may_fail() {
    swept(&operation::BACKUP);
}

#[test]
fn any_call_of_a_restore_may_fail() {
    swept(&operation::RESTORE);
}

#[test]
fn any_call_of_a_purge_may_fail() {
    swept(&operation::PURGE);
}

#[test]
fn any_call_of_a_purge_of_plain_files_may_fail() {
    swept(&operation::PURGE_FILES);
}

#[test]
fn any_call_of_a_rotation_may_fail() {
    swept(&operation::ROTATE);
}

#[test]
fn any_call_of_an_encryption_may_fail() {
    swept(&operation::ENCRYPT);
}

#[test]
fn any_call_of_a_decryption_may_fail() {
    swept(&operation::DECRYPT);
}

#[test]
fn any_call_of_a_hand_off_may_fail() {
    swept(&operation::HANDOFF);
}

#[test]
fn any_call_of_a_fork_may_fail() {
    swept(&operation::FORK);
}

#[test]
fn any_call_of_a_rename_may_fail() {
    swept(&operation::RENAME);
}

#[test]
fn any_call_of_a_rename_in_plain_files_may_fail() {
    swept(&operation::RENAME_FILES);
}

#[test]
fn any_call_of_an_export_may_fail() {
    swept(&operation::EXPORT);
}
