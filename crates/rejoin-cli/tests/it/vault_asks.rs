//! What a vault asks at a terminal, and what is told before it asks.

use std::thread;
use std::time::Duration;

use crate::terminal::Terminal;
use crate::world::World;

/// Types a passphrase where one is asked for. What was typed before the terminal hides it is thrown away.
fn enter_hidden(terminal: &Terminal<'_>, asked: &str, passphrase: &str) {
    terminal.wait_for(asked);
    thread::sleep(Duration::from_millis(800));
    terminal.enter(passphrase);
}

#[test]
fn a_passphrase_that_is_too_short_is_refused_after_the_first_entry() {
    let world = World::new();
    let Some(terminal) = Terminal::open(&world, 100, 40) else { return };

    terminal.enter("rejoin vault init --slot passphrase");
    enter_hidden(&terminal, "New passphrase", "short");

    let screen = terminal.wait_for("error: a passphrase needs at least 8 characters");
    assert!(!screen.contains("Once more"), "{screen}");
}

#[test]
fn a_new_passphrase_is_entered_twice_and_two_that_differ_change_nothing() {
    let world = World::new();
    let Some(terminal) = Terminal::open(&world, 100, 40) else { return };

    terminal.enter("rejoin vault init --slot passphrase");
    enter_hidden(&terminal, "New passphrase", "correct horse");
    enter_hidden(&terminal, "Once more", "correct house");

    terminal.wait_for("error: the two are not the same, so nothing was changed");
    assert!(!world.path("home/.local/share/rejoin/rejoin.db").exists());
}

#[test]
fn the_copy_is_said_to_be_complete_before_the_original_is_asked_about() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);
    let Some(terminal) = Terminal::open(&world, 120, 40) else { return };

    terminal.enter("rejoin vault encrypt --slot file");
    let asked = terminal.wait_for("Erase the old store");
    terminal.press("n");
    terminal.key("Enter");
    let left = terminal.wait_for("The old store still exists");

    let told = asked.find("the copy is complete").expect("it is told before the question");
    assert!(told < asked.find("Erase the old store").unwrap(), "{asked}");
    assert!(left.contains("Conversations are kept in vault+sqlite:"), "{left}");
}

#[test]
fn encrypting_with_a_new_passphrase_does_not_ask_for_it_again() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);
    let Some(terminal) = Terminal::open(&world, 120, 40) else { return };

    terminal.enter("rejoin vault encrypt --slot passphrase");
    enter_hidden(&terminal, "New passphrase", "correct horse");
    enter_hidden(&terminal, "Once more", "correct horse");
    let asked = terminal.wait_for("Erase the old store");
    terminal.press("y");
    terminal.key("Enter");

    terminal.wait_for("Erased the old store");
    assert!(!asked.contains("Passphrase of the vault"), "{asked}");
}
