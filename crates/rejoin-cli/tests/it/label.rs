//! `rejoin label`: a word beside a message.

use crate::past::ask;
use crate::world::{Outcome, World};

#[test]
fn a_label_is_set_replaced_and_taken_away() {
    let world = World::new();
    let mut trip = world.conversation("Lisbon");
    let [question, _] = ask(&mut trip, "Where to eat?", "In Alfama.");
    let label = |arguments: &[&str]| {
        let outcome = match arguments {
            [text] => world.rejoin(["label", question.as_str(), text]).run(),
            [first, second] => world.rejoin(["label", question.as_str(), first, second]).run(),
            _ => world.rejoin(["label", question.as_str(), "--remove"]).run(),
        };
        let stored = world.archive().messages(trip.id(), &[question]).unwrap();
        (outcome, stored[0].message.label.clone())
    };

    let told = [label(&["good", "idea"]), label(&["bad\u{7}"]), label(&[]), label(&[])];

    let expected = [
        ("Labeled \"good idea\"", Some("good idea")),
        ("Labeled \"bad\u{2407}\" instead of \"good idea\"", Some("bad\u{7}")),
        ("Removed the label \"bad\u{2407}\"", None),
        ("There was no label", None),
    ];
    let expected = expected
        .map(|(note, label)| (Outcome::note(&format!("{note}: {question}\n")), label.map(str::to_owned)));
    assert_eq!(told, expected);
}

#[test]
fn scripts_read_the_label_and_the_one_before() {
    let world = World::new();
    let mut trip = world.conversation("Lisbon");
    let [question, _] = ask(&mut trip, "Where to eat?", "In Alfama.");

    let outcomes =
        ["idea", "plan"].map(|text| world.rejoin(["label", question.as_str(), text, "--json"]).run());

    let told = |now, was| {
        let (id, label) = (trip.id(), format!("\"label\":\"{now}\",\"was\":{was}"));
        Outcome::answer(&format!("{{\"conversation\":\"{id}\",\"message\":\"{question}\",{label}}}\n"))
    };
    assert_eq!(outcomes, [told("idea", "null"), told("plan", "\"idea\"")]);
}

#[test]
fn a_label_needs_text_or_its_removal_and_not_both() {
    let world = World::new();

    let codes = [
        world.rejoin(["label", "x7Gh2a"]).run().code,
        world.rejoin(["label", "x7Gh2a", "idea", "--remove"]).run().code,
    ];

    assert_eq!(codes, [2, 2]);
}
