//! `rejoin purge`: gone with every trace, and told.

use std::fs;
use std::path::Path;

use rejoin::{EventKind, PurgeReason};
use rusqlite::Connection;
use serde_json::json;

use crate::past::ask;
use crate::terminal::Terminal;
use crate::world::{Outcome, World};

const SENTINEL: &str = "quetzalcoatlus";

/// The files below a directory that hold the sentinel.
fn holding(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path));
        } else if fs::read(&path).unwrap().windows(SENTINEL.len()).any(|part| part == SENTINEL.as_bytes()) {
            found.push(path.file_name().unwrap().to_string_lossy().into_owned());
        }
    }
    found
}

fn data(world: &World) -> std::path::PathBuf {
    world.path("home/.local/share/rejoin")
}

#[test]
fn a_purge_reports_and_the_events_and_the_audit_log_tell_its_reason() {
    let world = World::new();
    let mut trip = world.conversation("Lisbon");
    ask(&mut trip, "Where to eat?", "In Alfama.");
    let bytes = trip.conversation().unwrap().bytes;

    let outcome = world.rejoin(["purge", "lisbon", "--reason", "privacy-policy-change", "--yes"]).run();

    let told = format!("1 conversation purged (2 messages, {bytes} B), reason privacy-policy-change.\n");
    assert_eq!(outcome, Outcome::answer(&told));
    let events = world.archive().events_after(0).next(std::time::Duration::ZERO).unwrap();
    let reason = "privacy-policy-change".to_owned();
    let completed = EventKind::PurgeCompleted {
        reason,
        conversations: 1,
        messages: 2,
        bytes,
        failures: 0,
        is_erased: true,
    };
    let last = events.last().unwrap();
    assert_eq!(last.kind, completed);
    let line = world.rejoin(["events", "--json"]).run().stdout.lines().last().unwrap().to_owned();
    let expected = json!({
        "stamp": last.stamp, "event": "privacy.purge.completed", "at": last.at, "conversation": trip.id(),
        "conversations": 1, "messages": 2, "bytes": bytes, "failures": 0, "erased": true, "reason": "privacy-policy-change",
    });
    assert_eq!(serde_json::from_str::<serde_json::Value>(&line).unwrap(), expected);
    let audit = world.rejoin(["audit", "--json"]).run().json();
    let actions: Vec<&str> =
        audit["items"].as_array().unwrap().iter().map(|item| item["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["purge-completed", "purged"]);
}

#[test]
fn the_runs_of_sub_agents_go_along() {
    let world = World::new();
    let mut trip = world.conversation("Lisbon");
    let [question, _] = ask(&mut trip, "Where to eat?", "In Alfama.");
    let archive = world.archive();
    let mut run = archive.subagents().start(trip.id(), question, "scout", "1").unwrap();
    let [asked, _] = ask(&mut run, "Look.", "Looked.");
    archive.subagents().start(run.id(), asked, "deeper", "1").unwrap();

    let report = world.rejoin(["purge", "lisbon", "--yes", "--json"]).run().json();

    assert_eq!((&report["purged"], &report["messages"]), (&json!(3), &json!(4)));
}

#[test]
fn scripts_read_the_report() {
    let world = World::new();
    let trip = world.conversation("Lisbon");

    let report = world.rejoin(["purge", "lisbon", "--yes", "--json"]).run().json();

    let expected = json!({
        "reason": "user-requested", "started_at": report["started_at"], "completed_at": report["completed_at"],
        "purged": 1, "conversations": [trip.id()], "messages": 0, "bytes": 0, "erased": true, "keys": null,
        "failures": [],
    });
    assert_eq!(report, expected);
}

#[test]
fn nothing_is_purged_without_consent_or_for_another_reason_than_the_five() {
    let world = World::new();
    world.conversation("Lisbon");

    let outcomes = [
        world.rejoin(["purge", "lisbon"]).run().code,
        world.rejoin(["purge", "lisbon", "--reason", "boredom", "--yes"]).run().code,
        world.rejoin(["purge", "lisbon", "porto", "--yes"]).run().code,
        world.rejoin(["purge", "--everything"]).run().code,
        world.rejoin(["purge"]).run().code,
    ];

    let refused = world.rejoin(["purge", "nothere", "--yes"]).run().code;
    assert_eq!(outcomes.map(|code| code == 0), [false; 5]);
    assert_eq!((refused, world.archive().reader().count(&Default::default()).unwrap()), (1, 1));
}

#[test]
fn everything_goes_and_the_log_of_it_stays() {
    let world = World::of_files();
    for title in ["Lisbon", "Porto"] {
        ask(&mut world.conversation(title), SENTINEL, SENTINEL);
    }

    let outcome = world.rejoin(["purge", "--everything", "--reason", "workspace-reset", "--yes"]).run();

    assert!(outcome.stdout.starts_with("2 conversations purged (4 messages, "), "{outcome:?}");
    assert_eq!(holding(&data(&world)), Vec::<String>::new());
    assert_eq!(world.archive().audit().query(&Default::default()).unwrap().len(), 3);
}

#[test]
fn a_talk_at_the_prompt_leaves_nothing_after_its_purge() {
    let world = World::new();
    let Some(terminal) = Terminal::open(&world, 100, 40) else { return };
    terminal.enter("rejoin");
    terminal.wait_for_last(">");
    terminal.enter(&format!("my {SENTINEL} is green"));
    terminal.wait_for(SENTINEL);
    terminal.wait_for_last(">");
    terminal.enter("/quit");
    terminal.wait_for_last("$");
    let id = world.archive().list(&Default::default()).unwrap().items[0].id;
    world.rejoin(["search", SENTINEL]).run();
    let before = holding(&data(&world)).is_empty();

    let outcome = world.rejoin(["purge", &id.to_string(), "--yes"]).run();

    assert_eq!((before, outcome.code, holding(&data(&world))), (false, 0, Vec::new()));
}

#[test]
fn the_next_purge_finishes_one_that_was_cut_off_also_where_it_finds_no_conversation() {
    let world = World::new();
    let mut trip = world.conversation("Lisbon");
    ask(&mut trip, SENTINEL, "In Alfama.");
    // Somebody reads, so the log is not cut. Afterwards the store stays open, so that nobody folds the log.
    let archive = world.archive();
    let reader = Connection::open(world.store()).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM conversation").unwrap();
    archive.removal().purge(&[trip.id()], PurgeReason::UserRequested, &mut |_| ());
    reader.execute_batch("ROLLBACK").unwrap();
    let before = holding(&data(&world)).is_empty();

    let doctor = world.rejoin(["doctor"]).run();
    let outcome = world.rejoin(["purge", &trip.id().to_string(), "--yes"]).run();

    assert_eq!((before, outcome.code, holding(&data(&world))), (false, 1, Vec::new()));
    assert!(outcome.stderr.contains("no conversation"), "{outcome:?}");
    assert!(doctor.stdout.contains("not erased from every file yet"), "{doctor:?}");
    assert!(!world.rejoin(["doctor"]).run().stdout.contains("not erased from every file yet"));
}
