//! A store in trouble: each failure is clear, names the next step, and loses nothing.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::planting::{NOBODY, SmallDisk, is_root};
use crate::world::{Outcome, World};

const DOCTOR: &str = "hint: run `rejoin doctor` to see what is wrong, or name another store with `--store`\n";

#[test]
fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let world = World::new();
    world.write("home/.local/share/rejoin/rejoin.db", "a shopping list");

    let outcome = world.rejoin(["new"]).run();

    let expected =
        format!("error: `[world]/home/.local/share/rejoin/rejoin.db` is not a Rejoin database\n{DOCTOR}");
    assert_eq!(outcome, Outcome::failure(1, &expected));
    assert_eq!(world.read("home/.local/share/rejoin/rejoin.db"), "a shopping list");
}

#[test]
fn another_programs_database_is_refused_and_left_alone() {
    let world = World::new();
    world.write("home/.local/share/rejoin/README", "");
    let foreign = Connection::open(world.store()).unwrap();
    foreign.execute_batch("CREATE TABLE shopping (what TEXT)").unwrap();

    let outcome = world.rejoin(["new"]).run();

    let expected = format!(
        "error: `[world]/home/.local/share/rejoin/rejoin.db` is another program's database\n{DOCTOR}"
    );
    let tables: i64 = foreign.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
    let mode = world.store().metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((outcome, tables, mode), (Outcome::failure(1, &expected), 1, 0o644));
}

#[test]
fn a_truncated_store_is_told_and_not_emptied() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);
    world.fold();
    let whole = fs::read(world.store()).unwrap();
    fs::write(world.store(), &whole[..whole.len() / 2]).unwrap();

    let outcome = world.rejoin(["verify"]).run();

    assert_eq!(outcome.code, 1);
    assert!(outcome.stderr.contains("hint: "), "{}", outcome.stderr);
    assert_eq!(fs::metadata(world.store()).unwrap().len(), whole.len() as u64 / 2);
}

#[test]
fn a_newer_store_is_refused_and_left_alone() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);
    world.sql("PRAGMA user_version = 99");

    let outcome = world.rejoin(["new"]).run();

    let expected = format!(
        "error: `[world]/home/.local/share/rejoin/rejoin.db` was written by a newer Rejoin \
         (schema 99, this one knows 4)\n{DOCTOR}"
    );
    assert_eq!(outcome, Outcome::failure(1, &expected));
}

#[test]
fn a_damaged_page_does_not_keep_new_conversations_out() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?", "a needle", &"hay ".repeat(20_000)]);
    world.corrupt_page_with("a needle");

    let outcome = world.rejoin(["new"]).run();

    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
}

#[test]
fn a_directory_that_cannot_be_written_to_is_named() {
    if !is_root("act for another user") {
        return;
    }
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);
    world.fold();
    let directory = world.store().parent().unwrap().to_owned();
    world.give_to(NOBODY);
    fs::set_permissions(&directory, Permissions::from_mode(0o500)).unwrap();

    let outcome = world.rejoin(["new"]).by_user(NOBODY).run();

    let lines: Vec<&str> = outcome.stderr.lines().collect();
    let expected = "error: could not open the database `[world]/home/.local/share/rejoin/rejoin.db`: \
                    the directory `[world]/home/.local/share/rejoin` cannot be written to";
    assert_eq!((&lines[0][..expected.len()], outcome.code), (expected, 1));
    assert_eq!(format!("{}\n", lines[lines.len() - 1]), DOCTOR);
}

#[test]
fn a_full_disk_is_told_and_what_was_stored_before_stays() {
    if !is_root("mount a small disk") {
        return;
    }
    let world = World::new();
    let disk = SmallDisk::mount(world.path("small"));
    let store = format!("sqlite:{}", disk.path("rejoin.db").display());
    world.rejoin(["new", "--store", &store, "--title", "Lisbon"]).run();
    disk.fill();

    let outcome = world.rejoin(["new", "--store", &store, "--title", "Porto"]).run();
    let after = world.rejoin(["verify", "--store", &store, "--json"]).run();

    let expected = "error: could not start a conversation: could not write to the database `[world]/small/rejoin.db`: could not append a turn: the disk is full\n\
                    hint: free some space and try again; `rejoin purge` works on a full disk; stored conversations are safe\n";
    assert_eq!(outcome, Outcome::failure(1, expected));
    assert!(after.stdout.starts_with("{\"conversations\":1,"), "{after:?}");
}

#[test]
fn a_talk_on_a_full_disk_goes_on_and_what_was_stored_before_stays() {
    if !is_root("mount a small disk") {
        return;
    }
    let world = World::new();
    let disk = SmallDisk::mount(world.path("small"));
    let store = format!("sqlite:{}", disk.path("rejoin.db").display());
    world.rejoin(["--store", &store, "my bicycle is green"]).run();
    disk.fill();
    let long = format!("my boat is {}", "very ".repeat(400_000));

    let outcome = world.rejoin(["--store", &store, "-r", "--quiet"]).input(long).run();
    let shown = world.rejoin(["--store", &store, "show", "--json"]).run();
    let after = world.rejoin(["--store", &store, "verify", "--json"]).run();

    assert!(outcome.stderr.contains("Failed to save turn"), "{outcome:?}");
    let told = [("What you said", outcome.stdout), ("the disk is full", outcome.stderr)];
    assert!(told.iter().all(|(words, said)| said.contains(words)), "{told:?}");
    assert_eq!(shown.json()["conversation"]["messages"], 2);
    assert_eq!(after.code, 0, "{after:?}");
}

#[test]
fn a_talk_whose_store_cannot_be_opened_names_the_way_without_one() {
    if !is_root("act for another user") {
        return;
    }
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);
    world.fold();
    let directory = world.store().parent().unwrap().to_owned();
    world.give_to(NOBODY);
    fs::set_permissions(&directory, Permissions::from_mode(0o500)).unwrap();

    let outcome = world.rejoin(["my bicycle is green"]).by_user(NOBODY).run();

    assert_eq!((outcome.code, outcome.stdout.as_str()), (1, ""), "{outcome:?}");
    assert!(outcome.stderr.contains("cannot be written to"), "{outcome:?}");
    assert!(outcome.stderr.contains("--incognito"), "{outcome:?}");
}

#[test]
fn a_store_that_can_only_be_read_warns_on_a_line_of_its_own_and_the_talk_goes_on() {
    if !is_root("act for another user") {
        return;
    }
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);
    world.fold();
    world.give_to(NOBODY);
    fs::set_permissions(world.store(), Permissions::from_mode(0o400)).unwrap();

    let outcome = world.rejoin(["-r", "my bicycle is green"]).by_user(NOBODY).run();

    let why = "could not write to the database `[world]/home/.local/share/rejoin/rejoin.db`: store a change: attempt to \
               write a readonly database";
    let warned = format!("Failed to save turn: {why}. The talk goes on; saving is tried again.");
    let lines: Vec<&str> = outcome.stderr.lines().collect();
    assert!(outcome.stdout.starts_with("No model is configured"), "{outcome:?}");
    assert!(lines.contains(&warned.as_str()), "{outcome:?}");
    assert_eq!(
        (lines.last().copied(), outcome.code),
        (Some(format!("error: could not save what was said: {why}").as_str()), 1)
    );
}

#[test]
fn a_first_use_on_a_full_disk_is_told() {
    if !is_root("mount a small disk") {
        return;
    }
    let world = World::new();
    let disk = SmallDisk::mount(world.path("small"));
    disk.fill();
    let store = format!("sqlite:{}", disk.path("rejoin.db").display());

    let outcome = world.rejoin(["new", "--store", &store]).run();

    let hint = "hint: free some space and try again; `rejoin purge` works on a full disk; stored conversations are safe";
    assert_eq!((outcome.stderr.lines().last(), outcome.code), (Some(hint), 1), "{}", outcome.stderr);
}

#[test]
fn a_lock_that_stays_is_told_after_the_wait_and_nothing_is_lost() {
    let world = World::new();
    world.rejoin(["new", "--title", "Lisbon"]).run();
    let holder = Connection::open(world.store()).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let began = Instant::now();

    let outcome = world.rejoin(["new"]).variable("REJOIN_LIMITS_WAIT_SECONDS", "1").run();

    let waited = began.elapsed();
    holder.execute_batch("ROLLBACK").unwrap();
    let after = world.rejoin(["new"]).run();
    let expected = "error: could not start a conversation: could not append a turn: database is locked\n\
                    hint: try again; `rejoin doctor` names the program that is writing\n";
    assert_eq!(outcome, Outcome::failure(1, expected));
    assert!((Duration::from_secs(1)..Duration::from_secs(8)).contains(&waited), "{waited:?}");
    assert_eq!(after.code, 0);
}

#[test]
fn readers_are_not_held_up_by_a_writer() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);
    let holder = Connection::open(world.store()).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();

    let outcome = world.rejoin(["verify"]).variable("REJOIN_LIMITS_WAIT_SECONDS", "0").run();

    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
}
