//! `rejoin verify`: what is checked, and what damage does not stop.

use crate::world::{Outcome, World};

#[test]
fn a_sound_store_is_said_to_be_so() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?", "And to sleep?"]);
    let bytes: u64 = world.archive().list(&Default::default()).unwrap().items[0].bytes;

    let outcome = world.rejoin(["verify"]).run();

    let expected = format!("Checked 1 conversation, 2 messages, {bytes} B.\nNo damage found.\n");
    assert_eq!(outcome, Outcome::answer(&expected));
}

#[test]
fn nothing_is_sound_too() {
    let world = World::new();

    let outcome = world.rejoin(["verify", "--json"]).run();

    let expected = "{\"conversations\":0,\"messages\":0,\"bytes\":0,\"faults\":[],\"unfinished\":[],\"quarantined\":[]}\n";
    assert_eq!((outcome, world.store().exists()), (Outcome::answer(expected), false));
}

#[test]
fn a_changed_message_is_named_with_its_conversation() {
    let world = World::new();
    let id = world.talk("Lisbon", &["Where to eat?"]);
    world.talk("Porto", &["Where to sleep?"]);
    world.sql("UPDATE message SET body = replace(body, 'to eat', 'to sit')");
    let message = world.archive().path(id, None).unwrap()[0].id;

    let outcome = world.rejoin(["verify"]).run();

    let told = format!("{}        message {message} does not match its digest\n", id.short());
    assert!(outcome.stdout.contains(&told), "{}", outcome.stdout);
    let expected = "error: 1 fault found\n\
                    hint: put a backup back with `rejoin restore PATH`; what it replaces is kept\n";
    assert_eq!((outcome.stderr.as_str(), outcome.code), (expected, 1));
}

#[test]
fn one_conversation_can_be_checked_alone() {
    let world = World::new();
    let lisbon = world.talk("Lisbon", &["Where to eat?"]);
    let porto = world.talk("Porto", &["Where to sleep?"]);
    world.sql("UPDATE message SET body = replace(body, 'to eat', 'to sit')");

    let codes = [lisbon, porto].map(|id| world.rejoin(["verify", id.short().as_str()]).run().code);

    assert_eq!(codes, [1, 0]);
}

#[test]
fn a_damaged_page_does_not_stop_the_others_from_being_checked() {
    let world = World::new();
    let hay = "hay ".repeat(20_000);
    world.talk("Haystack", &[hay.as_str(), "a needle", hay.as_str(), hay.as_str()]);
    world.talk("Lisbon", &[hay.as_str(), "Where to eat?"]);
    world.corrupt_page_with("needle");

    let outcome = world.rejoin(["verify", "--json"]).run();

    let answer: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    let faults = answer["faults"].as_array().unwrap();
    assert_eq!((&answer["conversations"], outcome.code), (&2.into(), 1));
    assert!(answer["messages"].as_u64().unwrap() >= 2, "{answer}");
    assert!(faults[0]["what"].as_str().unwrap().starts_with("damaged page: "), "{answer}");
    assert!(outcome.stderr.contains("\"kind\":\"corrupt\""), "{}", outcome.stderr);
}

#[test]
fn a_conversation_without_its_last_message_is_named() {
    let world = World::new();
    let id = world.talk("Lisbon", &["Where to eat?", "And to sleep?"]);
    world.sql("DELETE FROM message WHERE key & 0xffffffff = 2");

    let outcome = world.rejoin(["verify", "--json"]).run();

    let answer: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    let short = id.short().to_string();
    let named = answer["faults"].as_array().unwrap().iter().filter(|fault| fault["short"] == short.as_str());
    assert!(named.count() >= 2, "{answer}");
    assert_eq!(outcome.code, 1);
}

#[test]
fn a_conversation_without_turns_says_so() {
    let world = World::new();
    let id = crate::world::short(&world.started("Lisbon"));

    let told = ["verify", "show", "resume"].map(|command| world.rejoin([command, &id]).run());

    let note = format!("Conversation {id} has no turns");
    let said = told
        .each_ref()
        .map(|outcome| (outcome.stderr.contains(&note) || outcome.stdout.contains(&note), outcome.code));
    assert_eq!(said, [(true, 0); 3], "{told:?}");
}
