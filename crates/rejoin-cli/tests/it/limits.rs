//! Limits that the system sets for a process: reaching one is an error with a way on, and loses nothing.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, Stdio};

use crate::feed::Feed;
use crate::ledger::{Ledger, line};
use crate::world::World;

/// The same run under a limit of the shell, such as `-f 100`.
pub(crate) fn limited(program: &Command, limit: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("ulimit {limit}; exec \"$0\" \"$@\"")]);
    shell.arg(program.get_program()).args(program.get_args());
    shell.env_clear().envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.current_dir(program.get_current_dir().unwrap());
    shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    shell
}

fn output(mut command: Command) -> Output {
    command.stdin(Stdio::null()).output().unwrap()
}

const LARGER: &str = "hint: raise the limit on the size of files, for example with `ulimit -f unlimited`, and try again; \
                      stored conversations are safe\n";

/// Appends until a file may not grow any more; what was acknowledged is there,
/// and without the limit it goes on.
fn append_to_the_limit(world: &World, blocks: &str) {
    let mut ledger = Ledger::default();

    let program = limited(&world.program(&["append", "--jsonl", "-"]), blocks);
    let stopped = Feed::start(program, (0..20_000).map(line)).end();
    let audit = ledger.audit(&world.archive(), &stopped.receipts);

    assert_eq!(stopped.code, Some(1), "{}", stopped.stderr);
    assert!(stopped.stderr.ends_with(LARGER), "{}", stopped.stderr);
    assert!(!stopped.receipts.is_empty() && stopped.receipts.len() < 20_000);
    assert_eq!(audit, Ok(()));
    let rest = Feed::start(world.program(&["append", "--jsonl", "-"]), (0..5).map(line)).end();
    assert_eq!((rest.code, rest.receipts.len()), (Some(0), 5), "{}", rest.stderr);
}

#[test]
fn a_file_that_may_not_grow_is_an_error_and_loses_nothing() {
    // The log has 6 MiB from the beginning; the main file reaches the limit when the log is folded.
    append_to_the_limit(&World::new(), "-f 13000");
}

#[test]
fn a_plain_file_that_may_not_grow_is_an_error_and_loses_nothing() {
    append_to_the_limit(&World::of_files(), "-f 200");
}

#[test]
fn a_backup_that_may_not_grow_is_an_error_and_leaves_nothing() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);

    let stopped = output(limited(&world.program(&["backup", "monday.db"]), "-f 64"));
    let left = fs::read_dir(world.path("project")).unwrap().count();
    let again = world.rejoin(["backup", "monday.db"]).run();

    let told = String::from_utf8(stopped.stderr).unwrap();
    assert_eq!((stopped.status.code(), left, again.code), (Some(1), 1, 0), "{told}");
    assert!(told.ends_with(LARGER), "{told}");
}

#[test]
fn too_many_open_files_are_told_with_the_limit_to_raise() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);

    let outcomes = [4, 5].map(|files| output(limited(&world.program(&["list"]), &format!("-n {files}"))));

    for outcome in outcomes {
        let told = String::from_utf8(outcome.stderr).unwrap();
        assert_eq!(outcome.status.code(), Some(1), "{told}");
        assert!(told.contains("Too many open files"), "{told}");
        assert!(told.ends_with(
            "hint: raise the limit on open files, for example with `ulimit -n 1024`, and try again\n"
        ));
    }
}

#[test]
fn memory_that_runs_out_is_told_and_loses_nothing() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);
    let long = "x".repeat(8 << 20);
    world.write("project/long.jsonl", &format!("{{\"role\":\"user\",\"content\":\"{long}\"}}\n"));
    // As many MiB as the program takes when it does nothing, and fewer more than the message takes.
    let starts = |least: u64| {
        output(limited(&world.program(&["--version"]), &format!("-v {}", least << 10))).status.success()
    };
    let sizes: Vec<u64> = (0..1024).collect();
    let least = sizes.partition_point(|size| !starts(*size)) as u64;

    let outcomes = [8, 10, 12, 14, 16, 18].map(|more| {
        let limit = format!("-v {}", (least + more) << 10);
        let mut program = limited(&world.program(&["append", "lisbon", "--jsonl", "-"]), &limit);
        program.stdin(fs::File::open(world.path("project/long.jsonl")).unwrap()).output().unwrap()
    });

    let failed: Vec<&Output> = outcomes.iter().filter(|outcome| !outcome.status.success()).collect();
    assert!(!failed.is_empty());
    for outcome in &failed {
        let told = String::from_utf8_lossy(&outcome.stderr);
        assert!(told.contains("memory"), "{:?} {told}", outcome.status);
    }
    let verified = world.rejoin(["verify", "--json"]).run();
    // What was stored before the memory ran out may be there without a receipt.
    let stored = verified.json()["messages"].as_u64().unwrap();
    let (acknowledged, all) = (1 + outcomes.len() - failed.len(), 1 + outcomes.len());
    assert_eq!(verified.code, 0, "{}", verified.stdout);
    assert!((acknowledged as u64..=all as u64).contains(&stored), "{}", verified.stdout);
}

#[test]
fn programs_that_are_started_get_the_default_back() {
    let world = World::new();
    let told = world.path("status");
    world.write(
        "editor",
        &format!("#!/bin/sh\ngrep -E 'Sig(Ign|Cgt)' /proc/self/status > {}\n", told.display()),
    );
    fs::set_permissions(world.path("editor"), Permissions::from_mode(0o755)).unwrap();
    let editor = world.path("editor");

    let outcome = world.rejoin(["config", "edit"]).variable("EDITOR", editor.to_str().unwrap()).run();

    let status = fs::read_to_string(&told).unwrap_or_else(|_| panic!("{outcome:?}"));
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:\t")).unwrap();
    let ignored = u64::from_str_radix(ignored, 16).unwrap();
    // SIGPIPE and SIGXFSZ by their numbers on Linux.
    assert_eq!([13, 25].map(|signal| ignored >> (signal - 1) & 1), [0, 0], "{status}");
}

#[test]
fn a_reader_that_goes_away_ends_a_command_quietly() {
    let world = World::new();
    world.talk("Lisbon", &[&"Where to eat? ".repeat(20_000)]);
    let mut program = world.program(&["show", "lisbon"]);
    let mut child = program.stdin(Stdio::null()).spawn().unwrap();

    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();

    let told = String::from_utf8(ended.stderr).unwrap();
    assert_eq!((ended.status.code(), ended.status.signal(), told.as_str()), (Some(0), None, ""));
}
