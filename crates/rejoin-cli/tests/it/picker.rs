//! `rejoin resume` at a real terminal: the list to pick from, the questions it
//! asks, and the terminal afterwards.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use rejoin::{Conversation, ConversationId, Message, Status};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::terminal::{PATIENCE, Terminal};
use crate::world::World;

/// Two trips in this project and taxes in another, the first note out of the way.
fn planted(world: &World) -> [ConversationId; 3] {
    world.rejoin(["new", "--title", "note"]).from("home").run();
    world.rejoin(["delete", "note", "--yes"]).from("home").run();
    let archive = world.archive();
    [("Trip to Porto", "project"), ("Trip to Lisbon", "project"), ("Taxes", "home")].map(
        |(title, project)| {
            let project = world.path(project).to_str().unwrap().to_owned();
            let mut talk = archive.start(Conversation::titled(title).in_project(project)).unwrap();
            talk.append(Message::user(format!("Tell me of {title}."))).unwrap();
            talk.append(Message::assistant("It is far.\u{1b}[2J")).unwrap();
            talk.id()
        },
    )
}

#[test]
fn typed_letters_narrow_the_list_and_enter_resumes() {
    let world = World::new();
    planted(&world);
    let Some(terminal) = Terminal::open(&world, 100, 20) else { return };

    terminal.enter("rejoin resume");
    let opened = terminal.wait_for("2/2");
    terminal.letters("prt");
    let narrowed = terminal.wait_for("1/2");
    terminal.key("Enter");
    terminal.wait_for("[Resuming \"Trip to Porto\"]");

    assert!(opened.contains("> Trip to Lisbon"), "{opened}");
    assert!(narrowed.contains("> Trip to Porto") && narrowed.contains("It is far."), "{narrowed}");
}

#[test]
fn leaving_gives_the_terminal_back() {
    let world = World::new();
    planted(&world);
    let Some(terminal) = Terminal::open(&world, 80, 20) else { return };
    let before = terminal.settings("before");

    terminal.enter("rejoin resume; echo left with $?");
    terminal.wait_for("2/2");
    terminal.key("Escape");
    let screen = terminal.wait_for("left with 0");

    assert!(!screen.contains("Trip to"), "{screen}");
    assert_eq!(terminal.settings("after"), before);
}

#[test]
fn a_signal_gives_the_terminal_back() {
    let world = World::new();
    planted(&world);
    let Some(terminal) = Terminal::open(&world, 80, 20) else { return };
    let before = terminal.settings("before");
    let number = world.path("number");

    terminal
        .enter(&format!("(sh -c 'echo $$ > {}; exec rejoin resume'); echo ended with $?", number.display()));
    terminal.wait_for("2/2");
    let process: i32 = fs::read_to_string(number).unwrap().trim().parse().unwrap();
    kill_process(Pid::from_raw(process).unwrap(), Signal::TERM).unwrap();
    terminal.wait_for("ended with 143");

    assert_eq!(terminal.settings("after"), before);
}

#[test]
fn a_terminal_that_goes_away_ends_the_program() {
    let world = World::new();
    planted(&world);
    let Some(terminal) = Terminal::open(&world, 80, 20) else { return };
    let number = world.path("number");

    terminal.enter(&format!("(sh -c 'echo $$ > {}; exec rejoin resume')", number.display()));
    terminal.wait_for("2/2");
    let process: i32 = fs::read_to_string(number).unwrap().trim().parse().unwrap();
    terminal.tmux(&["kill-server"]);

    let process = Pid::from_raw(process).unwrap();
    let began = Instant::now();
    while test_kill_process(process).is_ok() {
        assert!(began.elapsed() < PATIENCE, "it lives on without a terminal");
        thread::sleep(Duration::from_millis(30));
    }
}

#[test]
fn forty_columns_without_colour_are_enough() {
    let world = World::new();
    planted(&world);
    let Some(terminal) = Terminal::open(&world, 40, 8) else { return };

    terminal.enter("NO_COLOR=1 rejoin resume");
    let screen = terminal.wait_for("2/2");

    let painted = String::from_utf8(terminal.tmux(&["capture-pane", "-p", "-e"]).stdout).unwrap();
    let lines: Vec<&str> = screen.lines().take(3).map(str::trim_end).collect();
    let expected = [
        "Resume:                              2/2",
        "> Trip to Lisbon                just now",
        "  Trip to Porto                 just now",
    ];
    assert_eq!(lines, expected);
    assert!(!painted.contains('\u{1b}'), "{painted:?}");
}

#[test]
fn the_picture_follows_the_size_of_the_screen() {
    let world = World::new();
    planted(&world);
    let Some(terminal) = Terminal::open(&world, 100, 20) else { return };

    terminal.enter("rejoin resume");
    terminal.wait_for("It is far.");
    terminal.tmux(&["resize-window", "-x", "40", "-y", "6"]);
    terminal.wait_until("the list alone", |screen| {
        screen.contains("> Trip to Lisbon                just now") && !screen.contains("It is far.")
    });
    terminal.tmux(&["resize-window", "-x", "120", "-y", "30"]);

    terminal.wait_for("It is far.");
}

#[test]
fn a_key_offers_the_other_projects() {
    let world = World::new();
    let [.., taxes] = planted(&world);
    let Some(terminal) = Terminal::open(&world, 80, 20) else { return };

    terminal.enter("rejoin resume");
    terminal.wait_for("2/2");
    terminal.key("Tab");
    terminal.wait_for("3/3");
    terminal.letters("taxes");
    terminal.wait_for("1/3");
    terminal.key("Enter");
    terminal.wait_for("[Resuming \"Taxes\"]");

    assert!(world.archive().conversation(taxes).is_ok());
}

#[test]
fn a_branch_can_be_picked() {
    let world = World::new();
    let [_, lisbon, _] = planted(&world);
    let archive = world.archive();
    let first = archive.path(lisbon, None).unwrap()[0].id;
    let mut cheap = archive.resume(lisbon).unwrap().fork(first, "On a budget").unwrap();
    cheap.append(Message::assistant("Walk.")).unwrap();
    cheap.append(Message::user("How long?")).unwrap();
    let Some(terminal) = Terminal::open(&world, 100, 20) else { return };

    terminal.enter("rejoin resume");
    terminal.wait_for("2/2");
    terminal.key("Right");
    terminal.wait_for("└ On a budget");
    terminal.key("Down");
    terminal.wait_for(">   └ It is far.");
    terminal.key("Down");
    let screen = terminal.wait_for(">   └ On a budget");
    terminal.key("Enter");

    assert!(screen.contains("How long?"), "{screen}");
    terminal.wait_for("Resumed conversation with 3 messages");
}

#[test]
fn what_was_deleted_meanwhile_is_told() {
    let world = World::new();
    let [_, lisbon, _] = planted(&world);
    let Some(terminal) = Terminal::open(&world, 80, 20) else { return };

    terminal.enter("rejoin resume");
    terminal.wait_for("2/2");
    world.rejoin(["delete", &lisbon.to_string(), "--yes"]).run();
    terminal.key("Enter");
    let screen = terminal.wait_for("It was deleted meanwhile.");

    assert!(screen.contains("1/1") && screen.contains("> Trip to Porto"), "{screen}");
}

#[test]
fn several_matches_are_asked_about_by_number_or_words() {
    let world = World::new();
    planted(&world);
    let Some(terminal) = Terminal::open(&world, 90, 30) else { return };

    terminal.enter("rejoin resume trip");
    let screen = terminal.wait_for("Which conversation would you like to continue? (number or search)");
    terminal.enter("porto");
    terminal.wait_for("[Resuming \"Trip to Porto\"]");

    assert!(screen.contains("1. [chat] Trip to Lisbon\n"), "{screen}");
    assert!(screen.contains(" | Last active: just now | Status: active\n"), "{screen}");
}

#[test]
fn a_project_without_conversations_is_offered_those_of_others() {
    let world = World::new();
    planted(&world);
    world.write("other/.git/HEAD", "");
    let Some(terminal) = Terminal::open(&world, 90, 20) else { return };

    terminal.enter("cd ../other && rejoin resume");
    let screen = terminal.wait_for("This project has no conversations yet. These are from other projects.");
    terminal.key("Escape");
    terminal.wait_for_last("$");
    terminal.enter("cd ../project && rejoin resume --all-projects");
    let everywhere = terminal.wait_for("Tab this project");

    assert!(screen.contains(world.path("project").file_name().unwrap().to_str().unwrap()), "{screen}");
    assert!(screen.contains("Trip to Porto") && everywhere.contains("Trip to Porto"), "{screen}{everywhere}");
}

#[test]
fn a_completed_conversation_is_asked_about() {
    let world = World::new();
    let [porto, ..] = planted(&world);
    world.archive().update(porto, |header| header.status = Status::Completed).unwrap();
    let Some(terminal) = Terminal::open(&world, 90, 20) else { return };

    terminal.enter("rejoin resume trip-to-porto; echo refused with $?");
    terminal.wait_for("Open \"Trip to Porto\" again? [y/N]");
    terminal.enter("n");
    terminal.wait_for("refused with 1");
    terminal.enter("clear; rejoin resume trip-to-porto");
    // The question before is on the screen until it is cleared.
    terminal.wait_until("the second question", |screen| {
        !screen.contains("refused with") && screen.contains("again? [y/N]")
    });
    terminal.enter("y");

    terminal.wait_for("Resumed conversation with 2 messages");
}

#[test]
fn an_interrupted_reply_is_offered() {
    let world = World::new();
    let [porto, ..] = planted(&world);
    let archive = world.archive();
    archive.resume(porto).unwrap().append(Message::user("And by train?")).unwrap();
    let mut recorder = archive.record(archive.resume(porto).unwrap(), "1@1");
    let partial = format!("The first line.\n{}", "It takes three hours. ".repeat(10));
    assert!(recorder.save_open(&Message::assistant(partial), &[]));
    let Some(terminal) = Terminal::open(&world, 90, 30) else { return };

    terminal.enter("rejoin resume trip-to-porto");
    let offered = terminal.wait_for("[k/d/l]");
    terminal.enter("l");
    terminal.wait_until("the whole of it", |screen| screen.matches("[k/d/l]").count() == 2);
    terminal.enter("k");
    terminal.wait_for("Resumed conversation with 4 messages");

    assert!(offered.contains("A reply was interrupted just now: \"The first line. It takes"), "{offered}");
    assert_eq!(archive.open_turns().list(porto).unwrap(), []);
}
