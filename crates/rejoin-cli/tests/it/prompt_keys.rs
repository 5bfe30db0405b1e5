//! The keys of the prompt: what stops a reply, what exits, and what becomes of text that is typed meanwhile.

use serde_json::Value;

use crate::model_server::{ModelServer, Step, call, end, reply, text};
use crate::terminal::Terminal;
use crate::world::World;

/// A model that holds its first reply in the middle, and answers every other one.
fn stalling() -> (World, ModelServer) {
    let world = World::new();
    let server = ModelServer::start(|request| {
        let messages = request["messages"].as_array().unwrap();
        let is_first = messages.last().is_some_and(|message| message["content"] == "begin");
        if is_first { vec![text("In Alfama "), Step::Hold] } else { reply("There.") }
    });
    world.user_config(&server.config());
    (world, server)
}

/// Opens the prompt and asks for the reply that does not end.
fn waiting<'a>(world: &'a World, server: &ModelServer) -> Option<Terminal<'a>> {
    let terminal = Terminal::open(world, 80, 24)?;
    terminal.enter("rejoin");
    terminal.wait_for_last(">");
    terminal.enter("begin");
    server.wait_until_held();
    terminal.wait_for("In Alfama");
    Some(terminal)
}

#[test]
fn escape_stops_a_reply_and_text_typed_meanwhile_stands_on_the_next_line() {
    let (world, server) = stalling();
    let Some(terminal) = waiting(&world, &server) else { return };

    terminal.enter("and in Porto?");
    terminal.key("Escape");
    let stopped = terminal.wait_for_last("> and in Porto?");
    terminal.key("Enter");
    terminal.wait_for("There.");
    terminal.wait_for_last(">");

    assert!(stopped.contains("Stopped. What had arrived is kept."), "{stopped}");
    let last = server.requests().into_iter().rfind(|request| is_asked(request, "and in Porto?"));
    assert!(last.is_some(), "{:?}", server.bodies());
}

fn is_asked(request: &Value, words: &str) -> bool {
    request["messages"].as_array().unwrap().iter().any(|message| message["content"] == words)
}

#[test]
fn an_interrupt_stops_a_reply_then_clears_the_line_then_exits() {
    let (world, server) = stalling();
    let Some(terminal) = waiting(&world, &server) else { return };

    terminal.key("C-c");
    terminal.wait_for_last(">");
    terminal.letters("some text");
    terminal.wait_for_last("> some text");
    terminal.key("C-c");
    let cleared = terminal.wait_for_last(">");
    terminal.key("C-c");
    terminal.wait_for("Press Ctrl+C again to exit.");
    terminal.wait_for_last(">");
    terminal.key("C-c");
    terminal.wait_for("Continue: rejoin -r");

    assert!(!cleared.contains("again to exit"), "{cleared}");
}

#[test]
fn text_typed_ahead_of_a_question_is_kept_and_does_not_answer_it() {
    let world = World::new();
    let server = ModelServer::start(|request| {
        let messages = request["messages"].as_array().unwrap();
        match messages.last().map(|message| message["role"].as_str().unwrap()) {
            Some("tool") => reply("It is done."),
            _ => vec![
                text("Let me look. "),
                Step::Rest(std::time::Duration::from_secs(2)),
                call("c1", "run", &serde_json::json!({"command": "touch made"})),
                end("tool_calls"),
            ],
        }
    });
    world.user_config(&server.config());
    let Some(terminal) = Terminal::open(&world, 80, 24) else { return };
    terminal.enter("rejoin");
    terminal.wait_for_last(">");
    terminal.enter("begin");
    terminal.wait_for("Let me look.");

    terminal.letters("yes, yes");
    terminal.wait_for("Allow?");
    terminal.press("i");
    terminal.wait_for("What should it do instead?");
    terminal.enter("Use a folder.");
    terminal.wait_for("It is done.");
    terminal.wait_for_last("> yes, yes");

    assert!(!world.path("project/made").exists());
    let told = server.bodies().into_iter().any(|body| body.contains("did not allow this: Use a folder."));
    assert!(told, "{:?}", server.bodies());
}

#[test]
fn an_interrupt_ends_a_search_among_the_lines_of_the_past() {
    let world = World::new();
    let Some(terminal) = Terminal::open(&world, 80, 24) else { return };
    terminal.enter("rejoin");
    terminal.wait_for_last(">");
    terminal.enter("my bicycle is green");
    terminal.wait_for("/help shows commands");
    terminal.wait_for_last(">");

    terminal.key("C-r");
    terminal.letters("bicy");
    terminal.wait_for("(search: bicy)");
    terminal.key("C-c");
    terminal.wait_for_last(">");
    terminal.letters("still here");

    terminal.wait_for_last("> still here");
}

#[test]
fn the_line_can_be_written_in_an_editor() {
    let world = World::new();
    world.write("editor", "#!/bin/sh\nprintf ' in Lisbon?' >> \"$1\"\n");
    let editor = world.path("editor");
    let Some(terminal) = Terminal::open(&world, 80, 24) else { return };
    terminal.enter(&format!("VISUAL='sh {}' rejoin", editor.display()));
    terminal.wait_for_last(">");

    terminal.letters("Where to eat");
    terminal.wait_for_last("> Where to eat");
    terminal.key("C-x");
    terminal.key("C-e");

    terminal.wait_for_last("> Where to eat in Lisbon?");
}
