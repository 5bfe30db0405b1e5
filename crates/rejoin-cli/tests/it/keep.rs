//! `rejoin keep`: a hold that clean respects.

use rejoin::Hold;

use crate::world::{Outcome, World};

#[test]
fn a_conversation_is_kept_and_released_and_says_so() {
    let world = World::new();
    let trip = world.conversation("Lisbon");
    let keep = |arguments: [&str; 2]| {
        let outcome = world.rejoin(["keep", arguments[0], arguments[1]]).run();
        (outcome.stderr, outcome.code, trip.conversation().unwrap().conversation.hold)
    };
    let short = trip.id().short();

    let told = [
        keep(["lisbon", "--no-pager"]),
        keep(["lisbon", "--no-pager"]),
        keep([short.as_str(), "--release"]),
        keep([short.as_str(), "--release"]),
    ];

    let expected = [
        (format!("Keeping \"Lisbon\" until you release it: {short}\n"), 0, Hold::User),
        (format!("\"Lisbon\" is kept already: {short}\n"), 0, Hold::User),
        (format!("Released \"Lisbon\", it can expire or be cleaned: {short}\n"), 0, Hold::None),
        (format!("\"Lisbon\" was not kept: {short}\n"), 0, Hold::None),
    ];
    assert_eq!(told, expected);
}

#[test]
fn scripts_read_the_hold_and_the_one_before() {
    let world = World::new();
    let trip = world.conversation("Lisbon");
    world.archive().update(trip.id(), |header| header.hold = Hold::Import).unwrap();

    let outcomes = [
        world.rejoin(["keep", "lisbon", "--json"]).run(),
        world.rejoin(["keep", "lisbon", "--release", "--json"]).run(),
    ];

    let (id, short) = (trip.id(), trip.id().short());
    let told = |hold: &str, was: &str| {
        Outcome::answer(&format!(
            "{{\"id\":\"{id}\",\"short\":\"{short}\",\"hold\":\"{hold}\",\"was\":\"{was}\",\
             \"expires_at\":null,\"exportable\":true}}\n"
        ))
    };
    assert_eq!(outcomes, [told("user", "import"), told("none", "user")]);
}

#[test]
fn what_is_not_there_cannot_be_kept() {
    let world = World::new();

    let outcome = world.rejoin(["keep", "lisbon"]).run();

    let expected = "error: no conversation or message `lisbon`\n\
                    hint: run `rejoin list` to see conversations, `rejoin tree` for messages\n";
    assert_eq!(outcome, Outcome::failure(1, expected));
}
