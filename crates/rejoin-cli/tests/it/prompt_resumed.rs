//! Coming back at a terminal: the end of the conversation as it looked, and the model it was held with.

use rejoin::{Message, Role};
use serde_json::json;

use crate::model_server::{ModelServer, call, end, reply};
use crate::terminal::Terminal;
use crate::world::World;

/// A conversation of so many exchanges, the last reply interrupted.
fn talked(world: &World, exchanges: usize) {
    let mut trip = world.conversation("Lisbon");
    for number in 1..=exchanges {
        trip.append(Message::user(format!("Question {number}?"))).unwrap();
        let mut answer = Message::assistant(format!("Answer **{number}**."));
        answer.finish = (number == exchanges).then(|| "interrupted".to_owned());
        trip.append(answer).unwrap();
    }
}

#[test]
fn the_end_of_the_conversation_is_drawn_again() {
    let world = World::new();
    talked(&world, 20);
    let Some(terminal) = Terminal::open(&world, 60, 20) else { return };

    terminal.enter("rejoin -r lisbon");
    let screen = terminal.wait_for_last(">");

    let expected = "\
Resumed conversation with 40 messages
34 more messages above. To see all: /show

> Question 18?
Answer 18.

> Question 19?
Answer 19.

> Question 20?
Answer 20.
This reply was interrupted.

offline · /help shows commands
";
    assert!(screen.contains(expected), "{screen}");
}

#[test]
fn quiet_and_pipes_draw_nothing() {
    let world = World::new();
    talked(&world, 2);
    let Some(terminal) = Terminal::open(&world, 60, 20) else { return };

    let piped = world.rejoin(["resume", "lisbon"]).run();
    terminal.enter("clear; rejoin --quiet -r lisbon");
    let quiet = terminal.wait_for_last(">");

    assert!(!piped.stdout.contains("Question") && !piped.stderr.contains("Question"), "{piped:?}");
    assert!(!quiet.contains("Question 2?"), "{quiet}");
}

#[test]
fn a_conversation_goes_on_with_the_model_it_was_held_with() {
    let world = World::new();
    let server = ModelServer::start(|_| reply("There."));
    world.user_config(&server.config());
    let Some(terminal) = Terminal::open(&world, 80, 24) else { return };
    terminal.enter("rejoin");
    terminal.wait_for_last(">");
    terminal.enter("Where to eat?");
    terminal.wait_for("There.");
    terminal.wait_for_last(">");

    terminal.enter("/model other");
    terminal.wait_for("Provider local, model other.");
    terminal.enter("/quit");
    terminal.wait_for("Continue:");
    terminal.enter("clear; rejoin -r");
    let other = terminal.wait_for_last(">");
    terminal.enter("/model scripted");
    terminal.wait_for("model scripted.");
    terminal.enter("/quit");
    terminal.wait_for("Continue:");
    terminal.enter("clear; rejoin -r");
    let configured = terminal.wait_for_last(">");

    assert!(other.contains("Using local (other), as this conversation did."), "{other}");
    assert!(!configured.contains("Using local"), "{configured}");
}

#[test]
fn the_first_message_can_be_entered_again_and_asked_again() {
    let world = World::new();
    let server = ModelServer::start(|_| reply("There."));
    world.user_config(&server.config());
    let Some(terminal) = Terminal::open(&world, 80, 40) else { return };
    terminal.enter("rejoin");
    terminal.wait_for_last(">");
    terminal.enter("Where to eat");
    terminal.wait_for("There.");
    terminal.wait_for_last(">");

    terminal.enter("/rewind");
    terminal.wait_for_last("> Where to eat");
    terminal.enter(" in Lisbon?");
    terminal.wait_until("the reply", |screen| screen.matches("There.").count() == 2);
    terminal.wait_for_last(">");
    terminal.enter("/retry");
    terminal.wait_until("the reply", |screen| screen.matches("There.").count() == 3);
    terminal.wait_for_last(">");

    let archive = world.archive();
    let stored = archive.list(&rejoin::List::default()).unwrap().items.remove(0);
    let order = rejoin::store::Order::OldestFirst;
    let messages = archive.reader().all_messages(stored.id, order, 0, 10).unwrap();
    let said: Vec<(bool, String)> = messages
        .iter()
        .filter(|stored| stored.message.role == Role::User)
        .map(|stored| (stored.parent.is_none(), stored.message.text()))
        .collect();
    let expected = ["Where to eat", "Where to eat in Lisbon?", "Where to eat in Lisbon?"];
    assert_eq!(said, expected.map(|text| (true, text.to_owned())));
}

#[test]
fn a_long_result_has_a_preview_and_a_key_shows_all_of_it() {
    let world = World::new();
    let server = ModelServer::start(|request| {
        let messages = request["messages"].as_array().unwrap();
        match messages.last().map(|message| message["role"].as_str().unwrap()) {
            Some("tool") => reply("Counted."),
            _ => vec![call("c1", "run", &json!({"command": "seq 101 112"})), end("tool_calls")],
        }
    });
    world.user_config(&server.config());
    let Some(terminal) = Terminal::open(&world, 80, 40) else { return };
    terminal.enter("rejoin --allow-all-tools");
    terminal.wait_for_last(">");
    terminal.enter("count");
    terminal.wait_for("Counted.");

    let folded = terminal.wait_for_last(">");
    terminal.key("C-o");
    terminal.wait_for("\n112\n");
    terminal.wait_for_last(">");
    terminal.enter("/quit");
    terminal.wait_for("Continue:");
    terminal.enter("clear; rejoin -r");
    let resumed = terminal.wait_for_last(">");

    let preview = "\
• Run `seq 101 112` · 12 lines
  │ 101
  │ 102
  │ 103
  │ ... 9 more lines (Ctrl+O shows all)
Counted.";
    assert!(folded.contains(preview), "{folded}");
    assert!(resumed.contains("> count\n• Run `seq 101 112` · 12 lines\nCounted.\n"), "{resumed}");
}
