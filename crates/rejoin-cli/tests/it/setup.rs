//! `rejoin setup` and `rejoin models`: what is found, tested and stored, and what changes nothing.

use std::net::TcpListener;

use serde_json::json;

use crate::model_server::{ModelServer, Step, reply};
use crate::terminal::Terminal;
use crate::world::{Outcome, World};

const FILE: &str = "home/.config/rejoin/config.toml";

/// An address of this machine where nobody listens.
fn nowhere() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}/v1", listener.local_addr().unwrap())
}

/// Says where the servers of this machine are, so that a test finds only its own.
fn servers(ollama: &str, others: &str) -> String {
    format!(
        "[providers.ollama]\nbase_url = \"{ollama}\"\n\n[providers.\"llama.cpp\"]\nbase_url = \"{others}\"\n\n\
         [providers.vllm]\nbase_url = \"{others}\"\n"
    )
}

fn fine() -> ModelServer {
    ModelServer::offering(&["llama3.2:3b", "qwen3:8b"], |_| reply("ok"))
}

#[test]
fn a_choice_is_tested_with_one_request_and_stored() {
    let (world, server) = (World::new(), fine());
    let before = servers(&server.url(), &nowhere());
    world.user_config(&before);

    let outcome = world.rejoin(["setup", "--provider", "ollama", "--model", "qwen3:8b", "--yes"]).run();

    let note =
        "Stored in [world]/home/.config/rejoin/config.toml: Ollama, model qwen3:8b.\nTalk with it: rejoin\n";
    assert_eq!(outcome, Outcome::note(note));
    assert_eq!(server.requests().len(), 1);
    let expected = before.replacen("/v1\"\n", "/v1\"\nmodel = \"qwen3:8b\"\n", 1);
    assert_eq!(world.read(FILE), format!("provider = \"ollama\"\n{expected}"));
}

#[test]
fn a_program_gets_the_choice_as_json() {
    let (world, server) = (World::new(), ModelServer::offering(&["only"], |_| reply("ok")));
    world.user_config(&servers(&server.url(), &nowhere()));

    let outcome = world.rejoin(["setup", "--yes", "--json"]).run();

    let expected = json!({
        "provider": "ollama", "kind": "openai-chat", "model": "only", "base_url": server.url(),
        "file": "[world]/home/.config/rejoin/config.toml", "tested": true,
    });
    assert_eq!((outcome.json(), outcome.stderr.as_str()), (expected, ""));
}

#[test]
fn what_does_not_answer_is_told_and_not_stored() {
    let world = World::new();
    let server = ModelServer::offering(&["m"], |_| {
        vec![Step::Status(404, &[], json!({"error": {"message": "model not found"}}).to_string())]
    });
    let before = servers(&server.url(), &nowhere());
    world.user_config(&before);

    let outcome = world.rejoin(["setup", "--provider", "ollama", "--model", "m", "--yes"]).run();

    assert_eq!(outcome.code, 1);
    assert!(outcome.stderr.contains("model not found"), "{}", outcome.stderr);
    assert_eq!(world.read(FILE), before);
}

#[test]
fn several_possibilities_are_named_to_a_script() {
    let (world, server) = (World::new(), fine());
    world.user_config(&servers(&server.url(), &nowhere()));

    let model = world.rejoin(["setup", "--yes"]).run();
    let provider = world.rejoin(["setup", "--yes"]).variable("OPENAI_API_KEY", "sk-planted").run();
    let nobody = world.rejoin(["setup"]).run();

    let expected = [
        "error: Ollama has 2 models\nhint: add `--model MODEL`; `rejoin models --provider ollama` lists them\n",
        "error: several providers were found: openai, ollama\nhint: add `--provider NAME`\n",
    ];
    assert_eq!([model, provider], expected.map(|told| Outcome::failure(2, told)));
    let told = "error: not running in a terminal, so nothing can be asked\n\
                hint: run `rejoin setup --provider NAME --model MODEL --yes`\n";
    assert_eq!(nobody, Outcome::failure(1, told));
}

#[test]
fn models_are_listed_for_people_and_programs() {
    let (world, server) = (World::new(), fine());
    world.user_config(&format!(
        "provider = \"ollama\"\nproviders.ollama.model = \"qwen3:8b\"\nproviders.ollama.base_url = \"{}\"\n",
        server.url()
    ));

    let outcome = world.rejoin(["models"]).run();
    let script = world.rejoin(["models", "-p", "ollama", "--json"]).run();

    assert_eq!(outcome, Outcome::answer("  llama3.2:3b\n* qwen3:8b\n"));
    let item = |name, is_chosen| json!({"name": name, "provider": "ollama", "is_chosen": is_chosen});
    assert_eq!(script.json(), json!({"items": [item("llama3.2:3b", false), item("qwen3:8b", true)]}));
}

#[test]
fn a_provider_without_models_one_that_is_not_there_and_none_are_told_in_a_line() {
    let (world, server) = (World::new(), ModelServer::offering(&[], |_| reply("ok")));
    world.user_config(&servers(&server.url(), "http://127.0.0.1:1/v1"));

    let outcomes = [
        world.rejoin(["models", "-p", "ollama"]).run(),
        world.rejoin(["models", "-p", "vllm"]).run(),
        world.rejoin(["-p", "vllm", "-m", "m", "-G", "-q", "hello"]).run(),
        world.rejoin(["models"]).run(),
    ];

    let refused =
        "error: could not connect to vLLM at http://127.0.0.1:1; start it with `vllm serve MODEL`\n";
    let expected = [
        "error: Ollama has no models\nhint: run `ollama pull MODEL`\n",
        refused,
        &format!("warning: nothing is saved: this run is incognito\n{refused}"),
        "error: no provider is chosen\nhint: run `rejoin setup`, or add `--provider NAME`\n",
    ];
    assert_eq!(outcomes.map(|outcome| outcome.stderr), expected);
}

#[test]
fn a_provider_that_never_answers_is_given_up_in_a_line() {
    let world = World::new();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = silent.local_addr().unwrap();
    world.user_config(&format!(
        "provider = \"ollama\"\n[providers.ollama]\nbase_url = \"http://{place}/v1\"\nmodel = \"m\"\n\
         timeout_seconds = 1\n"
    ));
    world.started("Lisbon");

    let outcome = world.rejoin(["-q", "hello"]).run();

    let expected = format!("error: Ollama at http://{place} did not answer within 1 s\n");
    assert_eq!((outcome.code, outcome.stderr), (1, expected));
}

#[test]
fn a_project_cannot_choose_a_provider_by_being_set_up() {
    let (world, server) = (World::new(), fine());
    world.project_config(&format!(
        "provider = \"ollama\"\nproviders.ollama.base_url = \"{}\"\n",
        server.url()
    ));
    world.user_config(&servers(&nowhere(), &nowhere()));

    let outcome = world.rejoin(["setup", "--yes"]).run();

    assert_eq!((outcome.code, server.requests().len()), (1, 0));
    assert!(outcome.stderr.contains("no running model server was found"), "{}", outcome.stderr);
}

#[test]
fn a_person_chooses_at_the_first_start_and_talks_on() {
    let (world, server) = (World::new(), ModelServer::offering(&["qwen3:8b"], |_| reply("Hello, Ada.")));
    world.user_config(&servers(&server.url(), &nowhere()));
    let Some(terminal) = Terminal::open(&world, 100, 30) else { return };

    terminal.enter("rejoin");
    terminal.wait_for("1. Ollama (running at http://127.0.0.1:");
    terminal.wait_for_last("Provider (a number or a name; Enter to cancel):");
    terminal.enter("1");
    terminal.wait_for("1. qwen3:8b");
    terminal.wait_for_last("Model (a number or a name; Enter to cancel):");
    terminal.enter("qwen");
    terminal.wait_for("ollama (qwen3:8b)");
    terminal.wait_for_last(">");
    terminal.enter("hi");

    terminal.wait_for("Hello, Ada.");
    assert!(world.read(FILE).starts_with("provider = \"ollama\"\n"));
}

#[test]
fn whoever_declines_changes_nothing_and_is_not_asked_again() {
    let (world, server) = (World::new(), fine());
    let before = servers(&server.url(), &nowhere());
    world.user_config(&before);
    let Some(terminal) = Terminal::open(&world, 100, 30) else { return };

    terminal.enter("rejoin");
    terminal.wait_for_last("Provider (a number or a name; Enter to cancel):");
    terminal.enter("1");
    terminal.wait_for_last("Model (a number or a name; Enter to cancel):");
    terminal.key("Enter");
    terminal.wait_for("Nothing was changed. To choose a model later: rejoin setup");
    terminal.wait_for_last(">");
    terminal.key("C-d");
    terminal.wait_for_last("$");
    terminal.enter("clear; rejoin");
    let second = terminal.wait_for_last(">");

    assert!(!second.contains("No model is chosen yet"), "{second}");
    assert_eq!((world.read(FILE), server.requests().len()), (before, 0));
}
