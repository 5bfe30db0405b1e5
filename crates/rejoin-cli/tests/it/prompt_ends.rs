//! What ends a talk at the prompt: a command, a sentence, the end of input, or a signal.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::Instant;

use rejoin::{List, Role, Status};

use crate::terminal::{PATIENCE, Terminal};
use crate::world::World;

/// Talks in a terminal, ends that, and returns the screen where the shell is back, and what is stored.
fn ended(end: fn(&World, &Terminal<'_>)) -> Option<(String, Status, Vec<String>)> {
    let world = World::new();
    let terminal = Terminal::open(&world, 100, 40)?;
    // The process of the prompt is known to the test by its file.
    terminal.enter("sh -c 'echo $$ > pid; exec rejoin'");
    terminal.wait_for_last(">");
    terminal.enter("my bicycle is green");
    terminal.wait_until("the reply", |screen| screen.contains("No model is configured"));
    terminal.wait_for_last(">");
    end(&world, &terminal);
    let screen = terminal.wait_for_last("$");
    let archive = world.archive();
    let stored = archive.list(&List::default()).unwrap().items.remove(0);
    let order = rejoin::store::Order::OldestFirst;
    let messages = archive.reader().all_messages(stored.id, order, 0, u64::MAX).unwrap();
    let own = messages.iter().filter(|found| found.message.role == Role::User);
    let said = own.map(|found| found.message.text()).collect();
    let short = stored.id.short().to_string();
    Some((screen.replace(&short, "[id]"), stored.conversation.status, said))
}

fn signal(world: &World, name: &str) {
    let id = fs::read_to_string(world.path("project/pid")).unwrap();
    assert!(Command::new("kill").args([name, id.trim()]).status().unwrap().success());
}

#[test]
fn a_sentence_stops_the_conversation() {
    let Some((screen, status, said)) = ended(|_, terminal| terminal.enter("Let's stop here.")) else {
        return;
    };

    assert!(screen.contains("You can continue later with rejoin resume [id]\n"), "{screen}");
    assert_eq!((status, said), (Status::Paused, vec!["my bicycle is green".to_owned()]));
}

#[test]
fn a_spelling_of_stop_names_the_same_spelling_of_resume() {
    let Some((screen, status, _)) = ended(|_, terminal| terminal.enter("/workspace.stop-conversation"))
    else {
        return;
    };

    let expected = "Session saved.\nConversation \"my bicycle is green\" has been paused.\n\
                    You can continue later with /workspace.resume\nSummary: ";
    assert!(screen.contains(expected), "{screen}");
    assert_eq!(status, Status::Paused);
}

#[test]
fn the_end_of_input_and_signals_pause_the_conversation() {
    let ends: [fn(&World, &Terminal<'_>); 3] = [
        |_, terminal| terminal.key("C-d"),
        |world, _| signal(world, "-TERM"),
        |world, _| signal(world, "-HUP"),
    ];

    for end in ends {
        let Some((screen, status, said)) = ended(end) else { return };

        assert!(screen.contains("Continue: rejoin -r [id]\n"), "{screen}");
        assert_eq!((status, said), (Status::Paused, vec!["my bicycle is green".to_owned()]));
    }
}

#[test]
fn a_terminal_that_is_gone_pauses_the_conversation_and_ends_the_program() {
    let world = World::new();
    let Some(terminal) = Terminal::open(&world, 100, 40) else { return };
    terminal.enter("sh -c 'echo $$ > pid; exec rejoin'");
    terminal.wait_for_last(">");
    terminal.enter("my bicycle is green");
    terminal.wait_until("the reply", |screen| screen.contains("No model is configured"));
    terminal.wait_for_last(">");
    let id = fs::read_to_string(world.path("project/pid")).unwrap();

    drop(terminal);
    let began = Instant::now();
    while Command::new("kill").args(["-0", id.trim()]).output().unwrap().status.success() {
        assert!(began.elapsed() < PATIENCE, "the program goes on without a terminal");
        thread::yield_now();
    }

    let stored = world.archive().list(&List::default()).unwrap().items.remove(0);
    assert_eq!(stored.conversation.status, Status::Paused);
}

#[test]
fn a_word_that_is_not_known_lists_conversations() {
    let world = World::new();
    world.started("Lisbon");
    let Some(terminal) = Terminal::open(&world, 100, 40) else { return };

    terminal.enter("rejoin");
    terminal.wait_for_last(">");
    terminal.enter("/conversations all of them");

    terminal.wait_until("the list", |screen| screen.contains("Lisbon") && !screen.contains("error:"));
}

#[test]
fn a_spelling_of_resume_lists_and_asks() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);
    world.talk("Porto", &["Where to sleep?"]);
    let Some(terminal) = Terminal::open(&world, 100, 40) else { return };
    terminal.enter("rejoin");
    terminal.wait_for_last(">");

    terminal.enter("/workspace.resume");
    let asked = terminal.wait_for("Which conversation would you like to continue? (number or search)");
    terminal.enter("lisbon");

    terminal.wait_for("[Resuming \"Lisbon\"]");
    assert!(asked.contains("Here are your resumable conversations:\n\n1. [chat] Porto\n"), "{asked}");
    assert!(asked.contains("2. [chat] Lisbon\n"), "{asked}");
}

#[test]
fn with_nothing_to_resume_the_spelling_suggests_a_start() {
    let world = World::new();
    let Some(terminal) = Terminal::open(&world, 100, 40) else { return };
    terminal.enter("rejoin");
    terminal.wait_for_last(">");

    terminal.enter("/workspace.resume");

    terminal
        .wait_for("There are no resumable conversations in this project.\nTo start one, type a message.\n");
}
