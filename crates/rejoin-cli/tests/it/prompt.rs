//! The prompt at a real terminal.

use rejoin::{List, Role, StoredConversation};

use crate::terminal::Terminal;
use crate::world::World;

/// The newest conversation.
fn newest(world: &World) -> StoredConversation {
    world.archive().list(&List::default()).unwrap().items.remove(0)
}

/// What the user said in the newest conversation, on every branch.
fn said(world: &World) -> Vec<String> {
    let archive = world.archive();
    let messages = archive
        .reader()
        .all_messages(newest(world).id, rejoin::store::Order::OldestFirst, 0, u64::MAX)
        .unwrap();
    let own = messages.iter().filter(|stored| stored.message.role == Role::User);
    own.map(|stored| stored.message.text()).collect()
}

/// Types a line at the prompt and waits for the next.
fn at_prompt(terminal: &Terminal<'_>, line: &str) -> String {
    terminal.enter(line);
    terminal.wait_until("the line to be taken", |screen| screen.contains(line.trim_end()));
    terminal.wait_for_last(">")
}

/// A talk with everything that can be typed, on a screen of so many columns. Returns what was said.
fn talk_with_branches(columns: u16) -> Option<(Vec<String>, StoredConversation)> {
    let world = World::new();
    let terminal = Terminal::open(&world, columns, 120)?;

    terminal.enter("rejoin");
    terminal.wait_for_last(">");
    at_prompt(&terminal, "my bicycle is green");
    terminal.letters("one");
    terminal.key("M-Enter");
    terminal.enter("two\\");
    at_prompt(&terminal, "three");
    terminal.paste("pasted \\\nlines");
    at_prompt(&terminal, "!");
    terminal.letters("/tit");
    terminal.key("Tab");
    terminal.wait_for_last("> /title");
    at_prompt(&terminal, "Green bicycle");
    terminal.wait_for("This conversation is \"Green bicycle\"");
    at_prompt(&terminal, "/fork");
    terminal.wait_for("You are on the branch");
    at_prompt(&terminal, "on a branch");
    terminal.enter("/rewind");
    terminal.wait_for_last("> on a branch");
    at_prompt(&terminal, ", again");
    at_prompt(&terminal, "//etc is full");
    terminal.key("C-l");
    let tree = at_prompt(&terminal, "/tree");
    terminal.key("C-l");
    terminal.enter("/tre");
    terminal.wait_for("hint: did you mean");
    let wrong = terminal.wait_for_last(">");
    terminal.key("C-l");
    let help = at_prompt(&terminal, "/help");
    terminal.key("C-c");
    terminal.wait_for("Press Ctrl+C again to exit.");
    terminal.enter("/quit");
    let end = terminal.wait_for_last("$");

    assert!(tree.contains("(branch: Green b") && tree.contains("------"), "{tree}");
    assert!(wrong.contains("hint: did you mean /tree?"), "{wrong}");
    assert!(help.contains("/rewind [MESSAGE]") && help.contains("/export [ID] [FORMAT]"), "{help}");
    assert!(end.contains(&format!("Continue: rejoin -r {}", newest(&world).id.short())), "{end}");
    Some((said(&world), newest(&world)))
}

const SAID: [&str; 6] = [
    "my bicycle is green",
    "one\ntwo\nthree",
    "pasted \\\nlines!",
    "on a branch",
    "on a branch, again",
    "/etc is full",
];

#[test]
fn a_talk_on_a_usual_screen() {
    let Some((said, stored)) = talk_with_branches(80) else { return };

    assert_eq!(said, SAID);
    assert_eq!((stored.conversation.title.as_deref(), stored.branches.len()), (Some("Green bicycle"), 1));
}

#[test]
fn a_talk_on_a_narrow_screen() {
    let Some((said, stored)) = talk_with_branches(40) else { return };

    assert_eq!(said, SAID);
    assert_eq!((stored.conversation.title.as_deref(), stored.branches.len()), (Some("Green bicycle"), 1));
}

#[test]
fn a_line_outlives_a_change_of_the_screen() {
    let world = World::new();
    let Some(terminal) = Terminal::open(&world, 80, 24) else { return };
    terminal.enter("rejoin");
    terminal.wait_for_last(">");
    terminal.letters("my bicycle is green, and it has been green for as long as I can think");
    terminal.wait_for("I can think");

    terminal.resize(40, 24);
    terminal.letters(" back");
    terminal.wait_for("back");
    terminal.resize(70, 12);
    terminal.enter(", at least");
    terminal.wait_for_last(">");

    let line = "my bicycle is green, and it has been green for as long as I can think back, at least";
    assert_eq!(said(&world), [line]);
}

#[test]
fn clearing_begins_anew_and_keeps_what_was() {
    let world = World::new();
    let Some(terminal) = Terminal::open(&world, 80, 24) else { return };
    terminal.enter("rejoin");
    terminal.wait_for_last(">");
    at_prompt(&terminal, "my bicycle is green");

    at_prompt(&terminal, "/clear");
    let cleared = terminal.wait_for("Conversation history cleared.");
    at_prompt(&terminal, "my boat is blue");

    assert!(cleared.contains("\nConversation history cleared.\n"), "{cleared}");
    assert_eq!(said(&world), ["my boat is blue"]);
    assert_eq!(world.archive().list(&List::default()).unwrap().items.len(), 2);
}

#[test]
fn lines_of_the_past_come_back_in_another_run() {
    let world = World::new();
    let Some(terminal) = Terminal::open(&world, 80, 24) else { return };
    terminal.enter("rejoin");
    terminal.wait_for_last(">");
    at_prompt(&terminal, "my bicycle is green");
    terminal.enter("/quit");
    terminal.wait_for("Continue:");

    terminal.enter("clear; rejoin -r");
    terminal.wait_for_last(">");
    terminal.key("Up");
    terminal.wait_for_last("> /quit");
    terminal.key("Up");

    terminal.wait_for_last("> my bicycle is green");
}

#[test]
fn incognito_leaves_nothing_behind() {
    let world = World::new();
    let Some(terminal) = Terminal::open(&world, 80, 24) else { return };

    terminal.enter("HISTFILE= rejoin --incognito");
    terminal.wait_for_last("incognito>");
    terminal.enter("my bicycle is green");
    terminal.wait_until("the reply", |screen| screen.matches("incognito>").count() == 2);
    terminal.key("C-d");
    terminal.wait_for_last("$");

    assert!(!world.path("home/.local").exists() && !world.path("home/.config").exists());
}

#[test]
fn a_store_that_is_locked_is_told_and_so_is_its_return() {
    let world = World::new();
    world.user_config("[limits]\nwait_seconds = 0\n");
    let Some(terminal) = Terminal::open(&world, 80, 24) else { return };
    terminal.enter("rejoin");
    terminal.wait_for_last(">");
    at_prompt(&terminal, "my bicycle is green");
    let lock = rusqlite::Connection::open(world.store()).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();

    terminal.enter("my boat is blue");
    let locked = terminal.wait_for_last("not saved>");
    lock.execute_batch("ROLLBACK").unwrap();
    terminal.wait_for_last(">");
    terminal.enter("and my car?");
    terminal.wait_for("Saved again.");
    terminal.wait_for_last(">");

    assert!(locked.contains("Failed to save turn: "), "{locked}");
    assert_eq!(said(&world), ["my bicycle is green", "my boat is blue", "and my car?"]);
}

#[test]
fn a_talk_that_must_be_saved_ends_when_it_is_not() {
    let world = World::new();
    world.user_config("[limits]\nwait_seconds = 0\n[persistence]\non_error = \"fail\"\n");
    let Some(terminal) = Terminal::open(&world, 80, 24) else { return };
    terminal.enter("rejoin; echo ended with $?");
    terminal.wait_for_last(">");
    let lock = rusqlite::Connection::open(world.store()).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();

    terminal.enter("my boat is blue");
    let ended = terminal.wait_for("ended with 1");

    assert!(ended.contains("error: could not save what was said"), "{ended}");
}

#[test]
fn leaving_without_a_word_changes_nothing() {
    let world = World::new();
    let lisbon = world.started("Lisbon");
    let Some(terminal) = Terminal::open(&world, 80, 24) else { return };

    terminal.enter("rejoin");
    terminal.wait_for_last(">");
    terminal.enter("/quit");
    terminal.wait_for_last("$");
    world.rejoin(["append", "Where to eat?"]).run();

    let items = world.archive().list(&List::default()).unwrap().items;
    let seen: Vec<(String, u64)> =
        items.iter().map(|stored| (stored.id.to_string(), stored.messages)).collect();
    assert_eq!(seen, [(lisbon, 1)]);
}

#[test]
fn the_prompt_says_all_the_time_that_nothing_is_saved_and_offers_no_way_back() {
    let world = World::new();
    world.user_config("persistence.enabled = false\n");
    let Some(terminal) = Terminal::open(&world, 120, 30) else { return };

    terminal.enter("rejoin --quiet");
    let opened = terminal.wait_for_last("not saving>");
    terminal.enter("my bicycle is green");
    terminal.wait_until("the reply", |screen| screen.matches("not saving>").count() == 2);
    terminal.enter("/quit");
    let left = terminal.wait_for_last("$");

    assert!(opened.contains("warning: nothing is saved: `persistence.enabled` is false"), "{opened}");
    assert!(!left.contains("Continue: rejoin -r"), "{left}");
}
