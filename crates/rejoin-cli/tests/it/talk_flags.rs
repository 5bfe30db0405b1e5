//! `-m`, `-p` and `-s`, and words that are no message.

use serde_json::Value;

use crate::model_server::{ModelServer, reply};
use crate::world::{Outcome, World};

/// The model that was asked for, and the beginning of what it was told first.
fn asked(server: &ModelServer) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let first = |request: &Value| text(&request["messages"][0]["content"]).lines().next().unwrap().to_owned();
    server.requests().iter().map(|request| (text(&request["model"]), first(request))).collect()
}

#[test]
fn a_run_names_provider_model_and_instructions_and_the_conversation_keeps_them() {
    let (world, server) = (World::new(), ModelServer::start(|_| reply("fine")));
    world.user_config(&server.config().replacen("provider = \"local\"\n", "", 1));

    world.rejoin(["-p", "local", "-m", "large", "-s", "Answer like a pirate.", "-q", "hello"]).run();
    world.rejoin(["-q", "-r", "and now?"]).run();
    world.rejoin(["-q", "-r", "-s", "Answer in Latin.", "and now?"]).run();

    let large = |told: &str| ("large".to_owned(), told.to_owned());
    let expected =
        [large("Answer like a pirate."), large("Answer like a pirate."), large("Answer in Latin.")];
    assert_eq!(asked(&server), expected);
}

#[test]
fn a_message_where_a_provider_is_expected_is_not_sent() {
    let world = World::new();

    let outcomes = [
        world.rejoin(["-p", "what is the capital of Peru?"]).run(),
        world.rejoin(["chat", "-p", "say \"hi\"", "hello"]).run(),
    ];

    let told = |quoted| {
        let told = "error: `-p` takes the name of a provider, not a message\nhint: to send it, run `rejoin ";
        Outcome::failure(2, &format!("{told}{quoted}`\n"))
    };
    assert_eq!(outcomes, ["\"what is the capital of Peru?\"", "'say \"hi\"'"].map(told));
}

#[test]
fn a_word_that_looks_like_a_command_never_reaches_a_model() {
    let (world, server) = (World::new(), ModelServer::start(|_| reply("fine")));
    world.user_config(&server.config());

    let words = ["login", "history", "sessions", "serve", "modles", "setp"];
    let outcomes = words.map(|word| world.rejoin([word]).run().stderr.replace(word, "WORD"));

    let told = |next: &str| {
        format!("error: `WORD` is not a command\nhint: {next} To send it as a message: `rejoin -- WORD`\n")
    };
    let expected = [
        told("did you mean `rejoin setup`?"),
        told("did you mean `rejoin list`?"),
        told("did you mean `rejoin list`?"),
        told("run `rejoin --help` to see the commands."),
        told("did you mean `rejoin models`?"),
        told("did you mean `rejoin setup`?"),
    ];
    assert_eq!((outcomes, server.requests().len()), (expected, 0));
}

#[test]
fn a_typo_with_arguments_is_met_with_the_command_and_bare_words_with_quotes() {
    let (world, server) = (World::new(), ModelServer::start(|_| reply("fine")));
    world.user_config(&server.config());

    let outcomes = [
        world.rejoin(["serach", "foo"]).run(),
        world.rejoin(["sessions", "--all"]).run(),
        world.rejoin(["where", "to", "eat?"]).run(),
    ];

    let expected = [
        "error: `serach` is not a command\nhint: did you mean `rejoin search foo`?\n",
        "error: `sessions` is not a command\nhint: did you mean `rejoin list --all`?\n",
        "error: a message of several words needs quotes\nhint: run `rejoin \"where to eat?\"`\n",
    ];
    assert_eq!(outcomes, expected.map(|told| Outcome::failure(2, told)));
    assert_eq!(server.requests().len(), 0);
}
