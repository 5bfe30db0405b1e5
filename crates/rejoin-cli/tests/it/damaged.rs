//! A vault in which a message does not open: the rest is shown, exported and talked on, and what is missing is named.

use crate::vault::{damage, sealed};

#[test]
fn the_rest_of_a_conversation_is_shown_and_exported_and_what_is_missing_is_named() {
    let world = sealed();
    world.rejoin(["new", "--title", "Lisbon"]).run();
    world.rejoin(["append", "Where to eat?"]).run();
    world.rejoin(["append", "In Alfama."]).run();
    damage(&world);
    world.rejoin(["keep", "lisbon", "--exportable"]).run();

    let shown = world.rejoin(["show", "lisbon"]).run();
    let exported = world.rejoin(["export", "lisbon", "--output", "out.md"]).run();

    assert!(shown.stdout.contains("Where to eat?") && !shown.stdout.contains("Alfama"), "{shown:?}");
    let written = std::fs::read_to_string(world.path("project/out.md")).unwrap();
    assert!(written.contains("Where to eat?") && !written.contains("Alfama"), "{written}");
    for outcome in [shown, exported] {
        assert_eq!(outcome.code, 0, "{outcome:?}");
        assert!(outcome.stderr.contains("left out: the message `"), "{outcome:?}");
    }
}
