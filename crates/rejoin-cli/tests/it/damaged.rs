//! A vault in which messages do not open: the rest is shown, found, exported and
//! talked on, and what is missing is named.

use serde_json::Value;

use crate::model_server::{ModelServer, reply};
use crate::terminal::Terminal;
use crate::vault::{damage, damage_before, sealed};
use crate::world::{Outcome, World};

/// A vault with a conversation of three messages.
fn lisbon() -> World {
    let world = sealed();
    world.rejoin(["new", "--title", "Lisbon"]).run();
    for text in ["Where to eat?", "In Alfama.", "Which tasca?"] {
        world.rejoin(["append", text]).run();
    }
    world
}

fn assert_named(outcome: &Outcome) {
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(outcome.stderr.contains("left out: the message `"), "{outcome:?}");
}

#[test]
fn the_rest_of_a_conversation_is_shown_and_exported_and_what_is_missing_is_named() {
    let world = lisbon();
    damage(&world);
    world.rejoin(["keep", "lisbon", "--exportable"]).run();

    let shown = world.rejoin(["show", "lisbon"]).run();
    let exported = world.rejoin(["export", "lisbon", "--output", "out.md"]).run();

    assert!(shown.stdout.contains("Where to eat?") && !shown.stdout.contains("tasca"), "{shown:?}");
    let written = std::fs::read_to_string(world.path("project/out.md")).unwrap();
    assert!(written.contains("Where to eat?") && !written.contains("tasca"), "{written}");
    assert_named(&shown);
    assert_named(&exported);
}

#[test]
fn the_rest_is_found_and_the_request_shown_and_what_is_missing_is_named() {
    let world = lisbon();
    damage_before(&world, 1);

    let found = world.rejoin(["search", "tasca"]).run();
    let viewed = world.rejoin(["show", "lisbon", "--view", "chat"]).run();

    assert!(found.stdout.contains("Which tasca?"), "{found:?}");
    let said = ["Where to eat?", "Alfama", "Which tasca?"].map(|text| viewed.stdout.contains(text));
    assert_eq!(said, [true, false, true], "{viewed:?}");
    assert_named(&found);
    assert_named(&viewed);
}

#[test]
fn the_rest_is_drawn_and_counted_and_what_is_missing_is_named() {
    let world = lisbon();
    damage_before(&world, 1);

    let drawn = world.rejoin(["tree", "lisbon"]).run();
    let counted = world.rejoin(["stats", "--json"]).run();

    let said = ["Where to eat?", "Alfama", "Which tasca?"].map(|text| drawn.stdout.contains(text));
    assert_eq!(said, [true, false, true], "{drawn:?}");
    assert_eq!(counted.json()["all"]["messages"], 2, "{counted:?}");
    assert_named(&drawn);
    assert_named(&counted);
}

#[test]
fn a_damaged_message_that_is_asked_for_by_its_id_is_an_error() {
    let world = lisbon();
    let shown = world.rejoin(["show", "lisbon", "--json"]).run().json();
    let id = shown["messages"][1]["id"].as_str().unwrap().to_owned();
    damage_before(&world, 1);

    let outcomes = [world.rejoin(["-c", &id, "Is it far?"]).run(), world.rejoin(["show", &id]).run()];

    assert_ne!(outcomes.each_ref().map(|outcome| outcome.code), [0, 0], "{outcomes:?}");
    assert!(!outcomes.iter().any(|outcome| outcome.stderr.contains("panicked")), "{outcomes:?}");
}

#[test]
fn a_person_is_told_how_much_is_missing_and_a_program_is_told_everything() {
    let world = lisbon();
    (0..3).for_each(|followers| damage_before(&world, followers));

    let shown = world.rejoin(["show", "lisbon"]).run();
    let read = world.rejoin(["show", "lisbon", "--json"]).run();

    assert!(shown.stderr.starts_with("warning: left out 3 records: the message `"), "{shown:?}");
    let warnings: Vec<Value> = read.stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told = warnings.iter().map(|warning| warning["warning"]["message"].as_str().unwrap());
    assert_eq!(told.filter(|told| told.starts_with("left out: the message `")).count(), 3, "{read:?}");
}

#[test]
fn the_picker_shows_the_rest_and_says_that_something_is_missing() {
    let world = lisbon();
    damage_before(&world, 1);
    let Some(terminal) = Terminal::open(&world, 100, 20) else { return };

    terminal.enter("rejoin resume");
    let screen = terminal.wait_for("1 damaged record");

    assert!(screen.contains("Which tasca?") && !screen.contains("Alfama"), "{screen}");
    terminal.key("Enter");
    terminal.wait_for("[Resuming \"Lisbon\"]");
}

/// Talks on in a conversation in which a message that so many follow is damaged:
/// what was asked, and what is there after.
fn talked_on(followers: u64) -> (Outcome, Vec<String>, String) {
    let world = lisbon();
    damage_before(&world, followers);
    let server = ModelServer::start(|_| reply("At the corner."));
    // What the vault wrote stands before the table of the provider.
    let (config, before) = (server.config(), world.read("home/.config/rejoin/config.toml"));
    let (provider, table) = config.split_once('\n').unwrap();
    world.user_config(&format!("{provider}\n{before}\n{table}"));

    let outcome = world.rejoin(["-r", "lisbon", "Is it far?"]).run();

    let request = server.requests().remove(0);
    let asked = request["messages"].as_array().unwrap().iter();
    let asked = asked.filter(|message| message["role"] != "system");
    let asked = asked.map(|message| message["content"].as_str().unwrap().to_owned()).collect();
    (outcome, asked, world.rejoin(["show", "lisbon"]).run().stdout)
}

#[test]
fn a_talk_goes_on_past_a_damaged_message() {
    let (outcome, asked, shown) = talked_on(1);

    let asked = asked.join("\n");
    let said = ["Where to eat?", "Alfama", "Which tasca?", "Is it far?"].map(|text| asked.contains(text));
    assert_eq!(said, [true, false, true, true], "{asked}");
    assert!(shown.contains("Is it far?") && shown.contains("At the corner."), "{shown}");
    assert_named(&outcome);
}

#[test]
fn a_talk_goes_on_from_a_damaged_head() {
    let (outcome, asked, shown) = talked_on(0);

    let asked = asked.join("\n");
    let said = ["Where to eat?", "Alfama", "tasca", "Is it far?"].map(|text| asked.contains(text));
    assert_eq!(said, [true, true, false, true], "{asked}");
    assert!(shown.contains("Is it far?") && shown.contains("At the corner."), "{shown}");
    assert_named(&outcome);
}

#[test]
fn after_its_days_a_damaged_message_leaves_a_stone_and_nothing_is_missing_any_more() {
    let world = lisbon();
    damage_before(&world, 1);
    world.rejoin(["verify"]).run();
    world.rejoin(["config", "set", "retention.days", "forever"]).run();
    world.rejoin(["config", "set", "vault.quarantine_days", "0"]).run();

    world.rejoin(["expire"]).run();

    let shown = world.rejoin(["show", "lisbon"]).run();
    let said =
        ["Where to eat?", "[A message stood here.", "Which tasca?"].map(|text| shown.stdout.contains(text));
    assert_eq!((said, shown.stderr.as_str()), ([true; 3], ""), "{shown:?}");
    assert_eq!(world.rejoin(["verify"]).run().code, 0);
}
