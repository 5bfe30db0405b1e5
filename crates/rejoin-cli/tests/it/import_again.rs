//! Importing again: what did not change is not read, and what was deleted here stays deleted.

use std::fs::{self, File};
use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::import::{SESSION, session};
use crate::world::World;

/// Files rest for two seconds before they count as unchanged.
const PATIENCE: Duration = Duration::from_secs(30);

fn place(world: &World) -> std::path::PathBuf {
    world.path(format!("sessions/{SESSION}.jsonl"))
}

/// A world with an imported session whose file has rested.
fn imported() -> World {
    let world = World::new();
    world.write(&format!("sessions/{SESSION}.jsonl"), &session(&world));
    let began = Instant::now();
    while import(&world)["unchanged"] != 1 {
        assert!(began.elapsed() < PATIENCE, "it is read again and again");
    }
    world
}

fn import(world: &World) -> Value {
    world.rejoin(["import", "../sessions", "--json"]).run().json()
}

fn grow(world: &World) {
    let line = json!({"type": "user", "uuid": "u2", "parentUuid": "a1", "sessionId": SESSION,
        "timestamp": "2026-01-02T03:04:08.000Z", "message": {"role": "user", "content": "And to sleep?"}});
    writeln!(File::options().append(true).open(place(world)).unwrap(), "{line}").unwrap();
}

#[test]
fn what_did_not_change_is_not_read_again_and_what_grew_is() {
    let world = imported();

    let same = import(&world);
    grow(&world);
    let grown = import(&world);

    assert_eq!((&same["files"], &same["unchanged"]), (&json!([]), &json!(1)));
    assert_eq!(
        (&grown["files"][0]["conversations"][0]["added"], &grown["unchanged"]),
        (&json!(1), &json!(0))
    );
}

#[test]
fn a_file_that_is_named_is_always_read() {
    let world = imported();

    let told = world.rejoin(["import", place(&world).to_str().unwrap(), "--json"]).run().json();

    assert_eq!((told["files"].as_array().unwrap().len(), &told["unchanged"]), (1, &json!(0)));
}

#[test]
fn a_conversation_that_was_deleted_stays_deleted_until_its_file_is_named() {
    let world = imported();
    world.rejoin(["delete", "lisbon", "--yes"]).run();
    grow(&world);

    let passed = world.rejoin(["import", "../sessions"]).run();
    let named = world.rejoin(["import", place(&world).to_str().unwrap()]).run();

    let expected = "Nothing new in 1 file.\n1 conversation was deleted here before and not imported; \
                    name the file to bring it back:\n  [world]/sessions/SESSION.jsonl\n";
    assert_eq!(passed.naming(&[(SESSION, "SESSION")]).stdout, expected);
    assert_eq!(named.stdout, "Imported 3 messages of 1 new conversation from 1 file.\n");
}

#[test]
fn a_file_that_was_replaced_is_read() {
    let world = imported();
    let text = fs::read_to_string(place(&world)).unwrap().replace("A tasca.", "A diner.");
    fs::write(world.path("other"), text).unwrap();
    fs::rename(world.path("other"), place(&world)).unwrap();

    let told = import(&world);

    assert_eq!(told["files"][0]["conversations"][0]["changed"], 1);
}
