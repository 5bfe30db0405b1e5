//! Errors: what went wrong in one line, and what to do in another.

use insta::assert_snapshot;

use crate::screens::{run, screen};
use crate::world::World;

fn errors(world: &World, lines: &[&str]) -> String {
    let told = lines.iter().map(|line| screen(line, &run(world, line))).collect::<Vec<_>>().join("\n");
    let known = world.archive().names().conversation("lisbon").ok();
    known.map_or(told.clone(), |id| told.replace(id.short().as_str(), "[id]"))
}

#[test]
fn a_name_of_nothing() {
    let world = World::new();
    world.started("Lisbon");

    let lines = [
        "show nosuch",
        "resume nosuch",
        "delete nosuch --yes",
        "delete nosuch lisbon/zzzzzz --yes",
        "purge nosuch --yes",
        "conversation delete nosuch",
        "export nosuch",
        "fork nosuch",
        "rewind lisbon/zzzzzz",
        "keep nosuch",
        "handoff nosuch --to claude",
        "compact nosuch",
        "show lisbon --branch nosuch",
        "--resume nosuch",
        "provider set nosuch",
        "config get nosuch",
    ];

    assert_snapshot!(errors(&world, &lines));
}

#[test]
fn a_wrong_command_line() {
    let world = World::new();

    let lines =
        ["exprot", "list --limt 3", "list --limit none", "--resume list", "--new list", "delete 3", "vault"];

    assert_snapshot!(errors(&world, &lines));
}

#[test]
fn what_cannot_be_read_or_written() {
    let world = World::new();
    world.started("Lisbon");
    world.write("project/broken.json", "{");

    let lines = [
        "import nosuch.jsonl",
        "import broken.json",
        "append lisbon --jsonl nosuch.jsonl",
        "backup nosuch/monday.db",
        "restore nosuch.db --yes",
        "--store nosuch:a list",
        "--store vault+sqlite:nosuch.db list",
        "--passphrase-file nosuch --store vault+sqlite:nosuch.db vault init --slot passphrase",
    ];

    assert_snapshot!(errors(&world, &lines));
}

#[test]
fn a_broken_configuration() {
    let world = World::new();

    let screens =
        ["retention.dais = 3\n", "retention.days = 3\n", "retention = 3\n", "[retention\n"].map(|text| {
            world.user_config(text);
            errors(&world, &["list"])
        });

    assert_snapshot!(screens.join("\n"));
}

#[test]
fn what_nobody_confirmed() {
    let world = World::new();
    world.started("Lisbon");

    let lines = [
        "delete lisbon",
        "purge lisbon",
        "purge --everything",
        "clean --all",
        "resume",
        "vault init --slot passphrase",
    ];

    assert_snapshot!(errors(&world, &lines));
}
