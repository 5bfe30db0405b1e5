//! `rejoin import`: what it says, and that the library is wired to it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::planting::{NOBODY, is_root};
use crate::world::{Outcome, World};

pub(crate) const SESSION: &str = "c833a56b-45d4-4ced-8b45-47d6a5359b48";

/// A session of two messages in the world's project.
pub(crate) fn session(world: &World) -> String {
    let project = world.path("project");
    let lines = [
        json!({"type": "user", "uuid": "u1", "parentUuid": null, "sessionId": SESSION, "cwd": project,
               "timestamp": "2026-01-02T03:04:05.000Z", "message": {"role": "user", "content": "Where to eat?"}}),
        json!({"type": "assistant", "uuid": "a1", "parentUuid": "u1", "sessionId": SESSION,
               "timestamp": "2026-01-02T03:04:06.000Z",
               "message": {"id": "m1", "model": "m", "content": [{"type": "text", "text": "A tasca."}]}}),
        json!({"type": "custom-title", "customTitle": "Lisbon"}),
    ];
    lines.map(|line| line.to_string() + "\n").concat()
}

fn place() -> String {
    format!("sessions/{SESSION}.jsonl")
}

#[test]
fn a_directory_is_looked_through_and_imported_once() {
    let world = World::new();
    world.started("other");
    world.write(&place(), &session(&world));
    world.write("sessions/notes.txt", "mine");

    let first = world.rejoin(["import", "../sessions"]).run();
    let second = world.rejoin(["import", "../sessions"]).run();

    let told = |stdout: &str| Outcome {
        stdout: stdout.to_owned(),
        stderr: "1 file is in no known format.\n".to_owned(),
        code: 0,
    };
    assert_eq!(first, told("Imported 2 messages of 1 new conversation from 1 file.\n"));
    assert_eq!(second, told("Nothing new in 1 file.\n"));
}

#[test]
fn an_imported_conversation_is_found_read_and_gone_on_with() {
    let world = World::new();
    world.write(&place(), &session(&world));
    world.rejoin(["import", "../sessions"]).run();

    let shown = world.rejoin(["show", "lisbon", "--json"]).run().json();
    let found = world.rejoin(["search", "tasca", "--json"]).run().json();
    let appended = world.rejoin(["append", "lisbon", "And to sleep?", "--json"]).run();

    let project = world.archive().list(&Default::default()).unwrap().items[0].conversation.project.clone();
    assert_eq!(project.as_deref(), world.path("project").to_str());
    assert_eq!((shown.to_string().contains("A tasca."), appended.code), (true, 0), "{appended:?}");
    assert!(found.to_string().contains("tasca"), "{found}");
}

#[test]
fn a_dry_run_tells_and_creates_no_store() {
    let world = World::new();
    world.write(&place(), &session(&world));

    let outcome = world.rejoin(["import", "--dry-run", "../sessions"]).run();

    assert_eq!(outcome, Outcome::answer("Would import 2 messages of 1 new conversation from 1 file.\n"));
    assert!(!world.store().exists());
}

#[test]
fn programs_are_told_everything() {
    let world = World::new();
    world.write(&place(), &(session(&world) + "{\"torn"));

    let mut told = world.rejoin(["import", "--json", "../sessions"]).run().json();

    let file = &mut told["files"][0];
    let conversation = file["conversations"][0].take();
    let path = format!("[world]/{}", place());
    let expected = json!({
        "dry_run": false,
        "files": [{
            "path": path, "format": "claude", "conversations": [null], "deleted": [], "kept_lines": 1, "redacted": [],
            "skipped": 1,
            "reasons": [{"path": path, "line": 4, "why": "the file ends in the middle of this line"}],
        }],
        "unchanged": 0, "failed": [], "unreadable": [], "other_files": 0,
    });
    assert_eq!(told, expected);
    let id = conversation["id"].as_str().unwrap();
    assert_eq!(
        conversation,
        json!({"id": id, "short": crate::world::short(id), "source_id": SESSION, "title": "Lisbon",
               "imported_as": "own", "beside": null, "branch_head": null, "is_new": true, "parent": null, "messages": 2, "added": 2, "grown": 0, "changed": 0})
    );
}

#[test]
fn what_was_skipped_is_told_with_its_line() {
    let world = World::new();
    world.started("other");
    world.write(&place(), &(session(&world) + "broken \u{1b}[2J\n"));

    let outcome = world.rejoin(["import", "../sessions"]).run();

    let expected = format!(
        "Imported 2 messages of 1 new conversation from 1 file.\n1 line was not as expected:\n  \
         [world]/{} line 4: it is not JSON\n",
        place()
    );
    assert_eq!(outcome, Outcome::answer(&expected));
}

#[test]
fn a_file_of_no_known_format_is_refused() {
    let world = World::new();
    world.write("project/notes.txt", "mine");

    let outcome = world.rejoin(["import", "notes.txt"]).run();

    assert_eq!((outcome.code, outcome.stdout.as_str()), (1, ""), "{outcome:?}");
    assert!(
        outcome.stderr.starts_with("error: `[world]/project/notes.txt` is not in a known format ("),
        "{outcome:?}"
    );
    assert!(!world.store().exists());
}

#[test]
fn a_file_that_is_not_of_the_format_that_is_named_is_told() {
    let world = World::new();
    world.started("other");
    world.write("project/notes.txt", "mine");

    let outcome = world.rejoin(["import", "--from", "codex", "notes.txt"]).run();
    let after = world.rejoin(["import", "."]).run();

    let expected = "error: `[world]/project/notes.txt` has no conversation of Codex: it does not start with the messages imported before\n\
                    hint: run `rejoin import [world]/project/notes.txt` to detect its format\n";
    assert_eq!(outcome, Outcome::failure(1, expected));
    assert!(after.stderr.contains("nothing that can be imported is in `[world]/project`"), "{after:?}");
}

#[test]
fn a_directory_without_anything_to_import_is_told() {
    let world = World::new();
    world.write("files/notes.txt", "mine");

    let outcome = world.rejoin(["import", "../files"]).run();

    let expected = "1 file is in no known format.\n\
                    error: nothing that can be imported is in `[world]/files`\n\
                    hint: run `rejoin import --scan` to find the history of other programs\n";
    assert_eq!(outcome, Outcome::failure(1, expected));
    assert!(!world.store().exists());
}

#[test]
fn an_empty_file_is_told() {
    let world = World::new();
    world.write("project/a.jsonl", "");

    let outcome = world.rejoin(["import", "a.jsonl"]).run();

    let expected = "error: `[world]/project/a.jsonl` is empty\n\
                    hint: choose another file, or name its format: \
                    `rejoin import --from FORMAT [world]/project/a.jsonl`\n";
    assert_eq!(outcome, Outcome::failure(1, expected));
}

#[test]
fn a_source_that_is_damaged_does_not_stop_the_others_and_is_not_mistaken_for_the_store() {
    let world = World::new();
    world.started("other");
    world.write(&place(), &session(&world));
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rejoin/tests/fixtures/opencode/export.json");
    let whole = fs::read_to_string(fixture).unwrap();
    world.write("sessions/a.json", &whole[..whole.len() - 100]);

    let both = world.rejoin(["import", "../sessions"]).run();
    let alone = world.rejoin(["import", "../sessions/a.json"]).run();

    assert_eq!(both.stdout, "Imported 2 messages of 1 new conversation from 1 file.\n");
    let hint = "error: 1 of 2 files could not be imported\nhint: nothing of them was imported: ";
    assert!(both.stderr.starts_with(hint), "{both:?}");
    assert!(alone.stderr.contains("it is not an export of opencode"), "{alone:?}");
    assert!(alone.stderr.ends_with("hint: nothing of it was imported\n"), "{alone:?}");
}

#[test]
fn a_file_that_may_not_be_read_is_told() {
    if !is_root("act for another user") {
        return;
    }
    let world = World::new();
    world.write("project/a.jsonl", &session(&world));
    world.give_to(NOBODY);
    fs::set_permissions(world.path("project/a.jsonl"), fs::Permissions::from_mode(0o000)).unwrap();

    let outcome = world.rejoin(["import", "a.jsonl"]).by_user(NOBODY).run();

    let expected = "error: could not read `[world]/project/a.jsonl`: Permission denied (os error 13)\n\
                    hint: run `ls -ld [world]/project/a.jsonl` to see who may read it\n";
    assert_eq!(outcome, Outcome::failure(1, expected));
}

#[test]
fn without_anything_to_import_the_next_step_is_told() {
    let outcome = World::new().rejoin(["import"]).run();

    let expected = "error: nothing to import was named\nhint: run `rejoin import --scan` to find the history of \
                    other programs, or name a file\n";
    assert_eq!(outcome, Outcome::failure(2, expected));
}

#[test]
fn a_path_that_is_missing_is_told() {
    let world = World::new();

    let outcome = world.rejoin(["import", "gone.jsonl"]).run();

    assert_eq!(
        outcome.stderr,
        "error: could not read `[world]/project/gone.jsonl`: No such file or directory (os error 2)\n\
         hint: check the path, or run `rejoin import --scan` to find the history of other programs\n"
    );
}

#[test]
fn a_real_session_and_its_sub_agent_are_imported() {
    let world = World::new();
    world.started("other");
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rejoin/tests/fixtures/claude");

    let outcome = world.rejoin(["import", fixtures.to_str().unwrap(), "--json"]).run().json();

    let counts: Vec<(Value, Value)> = outcome["files"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|file| file["conversations"].as_array().unwrap().clone())
        .map(|one| (one["added"].clone(), one["parent"].is_string().into()))
        .collect();
    // Two compacted sessions, one that was written by hand, and one with a run.
    let expected = [(9, false), (16, false), (8, false), (22, false), (2, true)];
    assert_eq!(counts, expected.map(|(added, is_run)| (json!(added), json!(is_run))));
    assert_eq!(outcome["other_files"], 1, "the description of the sub-agent is a part of it: {outcome}");
    assert!(fs::exists(fixtures).unwrap());
}

#[test]
fn a_run_that_is_found_before_what_started_it_is_linked_all_the_same() {
    const ABOVE: &str = "01a1e059-7bf2-7302-8c1e-a7466ee2f7dc";
    const RUN: &str = "01a1e059-aaf0-7402-a1be-741b1091c000";
    let world = World::new();
    world.started("other");
    let thread = |name: &str, mut meta: Value, role: &str, kind: &str| {
        let time = "2026-11-15T12:00:00.000Z";
        (meta["timestamp"], meta["cwd"]) = (json!(time), json!("/tmp"));
        let first = json!({"timestamp": time, "type": "session_meta", "payload": meta});
        let said = json!({"timestamp": time, "type": "response_item",
            "payload": {"type": "message", "role": role, "content": [{"type": kind, "text": "go"}]}});
        world.write(&format!("sessions/{name}"), &format!("{first}\n{said}\n"));
    };
    thread(&format!("a-{RUN}.jsonl"), json!({"id": RUN, "parent_thread_id": ABOVE}), "user", "input_text");
    thread(&format!("b-{ABOVE}.jsonl"), json!({"id": ABOVE}), "assistant", "output_text");

    world.rejoin(["import", "../sessions"]).run();

    let linked: Vec<bool> = world
        .archive()
        .list(&Default::default())
        .unwrap()
        .items
        .iter()
        .filter(|one| one.conversation.kind == "subagent")
        .map(|one| one.conversation.extra.field("parent").is_some())
        .collect();
    assert_eq!(linked, [true]);
}

#[test]
fn a_name_that_is_not_text_is_told_all_the_same() {
    use std::os::unix::ffi::OsStrExt;
    let world = World::new();
    world.write("sessions/a.jsonl", &session(&world));
    let name = std::ffi::OsStr::from_bytes(b"s\xff.jsonl");
    fs::rename(world.path("sessions/a.jsonl"), world.path("sessions").join(name)).unwrap();

    let told = world.rejoin(["import", "../sessions", "--json"]).run().json();

    let path = told["files"][0]["path"].as_str().unwrap();
    assert!(path.ends_with("/sessions/s\u{fffd}.jsonl"), "{path}");
}
