//! `rejoin conversation delete`: messages go together or not at all.

use serde_json::json;

use crate::world::{Outcome, World};

const TALK: &str = "{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"assistant\",\"content\":\"b\"}\n\
                    {\"role\":\"user\",\"content\":\"c\"}\n";

fn left(world: &World, id: &str) -> u64 {
    world.archive().conversation(id.parse().unwrap()).unwrap().messages
}

#[test]
fn a_message_that_others_follow_is_not_deleted() {
    let world = World::new();
    let id = world.started("Lisbon");
    let ids = world.append("lisbon", TALK);

    let outcome = world.rejoin(["conversation", "delete", &ids[2], &ids[0]]).run();

    let expected = "error: cannot delete message with ID [0]: message has children\n\
                    hint: pass `--cascade` to delete its replies too\n";
    assert_eq!(outcome.naming(&[(&ids[0], "[0]")]), Outcome::failure(1, expected));
    assert_eq!(left(&world, &id), 3);
}

#[test]
fn a_leaf_is_deleted_and_a_message_that_is_not_there_succeeds() {
    let world = World::new();
    let id = world.started("Lisbon");
    let ids = world.append("lisbon", TALK);

    let outcomes = [
        world.rejoin(["conversation", "delete", &ids[2]]).run(),
        world.rejoin(["convo", "rm", &ids[2]]).run(),
        world.rejoin(["convo", "rm", "--json", &ids[2]]).run(),
    ];

    let [deleted, missing, script] = outcomes.map(|outcome| outcome.naming(&[(&ids[2], "[2]")]));
    assert_eq!(deleted, Outcome::answer("Successfully deleted message [2]\n"));
    assert_eq!(missing, Outcome::answer(""));
    assert_eq!(script.json(), json!({"deleted": [], "missing": ["[2]"], "messages": 0, "bytes": 0}));
    assert_eq!(left(&world, &id), 2);
}

#[test]
fn a_cascade_takes_the_descendants_along() {
    let world = World::new();
    let id = world.started("Lisbon");
    let ids = world.append("lisbon", TALK);

    let outcome = world.rejoin(["convo", "rm", "--cascade", &format!("lisbon/{}", ids[1])]).run();

    let expected = "Successfully deleted message [1] and all its descendants\n";
    assert_eq!(outcome.naming(&[(&ids[1], "[1]")]), Outcome::answer(expected));
    assert_eq!(left(&world, &id), 1);
}

#[test]
fn names_that_are_not_whole_ids_of_one_conversation_delete_nothing() {
    let world = World::new();
    let porto = world.started("Porto");
    let theirs = world.append("porto", TALK);
    let lisbon = world.started("Lisbon");
    let ids = world.append("lisbon", TALK);

    let outcomes = [
        world.rejoin(["convo", "rm", &ids[2][..5]]).run(),
        world.rejoin(["convo", "rm", &ids[2], &theirs[2]]).run(),
        world.rejoin(["convo", "rm", "../../etc/passwd!"]).run(),
    ];

    let names = [(ids[2].as_str(), "[2]"), (&ids[2][..5], "[beginning]")];
    let expected = [
        "error: `[beginning]` is only the beginning of an id\nhint: to delete it, type the full ID [2]\n",
        "error: messages of several conversations cannot be deleted together\n\
         hint: run the command once for each conversation\n",
        "error: `passwd!` is not a message id: 1 to 15 letters and digits\n",
    ];
    let expected = expected.map(|told| Outcome::failure(1, told));
    assert_eq!(outcomes.map(|outcome| outcome.naming(&names)), expected);
    assert_eq!([left(&world, &porto), left(&world, &lisbon)], [3, 3]);
}
