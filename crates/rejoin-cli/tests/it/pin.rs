//! `rejoin pin`: a message that every view shows.

use crate::past::ask;
use crate::world::{Outcome, World};

#[test]
fn a_pin_is_set_and_taken_away() {
    let world = World::new();
    let mut trip = world.conversation("Lisbon");
    let [question, _] = ask(&mut trip, "Where to eat?", "In Alfama.");
    let pin = |arguments: &[&str]| {
        let outcome = match arguments {
            [] => world.rejoin(["pin", question.as_str()]).run(),
            _ => world.rejoin(["pin", question.as_str(), "--remove"]).run(),
        };
        let stored = world.archive().messages(trip.id(), &[question]).unwrap();
        (outcome, stored[0].is_pinned)
    };

    let told = [pin(&[]), pin(&[]), pin(&["--remove"]), pin(&["--remove"])];

    let expected = [
        ("Pinned; compaction keeps it", true),
        ("Pinned already", true),
        ("Took away the pin", false),
        ("It was not pinned", false),
    ];
    let expected = expected.map(|(note, pinned)| (Outcome::note(&format!("{note}: {question}\n")), pinned));
    assert_eq!(told, expected);
}

#[test]
fn a_pin_leaves_the_label_and_is_shown() {
    let world = World::new();
    let mut trip = world.conversation("Lisbon");
    let [question, _] = ask(&mut trip, "Where to eat?", "In Alfama.");
    world.rejoin(["label", question.as_str(), "food"]).run();

    let answer = world.rejoin(["pin", question.as_str(), "--json"]).run();

    let shown = world.rejoin(["show", question.as_str()]).run().stdout;
    let id = trip.id();
    let expected =
        format!("{{\"conversation\":\"{id}\",\"message\":\"{question}\",\"pinned\":true,\"was\":false}}\n");
    assert_eq!(answer, Outcome::answer(&expected));
    assert!(shown.contains("[USER] (food) pinned\n"), "{shown}");
}
