//! A `.cpeconvo` in the directory where the prompt opens: it is offered once, and only if it is one's own.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use rejoin::List;

use crate::terminal::Terminal;
use crate::world::World;

const QUESTION: &str = "Import the conversations of CPE in";

/// A project with the history of CPE, and a store without conversations.
fn world() -> World {
    let world = World::new();
    let id = world.started("Lisbon");
    world.append(&id, "{\"role\":\"user\",\"content\":\"Where to eat?\"}\n");
    let folder = world.path("project");
    let outcome =
        world.rejoin(["export", &id, "--format", "cpe", "--output", folder.to_str().unwrap()]).run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    fs::rename(
        outcome.stdout.trim().replace("[world]", world.path("").to_str().unwrap()),
        folder.join(".cpeconvo"),
    )
    .unwrap();
    world.rejoin(["purge", &id, "--yes"]).run();
    world
}

fn titles(world: &World) -> Vec<String> {
    let items = world.archive().list(&List::default()).unwrap().items;
    items.iter().filter(|stored| stored.is_imported()).map(|stored| stored.title().to_owned()).collect()
}

/// Whether a prompt asks, and what is imported once it is left.
fn opened(world: &World, terminal: &Terminal<'_>, answer: &str) -> (bool, Vec<String>) {
    terminal.enter("clear; rejoin");
    terminal.wait_until("the screen to be clear", |screen| !screen.contains("clear"));
    let screen = terminal.wait_until("a question or the prompt", |screen| {
        screen.contains(QUESTION) || screen.trim_end().ends_with('>')
    });
    if screen.contains(QUESTION) {
        terminal.press(answer);
        terminal.key("Enter");
    }
    terminal.wait_for_last(">");
    terminal.enter("/quit");
    terminal.wait_for_last("$");
    (screen.contains(QUESTION), titles(world))
}

#[test]
fn history_in_the_directory_is_offered_once_and_imported_on_a_yes() {
    let world = world();
    let Some(terminal) = Terminal::open(&world, 100, 40) else { return };
    let [first, again] = ["y", "y"].map(|answer| opened(&world, &terminal, answer));

    let imported = vec!["Lisbon".to_owned()];
    assert_eq!((first, again), ((true, imported.clone()), (false, imported)));
}

#[test]
fn a_no_is_remembered() {
    let world = world();
    let Some(terminal) = Terminal::open(&world, 100, 40) else { return };
    let [first, again] = ["n", "n"].map(|answer| opened(&world, &terminal, answer));

    assert_eq!((first, again), ((true, Vec::new()), (false, Vec::new())));
}

#[test]
fn a_file_that_others_can_write_is_not_offered() {
    let world = world();
    fs::set_permissions(world.path("project/.cpeconvo"), Permissions::from_mode(0o666)).unwrap();

    let Some(terminal) = Terminal::open(&world, 100, 40) else { return };
    let opened = opened(&world, &terminal, "y");

    assert_eq!(opened, (false, Vec::new()));
}

#[test]
fn a_script_is_not_asked() {
    let world = world();

    let outcome = world.rejoin(["Where to sleep?"]).run();

    assert_eq!((outcome.stderr.contains(QUESTION), titles(&world)), (false, Vec::new()));
}
