//! The program with a store of plain files: the same commands, the same answers.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rejoin::Message;
use serde_json::Value;

use crate::feed::Feed;
use crate::ledger::line;
use crate::past::{ask, minutes_ago};
use crate::strace::{Call, Strace};
use crate::world::{Outcome, World};

/// What a run prints, when it succeeds.
fn told<const N: usize>(world: &World, arguments: [&str; N]) -> String {
    let outcome = world.rejoin(arguments).run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    outcome.stdout
}

fn json<const N: usize>(world: &World, arguments: [&str; N]) -> Value {
    serde_json::from_str(&told(world, arguments)).unwrap()
}

#[test]
fn a_conversation_is_started_grown_forked_found_and_deleted() {
    let world = World::of_files();
    let id = world.started("Lisbon trip");
    let first = told(&world, ["append", "Where to eat?"]).trim().to_owned();
    world.append(&id, "{\"role\":\"assistant\",\"content\":\"Try a tasca.\"}\n");
    told(&world, ["fork", &first, "--title", "budget"]);
    told(&world, ["append", "--parent", &first, "and cheaper please"]);

    let listed = json(&world, ["list", "--json"]);
    let found = told(&world, ["search", "tasca"]);
    let shown = told(&world, ["show", "lisbon-trip"]);
    let tree = told(&world, ["tree", "lisbon-trip"]);
    told(&world, ["delete", "lisbon-trip", "--yes"]);

    assert_eq!(listed["items"][0]["messages"], 3);
    assert!(found.contains("Try a tasca."), "{found}");
    assert!(
        shown.contains("and cheaper please") && tree.contains("(branch: budget, current)"),
        "{shown}{tree}"
    );
    assert_eq!(json(&world, ["list", "--json"])["items"], Value::Array(vec![]));
    assert_eq!(fs::read_dir(world.store().join(project_folder(&world))).unwrap().count(), 1);
}

/// The titles that the file of a conversation still has after two changes of it.
fn titles_left(repack_every: &str) -> Vec<&'static str> {
    let world = World::of_files();
    told(&world, ["config", "set", "vault.repack_every", repack_every]);
    let id = world.started("quokka");
    told(&world, ["rename", &id, "wombat"]);
    told(&world, ["rename", &id, "Lisbon"]);

    let file = world.store().join(project_folder(&world)).join(format!("{id}.jsonl"));
    let text = fs::read_to_string(file).unwrap();
    ["quokka", "wombat", "Lisbon"].into_iter().filter(|title| text.contains(title)).collect()
}

#[test]
fn a_file_is_written_anew_after_as_many_changes_as_the_configuration_says() {
    assert_eq!(titles_left("2"), ["Lisbon"]);
    assert_eq!(titles_left("5"), ["quokka", "wombat", "Lisbon"]);
    assert_eq!(titles_left("0"), ["quokka", "wombat", "Lisbon"]);
}

#[test]
fn cleaning_really_deletes_the_files() {
    let world = World::of_files();
    let archive = world.archive_at(minutes_ago(8 * 24 * 60));
    ask(&mut world.conversation_in(&archive, "Old"), "Where to eat?", "In Alfama.");
    world.conversation_in(&world.archive(), "New").append(Message::user("And now?")).unwrap();
    let holds = |text: &str| {
        let files = files_below(&world.store());
        files.iter().filter(|file| String::from_utf8_lossy(&fs::read(file).unwrap()).contains(text)).count()
    };
    let before = (holds("In Alfama."), holds("And now?"));

    let outcome = world.rejoin(["clean", "--yes"]).run();

    assert!(outcome.stdout.starts_with("1 conversation deleted, "), "{outcome:?}");
    assert!(before.0 > 0 && before.1 > 0, "{before:?}");
    // The index of lists, which has previews, is written when there is time for it.
    assert_eq!(holds("In Alfama."), 0);
    assert!(holds("And now?") >= before.1, "{before:?}");
}

/// Every file of a store.
fn files_below(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

fn project_folder(world: &World) -> String {
    world.path("project").to_str().unwrap().trim_start_matches('/').replace('/', "_")
}

#[test]
fn a_talk_is_kept_and_taken_up_again() {
    let world = World::of_files();

    told(&world, ["my bicycle is green"]);
    let answer = told(&world, ["--resume", "what colour is my bicycle?"]);

    assert!(answer.contains("You said \"my bicycle is green\""), "{answer}");
    assert_eq!(json(&world, ["list", "--json"])["items"][0]["messages"], 4);
}

#[test]
fn the_doctor_finds_nothing_wrong_and_then_a_line_that_is() {
    let world = World::of_files();
    let id = world.started("Lisbon");
    world.append(&id, "{\"role\":\"user\",\"content\":\"one\"}\n{\"role\":\"user\",\"content\":\"two\"}\n");
    let sound = world.rejoin(["doctor"]).run();
    let path = world.store().join(project_folder(&world)).join(format!("{id}.jsonl"));
    let damaged = fs::read_to_string(&path).unwrap().replacen("\"role\":\"user\"", "\"role\":user", 1);
    fs::write(&path, damaged).unwrap();

    let found = world.rejoin(["doctor"]).run();

    assert!(sound.stdout.contains("\nNo problems"), "{}", sound.stdout);
    assert_eq!(found.code, 1);
    assert!(found.stdout.contains("line 2 of `[world]/"), "{}", found.stdout);
}

#[test]
fn a_directory_given_by_its_flag_is_a_store_of_plain_files() {
    let world = World::new();

    told(&world, ["--conversation-dir", "talks", "append", "hello over there"]);

    let listed = json(&world, ["--store", "jsonl:talks", "list", "--json"]);
    assert_eq!(listed["items"][0]["messages"], 1);
}

#[test]
fn a_store_of_plain_files_says_how_it_is_copied() {
    let world = World::of_files();
    world.started("Lisbon");

    let outcomes = [world.rejoin(["backup", "my copy"]).run(), world.rejoin(["restore", "my copy"]).run()];

    let place = "[world]/home/.local/share/rejoin/conversations";
    let error = |verb: &str, hint: &str| {
        Outcome::failure(
            1,
            &format!(
                "error: a store of plain files cannot be {verb}; it is the directory `{place}`, \
                 which can be copied like any other\nhint: {hint}\n"
            ),
        )
    };
    let check = format!(
        "run `cp -a {place} 'my copy'`, and `rejoin --store 'jsonl:my copy' doctor` to check the copy"
    );
    let put = format!("run `mv {place} {place}.old` and `cp -a 'my copy' {place}` while no program uses it");
    assert_eq!(outcomes, [error("copied to a file", &check), error("restored", &put)]);
}

#[test]
fn a_copied_directory_is_a_store_with_the_same_conversations() {
    let world = World::of_files();
    let id = world.started("Lisbon");
    world.append(&id, "{\"role\":\"user\",\"content\":\"one\"}\n");
    let copied = Command::new("cp").arg("-a").arg(world.store()).arg(world.path("copy")).status().unwrap();
    let url = format!("jsonl:{}", world.path("copy").display());

    let doctor = world.rejoin(["--store", &url, "doctor"]).run();
    told(&world, ["--store", &url, "append", "and two"]);
    let shown = json(&world, ["--store", &url, "show", "--json"]);

    assert_eq!((copied.code(), doctor.code), (Some(0), 0), "{}", doctor.stdout);
    assert_eq!(shown["messages"].as_array().map(Vec::len), Some(2), "{shown}");
}

#[test]
fn each_receipt_follows_one_sync_of_its_conversations_file() {
    let Some(strace) = Strace::find() else { return };
    let world = World::of_files();
    Feed::start(world.program(&["append", "--jsonl", "-"]), (0..1).map(line)).end();
    let trace = world.path("trace");
    let calls = "write,pwrite64,fsync,fdatasync";
    let program = strace.record(&world.program(&["append", "--jsonl", "-"]), calls, &trace);

    let ended = Feed::start(program, (1..6).map(line)).end();

    let calls = Call::read(&trace);
    let is_answer = |call: &Call| call.name == "write" && call.descriptor() == Some(1);
    let steps: Vec<Vec<&str>> = calls
        .split_inclusive(is_answer)
        .filter(|step| step.last().is_some_and(is_answer))
        .map(|step| {
            step.iter()
                .filter(|call| call.is_about(".jsonl") || is_answer(call))
                .map(|call| call.name.as_str())
                .collect()
        })
        .collect();
    // The note, the lines, their sync, the mark of the note, and only then the answer.
    let expected = vec!["pwrite64", "pwrite64", "fdatasync", "pwrite64", "write"];
    assert_eq!((ended.code, steps), (Some(0), vec![expected; 5]));
}

#[test]
fn a_new_conversation_with_its_reply_takes_three_syncs_and_one_of_its_folder() {
    let Some(strace) = Strace::find() else { return };
    let world = World::of_files();
    world.rejoin(["the store is there"]).run();
    let trace = world.path("trace");
    let mut program =
        strace.record(&world.program(&["where do we eat in Lisbon?"]), "fsync,fdatasync", &trace);

    let output = program.output().unwrap();

    assert!(output.status.success());
    let calls = Call::read(&trace);
    let is_of_a_file = |call: &&Call| call.path().to_string_lossy().contains(".jsonl");
    let (files, folders): (Vec<_>, Vec<_>) = calls.iter().partition(is_of_a_file);
    assert_eq!((files.len(), folders.len()), (3, 1), "{calls:?}");
}

#[test]
fn a_message_takes_one_sync_wherever_it_goes() {
    let Some(strace) = Strace::find() else { return };
    let world = World::of_files();
    world.rejoin(["append", "the store is there"]).run();
    let other = world.started("Lisbon");
    world.append(&other, "{\"role\":\"user\",\"content\":\"one\"}\n");
    world.started("Porto");
    let trace = world.path("trace");
    let program = world.program(&["append", &other, "where do we eat?"]);

    let output = strace.record(&program, "fsync,fdatasync", &trace).output().unwrap();

    assert!(output.status.success());
    assert_eq!(Call::read(&trace).len(), 1);
    assert_eq!(told(&world, ["show", "--json"]), told(&world, ["show", &other, "--json"]));
}

#[test]
fn nobody_else_may_read_and_the_owner_may_write_under_any_umask() {
    for umask in ["0", "022", "0277", "0777"] {
        let world = World::of_files();
        let program = world.program(&["append", "hello"]);
        let mut shell = Command::new("sh");
        shell
            .arg("-c")
            .arg(format!("umask {umask}; exec \"$0\" append 'hello there'"))
            .arg(program.get_program());
        shell.current_dir(program.get_current_dir().unwrap()).env_clear();
        shell.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let code = shell.output().unwrap().status.code();
        let listed = world.rejoin(["list"]).run().code;

        let modes = |path: &Path| (path.is_dir(), path.metadata().unwrap().mode() & 0o777);
        let all: BTreeSet<_> = everything(&world.store()).iter().map(|path| modes(path)).collect();

        assert_eq!((code, listed), (Some(0), 0), "umask {umask}");
        assert_eq!(all, BTreeSet::from([(false, 0o600), (true, 0o700)]), "umask {umask}");
    }
}

#[test]
fn a_long_conversation_is_read_piece_by_piece() {
    let world = World::of_files();
    let id = world.started("Lisbon");
    let message = format!("{{\"role\":\"user\",\"content\":\"{}\"}}\n", "word ".repeat(200_000));
    world.append(&id, &message.repeat(40));

    let mut child = world.program(&["append", "--jsonl", "-"]).spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(b"{\"role\":\"user\",\"content\":\"next\"}\n").unwrap();
    let mut receipt = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut receipt).unwrap();
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    drop(child.stdin.take());
    let code = child.wait().unwrap().code();

    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kilobytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert_eq!(code, Some(0));
    // The file has 40 MB, a message one.
    assert!(kilobytes < 34_000, "{kilobytes} kB");
}

#[test]
fn what_was_cut_off_by_a_kill_is_mended_and_told() {
    let world = World::of_files();
    let id = world.started("Lisbon");
    world.append(&id, "{\"role\":\"user\",\"content\":\"one\"}\n");
    let path = world.store().join(project_folder(&world)).join(format!("{id}.jsonl"));
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, whole.clone() + "{\"timestamp\":\"2026").unwrap();

    let found = world.rejoin(["verify"]).run();
    world.append(&id, "{\"role\":\"user\",\"content\":\"two\"}\n");
    let mended = world.rejoin(["verify"]).run();

    assert_eq!((found.code, mended.code), (0, 0), "{}{}", found.stdout, mended.stdout);
    let told =
        ["ends with", "keeps"].map(|what| format!("{what} 18 bytes of a turn that was never acknowledged"));
    assert!(found.stdout.contains("No damage found.\nNothing is lost: `"), "{}", found.stdout);
    let said = [found, mended].map(|run| told.each_ref().map(|told| run.stdout.contains(told)));
    assert_eq!(said, [[true, false], [false, true]]);
    assert!(fs::read_to_string(&path).unwrap().contains("\"type\":\"repaired\",\"bytes\":18"));
}

/// A directory and all that is below it.
fn everything(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let below = entries.flat_map(|path| if path.is_dir() { everything(&path) } else { vec![path] });
    below.chain([directory.to_owned()]).collect()
}
