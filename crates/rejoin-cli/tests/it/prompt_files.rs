//! `@file` and `!command` at the prompt: what goes to the model beside a message, and what is refused.

use serde_json::{Value, json};

use crate::model_server::{ModelServer, Step, reply};
use crate::terminal::Terminal;
use crate::world::World;

/// The first bytes of every PNG.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n0000";

fn talking() -> (World, ModelServer) {
    let world = World::new();
    let server = ModelServer::start(|_| reply("There."));
    world.user_config(&server.config());
    (world, server)
}

/// Opens the prompt.
fn prompt(world: &World) -> Option<Terminal<'_>> {
    let terminal = Terminal::open(world, 80, 40)?;
    terminal.enter("rejoin");
    terminal.wait_for_last(">");
    Some(terminal)
}

/// What the user says in the first request that has these words.
fn content(server: &ModelServer, words: &str) -> Value {
    let requests = server.requests();
    let asked = requests.iter().flat_map(|request| request["messages"].as_array().unwrap());
    let found =
        asked.map(|message| message["content"].clone()).find(|content| content.to_string().contains(words));
    found.unwrap_or_else(|| panic!("{words:?} was not asked: {:?}", server.bodies()))
}

#[test]
fn a_file_is_completed_attached_and_folded() {
    let (world, server) = talking();
    world.write("project/notes/menu.txt", "fish\nrice\n");
    let Some(terminal) = prompt(&world) else { return };

    terminal.letters("What is in @no");
    terminal.key("Tab");
    terminal.wait_for_last("> What is in @notes/");
    terminal.key("Tab");
    terminal.wait_for_last("> What is in @notes/menu.txt");
    terminal.key("Enter");
    terminal.wait_for("There.");
    let screen = terminal.wait_for_last(">");
    terminal.enter("/quit");
    terminal.wait_for("Continue:");
    terminal.enter("clear; rejoin -r");
    let resumed = terminal.wait_for_last(">");
    let shown = world.rejoin(["show"]).run().stdout;

    let sent = "What is in @notes/menu.txt\n\n<file name=\"notes/menu.txt\">\nfish\nrice\n</file>";
    let typed = content(&server, "menu.txt");
    assert_eq!(
        typed.as_str().map(str::trim_end).map(|text| text.replace(" \n", "\n")),
        Some(sent.to_owned())
    );
    assert!(screen.contains("Attached notes/menu.txt (2 lines)."), "{screen}");
    assert!(resumed.contains("> What is in @notes/menu.txt") && !resumed.contains("fish"), "{resumed}");
    assert!(shown.contains("[@notes/menu.txt; to see all: --full]") && !shown.contains("fish"), "{shown}");
}

#[test]
fn a_file_that_cannot_be_attached_is_told_and_the_line_can_be_corrected() {
    let (world, server) = talking();
    world.write("project/huge.txt", &"a".repeat(300_000));
    world.write("outside.txt", "secret");
    std::fs::write(world.path("project/data.bin"), [0_u8, 1, 2, 3]).unwrap();
    std::os::unix::fs::symlink("../outside.txt", world.path("project/link.txt")).unwrap();
    let Some(terminal) = prompt(&world) else { return };

    let told = [
        ("@missing.txt", "there is no file `missing.txt`"),
        ("@huge.txt", "it is larger than 256 kB"),
        ("@data.bin", "it is neither text nor an image"),
        ("@link.txt", "it is a link that leads out of the project"),
    ];
    for (line, failure) in told {
        terminal.enter(line);
        terminal.wait_for(failure);
        terminal.wait_for_last(&format!("> {line}"));
        terminal.key("C-c");
        terminal.wait_for_last(">");
    }
    terminal.enter("mail @anna about @@missing.txt");
    terminal.wait_for("There.");

    assert_eq!(content(&server, "mail"), json!("mail @anna about @missing.txt"));
}

#[test]
fn an_image_is_sent_as_one_and_needs_a_model() {
    let (world, server) = talking();
    std::fs::write(world.path("project/dish.png"), PNG).unwrap();
    let Some(terminal) = prompt(&world) else { return };

    terminal.enter("What is @dish.png");
    terminal.wait_for("There.");
    terminal.wait_for_last(">");
    terminal.enter("/provider offline");
    terminal.wait_for("Provider offline");
    terminal.enter("And @dish.png now");
    terminal.wait_for("send an image without a model");

    let image = "data:image/png;base64,iVBORw0KGgowMDAw";
    let expected = json!([
        {"type": "text", "text": "What is @dish.png"},
        {"type": "image_url", "image_url": {"url": image}},
    ]);
    assert_eq!(content(&server, "What is"), expected);
}

#[test]
fn a_model_that_takes_no_images_is_told_with_a_way_forward() {
    let world = World::new();
    let server = ModelServer::start(|request| match request.to_string().contains("image_url") {
        true => {
            vec![Step::Status(400, &[], r#"{"error":{"message":"image input is not supported"}}"#.to_owned())]
        }
        false => reply("There."),
    });
    world.user_config(&server.config());
    std::fs::write(world.path("project/dish.png"), PNG).unwrap();
    let Some(terminal) = prompt(&world) else { return };

    terminal.enter("What is @dish.png");
    let refused = terminal.wait_for("hint: take the message back with /rewind");
    terminal.wait_for_last(">");
    terminal.enter("/rewind");
    terminal.wait_for_last("> What is @dish.png");
    terminal.key("C-c");
    terminal.wait_for_last(">");
    terminal.enter("Where to eat?");
    terminal.wait_for("There.");

    assert!(refused.contains("image input is not supported"), "{refused}");
}

#[test]
fn the_output_of_a_command_goes_along_with_the_next_message() {
    let (world, server) = talking();
    let Some(terminal) = prompt(&world) else { return };

    terminal.enter("!echo lost");
    terminal.wait_for("The next message includes this output.");
    terminal.wait_for_last(">");
    terminal.enter("!");
    terminal.wait_for("The next message does not include the output.");
    terminal.enter("!echo one; echo two >&2; exit 3");
    terminal.wait_for("The command ended with exit status: 3.");
    terminal.wait_for_last(">");
    terminal.enter("What is that?");
    terminal.wait_for("There.");

    let asked = content(&server, "What is that?").as_str().unwrap().to_owned();
    assert!(asked.contains("one\ntwo\n") && asked.contains("[exit status: 3]"), "{asked}");
    assert!(!asked.contains("lost"), "{asked}");
}
