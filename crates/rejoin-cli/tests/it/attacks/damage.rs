//! Damage is never silent: the commands that show conversations name what they leave out.

use std::fs;
use std::path::PathBuf;

use rusqlite::Connection;

use crate::vault_killed::beside;
use crate::world::World;

/// A conversation in plain files.
fn sound() -> (World, String, PathBuf) {
    let world = World::of_files();
    let id = world.started("Lisbon");
    for text in ["Where to eat?", "In Alfama.", "Which tasca?"] {
        world.append(&id, &format!("{{\"role\":\"user\",\"content\":\"{text}\"}}\n"));
    }
    let folders = fs::read_dir(world.store()).unwrap().map(|entry| entry.unwrap().path());
    let file = folders.map(|folder| folder.join(format!("{id}.jsonl"))).find(|file| file.is_file()).unwrap();
    (world, id, file)
}

/// The same, but its second message cannot be read.
fn damaged() -> (World, String, PathBuf) {
    let (world, id, file) = sound();
    let mut lines: Vec<String> = fs::read_to_string(&file).unwrap().lines().map(str::to_owned).collect();
    lines[2] = "rubbish".to_owned();
    fs::write(&file, lines.join("\n") + "\n").unwrap();
    (world, id, file)
}

const SHOWING: [&[&str]; 7] = [
    &["list"],
    &["list", "--status", "active"],
    &["show", "lisbon"],
    &["resume", "--list"],
    &["tree", "lisbon"],
    &["search", "tasca"],
    &["export", "lisbon", "--output", "-"],
];

#[test]
fn every_command_that_shows_a_damaged_conversation_says_which_line_it_left_out() {
    let (world, ..) = damaged();

    let silent: Vec<&[&str]> = SHOWING
        .into_iter()
        .filter(|arguments| {
            let outcome = world.program(arguments).output().unwrap();
            let told = String::from_utf8(outcome.stderr).unwrap();
            !(outcome.status.success() && told.contains("left out: line 3 of `"))
        })
        .collect();

    assert_eq!(silent, [&[""; 0]; 0]);
}

#[test]
fn a_strict_store_makes_damage_an_error_with_the_line() {
    let (world, ..) = damaged();
    assert_eq!(world.rejoin(["config", "set", "store.strict", "true"]).run().code, 0);

    let refused: Vec<(i32, bool)> = SHOWING
        .into_iter()
        .map(|arguments| {
            let outcome = world.program(arguments).output().unwrap();
            let told = String::from_utf8(outcome.stderr).unwrap();
            (outcome.status.code().unwrap(), told.contains("error: line 3 of `"))
        })
        .collect();

    assert_eq!(refused, [(1, true); SHOWING.len()]);
}

#[test]
fn a_conversation_whose_file_was_emptied_has_no_turns() {
    let (world, id, file) = damaged();
    fs::write(file, "").unwrap();

    let told = [&["list"] as &[&str], &["show", &id], &["resume", &id]]
        .map(|arguments| String::from_utf8(world.program(arguments).output().unwrap().stderr).unwrap());

    let missing = format!("Conversation {id} has no turns");
    assert!(told.iter().all(|told| told.contains(&missing)), "{told:#?}");
}

#[test]
fn an_acknowledged_end_that_lost_its_line_ends_is_named_by_every_command_and_kept_by_an_append() {
    let (world, id, file) = sound();
    let text = fs::read_to_string(&file).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    let joined = format!("{first}\n{}", rest.replace('\n', ""));
    fs::write(&file, &joined).unwrap();

    let told = |arguments: &[&str]| {
        let outcome = world.program(arguments).output().unwrap();
        let told = [outcome.stdout, outcome.stderr].concat();
        (outcome.status.code().unwrap(), String::from_utf8(told).unwrap().contains("line 2 of `"))
    };
    let before = [&["list"] as &[&str], &["show", &id], &["search", "tasca"], &["verify"]].map(told);
    let appended = told(&["append", &id, "And now?"]);
    let after = [&["list"] as &[&str], &["show", &id], &["verify"]].map(told);

    assert_eq!(before, [(0, true), (0, true), (0, true), (1, true)]);
    assert_eq!((appended.0, after), (0, [(0, true), (0, true), (1, true)]));
    assert!(fs::read_to_string(&file).unwrap().starts_with(&joined));
}

#[test]
fn a_strict_store_makes_an_acknowledged_end_that_was_cut_an_error() {
    let (world, id, file) = sound();
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 150]).unwrap();
    assert_eq!(world.rejoin(["config", "set", "store.strict", "true"]).run().code, 0);

    let refused = [&["list"] as &[&str], &["show", &id]].map(|arguments| {
        let outcome = world.program(arguments).output().unwrap();
        let told = String::from_utf8(outcome.stderr).unwrap();
        (outcome.status.code().unwrap(), told.contains("error: line 4 of `"))
    });

    assert_eq!(refused, [(1, true); 2]);
}

#[test]
fn a_conversation_whose_file_is_gone_is_missed_by_every_command_until_it_is_given_up() {
    let (world, id, file) = sound();
    fs::remove_file(&file).unwrap();

    let told = |arguments: &[&str]| {
        let outcome = world.program(arguments).output().unwrap();
        let told = String::from_utf8([outcome.stdout, outcome.stderr].concat()).unwrap();
        (outcome.status.code().unwrap(), told.contains(&format!("conversation `{id}` was stored here")), told)
    };
    let said = |arguments: &[&str]| {
        let (code, is_missed, _) = told(arguments);
        (code, is_missed)
    };
    let missed =
        [&["list"] as &[&str], &["show", &id], &["resume", &id], &["verify"], &["verify", &id], &["doctor"]];
    let before = missed.map(said);
    let given_up = told(&["delete", &id, "--yes"]);
    let after = [&["list"] as &[&str], &["verify"], &["doctor"]].map(said);

    assert_eq!(before, [(0, true), (1, true), (1, true), (1, true), (1, true), (1, true)]);
    assert_eq!((given_up.0, after), (0, [(0, false); 3]), "{}", given_up.2);
}

/// Two conversations in a vault: the ID of the first, and where the vault is.
fn sealed(make: fn() -> World) -> (World, String, PathBuf) {
    let world = make();
    let id = world.started("Lisbon");
    world.append(&id, "{\"role\":\"user\",\"content\":\"Where to eat?\"}\n");
    world.started("Porto");
    let sealed = world.rejoin(["vault", "encrypt", "--slot", "file", "--yes"]).run();
    assert_eq!(sealed.code, 0, "{sealed:?}");
    let vault = beside(&world, "vault");
    (world, id, vault)
}

/// What a command says, with its code.
fn told(world: &World, arguments: &[&str]) -> (i32, String, String) {
    let outcome = world.program(arguments).output().unwrap();
    let [stdout, stderr] = [outcome.stdout, outcome.stderr].map(|text| String::from_utf8(text).unwrap());
    (outcome.status.code().unwrap(), stdout, stderr)
}

#[test]
fn a_plaintext_facet_that_was_changed_in_a_vault_hides_no_conversation() {
    let is_whole = |world: &World, id: &str| {
        let commands: [&[&str]; 5] = [&["list"], &["tree"], &["stats"], &["search", "eat"], &["show", id]];
        let said = commands.map(|arguments| told(world, arguments));
        assert_eq!(said.each_ref().map(|(code, ..)| *code), [0; 5], "{said:?}");
        let words = ["Lisbon", "Lisbon", "2 conversations", "Where to eat?", "Where to eat?"];
        let missed: Vec<&str> = words
            .into_iter()
            .zip(&said)
            .filter(|(word, said)| !said.1.contains(word))
            .map(|it| it.0)
            .collect();
        assert_eq!(missed, [""; 0], "{said:?}");
        let verified = told(world, &["verify"]);
        assert_eq!(verified.0, 1, "{verified:?}");
        assert!(verified.1.contains("it has facets that are not encrypted"), "{verified:?}");
    };

    let (world, id, vault) = sealed(World::new);
    let database = Connection::open(&vault).unwrap();
    database
        .execute("UPDATE conversation SET status = status + 1, kind = 'subagent', project = '/x'", [])
        .unwrap();
    drop(database);
    is_whole(&world, &id);

    let (world, id, vault) = sealed(World::of_files);
    let mut forged = 0;
    for folder in fs::read_dir(vault).unwrap().map(|entry| entry.unwrap().path()) {
        for file in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let is_conversation = file.extension().is_some_and(|ending| ending == "jsonl");
            let text = if is_conversation { fs::read_to_string(&file).unwrap() } else { String::new() };
            if text.contains("\"facets\":{") {
                let other = text.replace("\"status\":\"active\"", "\"status\":\"paused\"");
                assert_ne!(other, text);
                fs::write(&file, other).unwrap();
                forged += 1;
            }
        }
    }
    assert_eq!(forged, 2);
    is_whole(&world, &id);
}

#[test]
fn a_conversation_of_a_vault_whose_header_does_not_open_is_named_by_every_command() {
    let (world, id, vault) = sealed(World::new);
    let database = Connection::open(&vault).unwrap();
    let key = "UPDATE blob SET bytes = x'00' WHERE space = 6 AND name = x'64617461' AND owner <> x''";
    assert_eq!(database.execute(key, []).unwrap(), 2);
    drop(database);

    let listed = [&["list"] as &[&str], &["tree"], &["stats"], &["search", "eat"]].map(|arguments| {
        let (code, _, stderr) = told(&world, arguments);
        (code, stderr.contains("cannot be read: its header does not open"))
    });
    let shown = told(&world, &["show", &id]);

    assert_eq!(listed, [(0, true); 4]);
    let expected = format!("error: conversation `{id}` cannot be read: its header does not open");
    assert!(shown.0 == 1 && shown.2.starts_with(&expected), "{shown:?}");
}
