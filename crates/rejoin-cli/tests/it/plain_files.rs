//! The program with a store of plain files: the same commands, the same answers.

use std::fs;

use serde_json::Value;

use crate::feed::Feed;
use crate::ledger::line;
use crate::strace::{Call, Strace};
use crate::world::World;

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

    let outcome = world.rejoin(["backup", "copy.db"]).run();

    let expected = "error: a store of plain files cannot be copied to a file; copy the directory \
                    `[world]/home/.local/share/rejoin/conversations` while nothing is written to it\n";
    assert_eq!((outcome.code, outcome.stdout.as_str()), (1, ""));
    assert!(outcome.stderr.starts_with(expected), "{}", outcome.stderr);
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
    // The note, the lines, their sync, and only then the answer.
    assert_eq!((ended.code, steps), (Some(0), vec![vec!["pwrite64", "pwrite64", "fdatasync", "write"]; 5]));
}
