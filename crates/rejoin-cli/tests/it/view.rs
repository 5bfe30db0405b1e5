//! `rejoin show --view`: the request that a model would be sent, and what was mended in it.

use serde_json::{Value, json};

use crate::model_server::{ModelServer, reply};
use crate::world::{Outcome, World};

/// A question, a call that was never answered, and thinking of another provider.
const DAMAGED: &str = r#"{"role":"user","content":"Where to eat?"}
{"role":"assistant","content":[{"type":"thinking","text":"hm"},{"type":"tool_call","id":"c1","name":"read","input":{"path":"a.txt"}}]}
"#;

fn request(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.stdout).unwrap()
}

#[test]
fn the_request_that_would_be_sent_is_shown_to_the_letter() {
    let server = ModelServer::start(|_| reply("In Alfama."));
    let world = World::new();
    world.user_config(&server.config());
    world.write("project/AGENTS.md", "Speak of fish.\n");
    world.rejoin(["Where to eat?"]).run();
    world.rejoin(["-r", "And on a budget?"]).run();
    let messages = world.rejoin(["show", "--json"]).run().json()["messages"].clone();
    let last_question = messages[2]["id"].as_str().unwrap().to_owned();

    let shown = world.rejoin(["show", &last_question, "--view", "chat"]).run();

    let sent = server.bodies().into_iter().find(|body| body.contains("budget") && body.contains("\"tools\""));
    let sent = sent.unwrap().replace(world.path("").to_str().unwrap().trim_end_matches('/'), "[world]");
    assert_eq!((shown.stdout.trim_end(), shown.code), (sent.as_str(), 0));
    assert_eq!(shown.stderr, "");
}

#[test]
fn every_language_can_be_shown_without_a_key_and_with_what_was_mended() {
    let world = World::new();
    world.started("Lisbon");
    let ids = world.append("lisbon", DAMAGED);

    let shown = ["anthropic", "responses", "chat"]
        .map(|language| world.rejoin(["show", "lisbon", "--view", language]).run());

    let [anthropic, responses, chat] = shown.each_ref().map(request);
    assert_eq!(anthropic["messages"][2]["content"][0]["tool_use_id"], "c1", "{anthropic}");
    let output = responses["input"].as_array().unwrap().last().unwrap();
    assert_eq!(output["type"], "function_call_output", "{responses}");
    assert_eq!(chat["messages"][3]["tool_call_id"], "c1", "{chat}");
    let names: Vec<&Value> =
        chat["tools"].as_array().unwrap().iter().map(|tool| &tool["function"]["name"]).collect();
    assert!(names.contains(&&json!("read")), "{names:?}");
    let told = format!("The call `c1` has no result; a stub stands for it. {}\n", ids[1]);
    let told =
        shown.map(|outcome| (outcome.code, outcome.stderr.ends_with(&told), outcome.stderr.lines().count()));
    assert_eq!(told, [(0, true, 2); 3]);
}

#[test]
fn a_program_reads_the_request_and_the_repairs() {
    let world = World::new();
    world.started("Lisbon");
    let ids = world.append("lisbon", DAMAGED);

    let outcome = world.rejoin(["show", "lisbon", "--view", "chat", "--json"]).run();

    let answer = outcome.json();
    let repairs = json!([
        {"message": ids[1], "repair": "Thinking of another provider is left out."},
        {"message": ids[1], "repair": "The call `c1` has no result; a stub stands for it."},
    ]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    assert_eq!(answer["repairs"], repairs);
    assert_eq!(answer["request"]["messages"][1]["content"], "Where to eat?");
}

#[test]
fn a_language_that_does_not_exist_is_refused() {
    let world = World::new();
    world.started("Lisbon");

    let outcome = world.rejoin(["show", "lisbon", "--view", "latin"]).run();

    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
}

#[test]
fn looking_changes_nothing() {
    let world = World::new();
    world.started("Lisbon");
    world.append("lisbon", DAMAGED);
    let before = world.rejoin(["show", "lisbon", "--json"]).run();

    world.rejoin(["show", "lisbon", "--view", "anthropic"]).run();

    assert_eq!(world.rejoin(["show", "lisbon", "--json"]).run(), before);
}
