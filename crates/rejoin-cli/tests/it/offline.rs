//! The main job on a fresh machine without a key: say something, come back in another process, ask about it.

use rejoin::{Archive, List, StoredConversation};

use crate::world::World;

fn only_conversation(archive: &Archive) -> StoredConversation {
    let mut items = archive.list(&List::default()).unwrap().items;
    assert_eq!(items.len(), 1);
    items.remove(0)
}

#[test]
fn what_was_said_is_found_again_by_another_process() {
    let world = World::new();

    let said = world.rejoin(["my bicycle is green"]).run();
    let asked = world.rejoin(["--resume", "", "what colour is my bicycle?"]).run();
    let again = world.rejoin(["--resume", "", "what is the capital of Peru?"]).run();

    let archive = world.archive();
    let conversation = only_conversation(&archive);
    let first = archive.path(conversation.id, None).unwrap()[0].id;
    let notice = "No model is configured, so this answers from the conversation alone; \
                  run `rejoin setup` in a shell to choose one.";
    let answers = [said.stdout, asked.stdout, again.stdout];
    let expected = [
        format!("{notice}\n\nWhat you said is kept; ask about it later.\n"),
        format!("No model is configured.\n\nYou said \"my bicycle is green\" in message {first}\n"),
        "No model is configured.\n\nNothing said earlier in this conversation answers that.\n".to_owned(),
    ];
    assert_eq!(answers, expected);
}

#[test]
fn a_conversation_gets_a_title_and_a_synopsis_and_keeps_the_title_it_was_given() {
    let world = World::new();

    world.rejoin(["Hello! Please remind me to oil my bicycle."]).run();
    let computed = only_conversation(&world.archive()).conversation;
    world.rejoin(["--resume", "", "--title", "mine", "and the chain"]).run();

    let synopsis = computed.synopsis.unwrap();
    assert_eq!(computed.title.as_deref(), Some("remind me to oil my bicycle"));
    assert_eq!(
        synopsis.text,
        "You said \"Please remind me to oil my bicycle\". \
         The reply was \"What you said is kept; ask about it later\"."
    );
    assert_eq!(synopsis.keywords, ["remind", "oil", "bicycle", "kept", "ask", "later"]);
}
