//! Damage is never silent: the commands that show conversations of plain files name what they leave out.

use std::fs;
use std::path::PathBuf;

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
