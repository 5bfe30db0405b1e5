//! What an import cannot read is named, the exit code says so, and the source is tried again.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::attacks::attempt::{Attempt, Target, assert_all_fail};
use crate::planting::{NOBODY, is_root};
use crate::world::{Outcome, World};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../rejoin/tests/fixtures");

const CLAUDE: &str = "c833a56b-45d4-4ced-8b45-47d6a5359b48";
const RUN: &str = "subagents/agent-a92545b2c32de9584";
const CODEX: &str = "codex/sessions/2026/11/15";
const FIRST: &str = "rollout-2026-11-15T17-55-23-01a1e059-7bf2-7302-8c1e-a7466ee2f7dc.jsonl";
const CORTEXT: &str = "cortext/conversations/2025-11-22/001-brainstorm-topic";

/// Sessions of other programs, which belong to an ordinary user.
fn history() -> World {
    let world = World::new();
    let copies = [
        ("claude/session-with-agent", "claude".to_owned()),
        ("codex/forked-0.166", CODEX.to_owned()),
        ("gemini", "gemini".to_owned()),
        ("cortext", "cortext".to_owned()),
    ];
    for (from, to) in copies {
        copy(&Path::new(FIXTURES).join(from), &world.path("project").join(to));
    }
    world.write("project/codex/session_index.jsonl", "{\"id\":\"x\",\"thread_name\":\"Lisbon\"}\n");
    world.give_to(NOBODY);
    world
}

fn copy(from: &Path, to: &Path) {
    if from.is_file() {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
        return;
    }
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        copy(&entry.path(), &to.join(entry.file_name()));
    }
}

/// Imports as that user, or as root, whom nothing is forbidden.
fn import(world: &World, from: &str, target: Target) -> Outcome {
    let import = world.rejoin(["import", from]);
    match target {
        Target::Guarded => import.by_user(NOBODY).run(),
        Target::Control => import.run(),
    }
}

/// An import of `from` while `part` is forbidden. It succeeds when nobody is told.
fn forbidden<'a>(from: &'a str, part: &'a str) -> Attempt<'a> {
    Attempt::new(part, move |target| {
        let world = history();
        let part = world.path("project").join(part);
        let before = fs::metadata(&part).unwrap().permissions();
        fs::set_permissions(&part, Permissions::from_mode(0o000)).unwrap();

        let outcome = import(&world, from, target);
        fs::set_permissions(&part, before).unwrap();
        let again = import(&world, from, target);

        // What could not be read the first time is not taken for done.
        let is_retried = again.code == 0 && again.stdout.contains("Imported ");
        outcome.code == 0 || !(outcome.stderr + &outcome.stdout).contains("ermission denied") || !is_retried
    })
}

#[test]
fn an_import_of_which_a_part_cannot_be_read_says_so_and_is_tried_again() {
    if !is_root("act for another user") {
        return;
    }
    let claude = |part: &str| format!("claude/{CLAUDE}/{part}");
    let (runs, run, meta) =
        (claude("subagents"), claude(&format!("{RUN}.jsonl")), claude(&format!("{RUN}.meta.json")));
    let (beginning, sessions) = (format!("{CODEX}/{FIRST}"), format!("{CORTEXT}/.session/session.json"));
    let (messages, markdown) =
        (format!("{CORTEXT}/.session/messages.jsonl"), format!("{CORTEXT}/brainstorm.md"));

    assert_all_fail(&[
        forbidden("claude", &runs),
        forbidden("claude", &claude("")),
        forbidden("claude", &run),
        forbidden("claude", &meta),
        forbidden("codex", "codex/session_index.jsonl"),
        forbidden("codex", &beginning),
        forbidden("codex", CODEX),
        forbidden("gemini", "gemini/tmp/gem2/.project_root"),
        forbidden("gemini", "gemini/tmp/gem2/chats"),
        forbidden("cortext", &sessions),
        forbidden("cortext", &messages),
        forbidden("cortext", &markdown),
    ]);
}
