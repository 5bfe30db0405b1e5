//! `rejoin rename`: another title for a conversation.

use crate::past::ask;
use crate::world::{Outcome, World};

#[test]
fn a_conversation_is_renamed_by_any_of_its_names() {
    let world = World::new();
    let trip = world.conversation("Lisbon in May");
    let short = trip.id().short();

    let outcomes = [
        world.rejoin(["rename", "lisbon-in-may", "Lisbon"]).run(),
        world.rejoin(["rename", short.as_str(), "Trip", "to", "Porto"]).run(),
        world.rejoin(["rename", &format!("conv_{}", trip.id()), "Porto\u{1b}[2J"]).run(),
    ];

    let expected = [
        format!("Renamed \"Lisbon in May\" to \"Lisbon\": {short}\n"),
        format!("Renamed \"Lisbon\" to \"Trip to Porto\": {short}\n"),
        format!("Renamed \"Trip to Porto\" to \"Porto\": {short}\n"),
    ];
    assert_eq!(outcomes, expected.each_ref().map(|note| Outcome::note(note)));
}

#[test]
fn scripts_read_the_title_and_the_one_before() {
    let world = World::new();
    let trip = world.conversation("Lisbon");

    let outcome = world.rejoin(["rename", "lisbon", "Porto", "--json"]).run();

    let (id, short) = (trip.id(), trip.id().short());
    let expected =
        format!("{{\"id\":\"{id}\",\"short\":\"{short}\",\"title\":\"Porto\",\"was\":\"Lisbon\"}}\n");
    assert_eq!(outcome, Outcome::answer(&expected));
}

#[test]
fn a_message_has_no_title_and_its_conversation_is_named() {
    let world = World::new();
    let mut trip = world.conversation("Lisbon");
    let [question, _] = ask(&mut trip, "Where to eat?", "In Alfama.");

    let outcome = world.rejoin(["rename", question.as_str(), "Porto"]).run();

    let expected = format!(
        "error: `{question}` is a message; a conversation is needed here\n\
         hint: it is a message of `{}`\n",
        trip.id().short()
    );
    assert_eq!(outcome, Outcome::failure(1, &expected));
}

#[test]
fn an_empty_title_is_refused() {
    let world = World::new();
    world.conversation("Lisbon");

    let outcome = world.rejoin(["rename", "lisbon", "  "]).run();

    assert_eq!(outcome, Outcome::failure(1, "error: a title must not be empty\n"));
}
