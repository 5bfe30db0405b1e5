//! `rejoin import --scan`: what is found is shown before anything is read.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use crate::import::{SESSION, session};
use crate::terminal::Terminal;
use crate::world::{Outcome, World};

const ROLLOUT: &str = "rollout-2026-11-15T17-55-23-01a1e059-7bf2-7302-8c1e-a7466ee2f7dc.jsonl";

/// A home in which Claude Code and Codex were used.
fn home() -> World {
    let world = World::new();
    world.write(&format!("home/.claude/projects/-p/{SESSION}.jsonl"), &session(&world));
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rejoin/tests/fixtures/codex/forked-0.166");
    let rollout = fs::read_to_string(fixtures.join(ROLLOUT)).unwrap();
    world.write(&format!("home/.codex/sessions/2026/11/15/{ROLLOUT}"), &rollout);
    world.write("home/.codex/sessions/notes.txt", "mine");
    world
}

/// Programs, places, files and those that are new.
fn places(told: &Value) -> Vec<[Value; 4]> {
    let row = |place: &Value| ["program", "place", "files", "new_files"].map(|name| place[name].clone());
    told["places"].as_array().unwrap().iter().map(row).collect()
}

#[test]
fn a_scan_shows_what_it_found_and_reads_nothing_without_consent() {
    let world = home();

    let outcome = world.rejoin(["import", "--scan"]).run();

    let shown: Vec<Vec<&str>> =
        outcome.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(shown[0], ["program", "place", "files", "size", "newest", "new"]);
    assert_eq!(shown[1][..4], ["Claude", "Code", "~/.claude/projects", "1"]);
    assert_eq!(shown[2][..3], ["Codex", "~/.codex/sessions", "1"]);
    let refused = "error: not running in a terminal\nhint: run `rejoin import --scan --yes` to import it\n";
    assert_eq!((outcome.code, outcome.stderr.as_str()), (1, refused));
    assert!(!world.store().exists());
}

#[test]
fn a_dry_run_of_a_scan_only_shows() {
    let world = home();

    let told = world.rejoin(["import", "--scan", "--dry-run", "--json"]).run().json();

    let home = |below: &str| json!(format!("[world]/home/{below}"));
    assert_eq!(
        places(&told),
        [
            [json!("Claude Code"), home(".claude/projects"), json!(1), json!(1)],
            [json!("Codex"), home(".codex/sessions"), json!(1), json!(1)],
        ]
    );
    assert!(!world.store().exists());
}

#[test]
fn every_answer_to_a_scan_has_every_field() {
    let world = home();
    let fields = |arguments: &[&str]| {
        let told = match arguments {
            [one] => world.rejoin(["import", "--scan", "--json", one]).run(),
            _ => world.rejoin(["import", "--scan", "--json"]).run(),
        };
        let told: Value = serde_json::from_str(told.stdout.lines().next().unwrap()).unwrap();
        told.as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    let dry = fields(&["--dry-run"]);
    let asked = fields(&[]);
    let imported = fields(&["--yes"]);
    // What rests for a while is not looked at again.
    std::thread::sleep(std::time::Duration::from_millis(2_100));
    fields(&["--yes"]);

    let nothing_new = fields(&["--yes"]);

    let expected = ["dry_run", "files", "unchanged", "failed", "unreadable", "other_files", "places"];
    assert_eq!([dry, asked, imported, nothing_new], [expected; 4]);
}

#[test]
fn a_scan_with_consent_imports_what_it_found() {
    let world = home();
    world.started("other");

    let outcome = world.rejoin(["import", "--scan", "--yes"]).run();
    let again = world.rejoin(["import", "--scan", "--yes", "--json"]).run().json();

    let expected = "Imported 10 messages of 2 new conversations from 2 files.\n";
    assert!(outcome.stdout.ends_with(expected), "{outcome:?}");
    assert_eq!(outcome.code, 0);
    let added: u64 =
        again["files"].as_array().unwrap().iter().map(|file| file["added"].as_u64().unwrap_or(0)).sum();
    assert_eq!(added, 0);
}

#[test]
fn a_place_with_two_names_is_read_once() {
    let world = home();
    symlink(world.path("home/.codex"), world.path("elsewhere")).unwrap();

    let told = world
        .rejoin(["import", "--scan", "--dry-run", "--json", "--from", "codex"])
        .variable("CODEX_HOME", world.path("elsewhere").to_str().unwrap())
        .run()
        .json();

    assert_eq!(places(&told), [[json!("Codex"), json!("[world]/home/.codex/sessions"), json!(1), json!(1)]]);
}

#[test]
fn a_machine_without_history_is_told() {
    let outcome = World::new().rejoin(["import", "--scan"]).run();

    assert_eq!((outcome.code, outcome.stdout.as_str()), (0, "No history of other programs was found.\n"));
    assert!(outcome.stderr.starts_with("Searched for Claude Code, "), "{outcome:?}");
}

#[test]
fn a_machine_without_history_of_one_program_is_told() {
    let outcome = World::new().rejoin(["import", "--scan", "--from", "aider"]).run();

    assert_eq!(
        (outcome.stdout.as_str(), outcome.stderr.as_str()),
        ("No history of other programs was found.\n", "Searched for aider.\n")
    );
}

#[test]
fn a_person_is_asked_and_told_what_to_do_next() {
    let world = home();
    world.started("other");
    let Some(terminal) = Terminal::open(&world, 100, 30) else { return };

    terminal.enter("rejoin import --scan");
    let asked = terminal.wait_for("[y/N]");
    terminal.enter("y");
    let done = terminal.wait_for("To see them: rejoin list --all-projects");

    assert!(asked.contains("~/.claude/projects") && asked.contains("Import 2 files ("), "{asked}");
    assert!(done.contains("Imported 10 messages of 2 new conversations from 2 files."), "{done}");
}

#[test]
fn who_says_no_gets_nothing() {
    let world = home();
    let Some(terminal) = Terminal::open(&world, 100, 30) else { return };

    terminal.enter("rejoin import --scan");
    terminal.wait_for("[y/N]");
    terminal.enter("n");
    terminal.wait_for("not confirmed; nothing was changed");

    assert!(!world.store().exists());
}

#[test]
fn paths_and_a_scan_do_not_go_together() {
    let outcome = World::new().rejoin(["import", "--scan", "here"]).run();

    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
    assert_ne!(outcome, Outcome::failure(2, ""));
}
