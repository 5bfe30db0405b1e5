//! `session.files`: the `.session/` files that a conversation leaves below its project when it is left.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::past::ask;
use crate::terminal::Terminal;
use crate::world::World;

/// A project in which session files are written, without a repository.
fn world() -> World {
    let world = World::new();
    world.user_config("[session]\nfiles = true\n");
    fs::remove_dir_all(world.path("project/.git")).unwrap();
    world
}

/// The files below a directory, by their names there.
fn below(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name().into_string().unwrap();
        match entry.path().is_dir() {
            true => found.extend(below(&entry.path()).into_iter().map(|file| format!("{name}/{file}"))),
            false => found.push(name),
        }
    }
    found.sort();
    found
}

/// The files of sessions, without the day and the name of their folder.
fn files(world: &World) -> Vec<String> {
    let all = below(&world.path("project/conversations"));
    all.iter().map(|file| file.splitn(3, '/').nth(2).unwrap().to_owned()).collect()
}

fn state(world: &World) -> Value {
    let all = below(&world.path("project/conversations"));
    let state = all.iter().find(|file| file.ends_with("session.json")).unwrap();
    serde_json::from_str(&world.read(&format!("project/conversations/{state}"))).unwrap()
}

const WRITTEN: [&str; 3] = [".session/messages.jsonl", ".session/session.json", "chat.md"];

#[test]
fn stopping_writes_the_files_without_a_repository() {
    let world = world();
    let mut trip = world.conversation("Lisbon");
    ask(&mut trip, "Where to eat?", "In Alfama.");

    let outcome = world.rejoin(["stop", &trip.id().to_string()]).run();

    let state = state(&world);
    assert_eq!((outcome.stderr.as_str(), outcome.code), ("", 0));
    assert_eq!(files(&world), WRITTEN);
    assert_eq!((&state["status"], &state["message_count"]), (&"paused".into(), &2.into()));
}

#[test]
fn in_a_repository_the_files_are_written_and_not_committed() {
    let world = World::new();
    world.user_config("[session]\nfiles = true\n");
    let mut trip = world.conversation("Lisbon");
    ask(&mut trip, "Where to eat?", "In Alfama.");

    let outcome = world.rejoin(["stop", &trip.id().to_string()]).run();

    assert_eq!((outcome.stderr.as_str(), files(&world)), ("", WRITTEN.map(str::to_owned).to_vec()));
}

#[test]
fn without_the_key_no_files_are_written() {
    let world = World::new();
    let mut trip = world.conversation("Lisbon");
    ask(&mut trip, "Where to eat?", "In Alfama.");

    world.rejoin(["stop", &trip.id().to_string()]).run();

    assert_eq!(files(&world), [""; 0]);
}

#[test]
fn leaving_the_prompt_writes_the_files_and_stopping_again_replaces_them() {
    let world = world();
    let Some(terminal) = Terminal::open(&world, 100, 40) else { return };
    terminal.enter("rejoin");
    terminal.wait_for_last(">");
    terminal.enter("Where to eat?");
    terminal.wait_for("No model is configured");
    terminal.wait_for_last(">");
    terminal.enter("/quit");
    terminal.wait_for_last("$");
    let first = (files(&world), state(&world)["message_count"].clone());

    world.rejoin(["-r", "And on a budget?"]).run();
    world.rejoin(["stop"]).run();

    let again = (files(&world), state(&world)["message_count"].clone());
    let written = WRITTEN.map(str::to_owned).to_vec();
    assert_eq!((first, again), ((written.clone(), 2.into()), (written, 4.into())));
}

#[test]
fn what_a_vault_keeps_is_written_only_when_both_allow_it() {
    let world = world();
    assert_eq!(world.rejoin(["vault", "init", "--slot", "file"]).run().code, 0);
    let talk = || {
        world.rejoin(["--new", "Where to eat?"]).run();
        let newest = world.rejoin(["list", "--json"]).run().json()["items"][0]["id"].clone();
        newest.as_str().unwrap().to_owned()
    };
    let stop = |id: &str| world.rejoin(["stop", id]).run().stderr;

    let sealed = stop(&talk());
    world.rejoin(["config", "set", "git.allow_plaintext", "true"]).run();
    let marked = stop(&talk());
    let before = files(&world);
    let last = talk();
    world.rejoin(["keep", &last, "--exportable"]).run();
    let allowed = stop(&last);

    let told = "warning: the session files were not written: it is";
    assert!(sealed.starts_with(&format!("{told} stored in a vault")), "{sealed}");
    assert!(marked.starts_with(&format!("{told} marked as not exportable")), "{marked}");
    assert_eq!(
        (before, allowed.as_str(), files(&world)),
        (Vec::new(), "", WRITTEN.map(str::to_owned).to_vec())
    );
}
