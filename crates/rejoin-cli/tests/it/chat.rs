//! `rejoin chat`: one turn in the active conversation.

use rejoin::{List, Role};

use crate::world::World;

#[test]
fn chat_goes_on_in_the_active_conversation() {
    let world = World::new();
    let lisbon = world.started("Lisbon");
    world.started("Porto");
    world.rejoin(["resume", "lisbon"]).run();

    let outcomes =
        [world.rejoin(["chat", "Where to eat?"]).run(), world.rejoin(["chat", "And to drink?"]).run()];

    let path = world.archive().path(lisbon.parse().unwrap(), None).unwrap();
    let roles: Vec<Role> = path.iter().map(|said| said.message.role).collect();
    assert_eq!(outcomes.each_ref().map(|outcome| outcome.code), [0, 0]);
    assert_eq!(roles, [Role::User, Role::Assistant, Role::User, Role::Assistant]);
    let expected = "[Resuming \"Lisbon\"]\nResumed conversation with 2 messages\n";
    assert_eq!(outcomes[1].stderr, expected);
}

#[test]
fn without_an_active_conversation_one_begins_and_becomes_active() {
    let world = World::new();

    world.rejoin(["chat", "Where to eat?"]).run();
    world.rejoin(["chat", "And to drink?"]).run();

    let listed = world.archive().list(&List::default()).unwrap().items;
    let counts: Vec<u64> = listed.iter().map(|stored| stored.messages).collect();
    assert_eq!(counts, [4]);
}
