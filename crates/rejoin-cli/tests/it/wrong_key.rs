//! A key that the provider does not accept: one line that names it, and the command that replaces it.

use serde_json::json;

use crate::model_server::ModelServer;
use crate::terminal::Terminal;
use crate::world::World;

const KEY: &str = "sk-wrong-0123456789abcdef";

const HINT: &str = "hint: correct `LOCAL_KEY`, or unset it and run `rejoin auth set local`";

/// A provider that accepts no key, and quotes the one it got.
fn refusing(world: &World) -> ModelServer {
    let complaint =
        json!({"error": {"message": format!("Incorrect API key: {KEY}"), "code": "invalid_api_key"}});
    let server = ModelServer::refusing(401, &complaint);
    world.user_config(&format!("{}api_key_env = \"LOCAL_KEY\"\n", server.config()));
    server
}

#[test]
fn a_key_that_is_not_accepted_is_named_with_the_command_that_replaces_it() {
    let world = World::new();
    let server = refusing(&world);
    let address = server.url().replace("http://", "").replace("/v1", "");
    let with_key = |run: crate::world::Invocation<'_>| run.variable("LOCAL_KEY", KEY).run();

    let outcomes = [
        with_key(world.rejoin(["--quiet", "Where to eat?"])),
        with_key(world.rejoin(["models"])),
        with_key(world.rejoin(["setup", "--provider", "local", "--model", "scripted", "--yes"])),
    ];

    let told = |what: &str| {
        format!(
            "error: `local` does not accept the key in `LOCAL_KEY`: could not ask `local` at `{address}` for \
             {what}: the status is 401: invalid_api_key: Incorrect API key: [redacted]\n{HINT}\n"
        )
    };
    let expected = [told("a reply"), told("its models"), told("a reply")];
    assert_eq!(outcomes.each_ref().map(|outcome| &outcome.stderr), expected.each_ref());
    assert_eq!(outcomes.map(|outcome| (outcome.stdout, outcome.code)), [(); 3].map(|()| (String::new(), 1)));
}

#[test]
fn the_prompt_names_the_key_and_goes_on() {
    let world = World::new();
    let _server = refusing(&world);
    let Some(terminal) = Terminal::open(&world, 100, 40) else { return };
    terminal.enter(&format!("LOCAL_KEY={KEY} rejoin; clear"));
    terminal.wait_for_last(">");

    terminal.enter("Where to eat?");

    let screen = terminal.wait_for("rejoin auth set local");
    terminal.wait_for_last(">");
    assert!(screen.contains("does not accept the key in `LOCAL_KEY`"), "{screen}");
}
