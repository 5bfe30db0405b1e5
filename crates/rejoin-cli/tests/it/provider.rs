//! Choosing a provider, and what is missing before it can be talked to.

use serde_json::json;

use crate::auth::NO_KEYRING;
use crate::world::{Outcome, World};

const FILE: &str = "home/.config/rejoin/config.toml";

#[test]
fn set_keeps_comments_and_says_what_to_do_next() {
    let world = World::new();
    world.user_config("# mine\nlog = \"off\" # quiet\n");

    let outcome = world.rejoin(["provider", "set", "anthropic", "--model", "m-1"]).run();

    let note = "\
Set provider to anthropic in [world]/home/.config/rejoin/config.toml
Its key is looked for in the variable ANTHROPIC_API_KEY and the keyring, which cannot be used here; there is none yet.
Next: run `rejoin auth set anthropic`
";
    assert_eq!(outcome, Outcome::note(note));
    let expected =
        "# mine\nlog = \"off\" # quiet\nprovider = \"anthropic\"\n\n[providers.anthropic]\nmodel = \"m-1\"\n";
    assert_eq!(world.read(FILE), expected);
}

#[test]
fn set_knows_when_nothing_is_missing() {
    let world = World::new();

    let outcome = world
        .rejoin(["provider", "set", "anthropic", "--model", "m-1", "--json"])
        .variable("ANTHROPIC_API_KEY", "sk-planted")
        .run();

    let expected = json!({
        "provider": "anthropic", "kind": "anthropic", "model": "m-1", "base_url": "https://api.anthropic.com/v1",
        "file": "[world]/home/.config/rejoin/config.toml", "key": "variable", "next": null,
    });
    assert_eq!((outcome.json(), outcome.stderr.as_str()), (expected, ""));
}

#[test]
fn a_server_of_ones_own_needs_an_address_and_no_key() {
    let world = World::new();
    let url = "http://127.0.0.1:9/v1";

    let refused = world.rejoin(["provider", "set", "mine", "--model", "m"]).run();
    let outcome = world.rejoin(["provider", "set", "mine", "--model", "m", "--base-url", url]).run();

    let refusal = "error: no provider `mine`\n\
                   hint: run `rejoin provider list` to see them, or add it: `rejoin provider set mine --base-url URL --model M`\n";
    let note =
        "Set provider to mine in [world]/home/.config/rejoin/config.toml\nNext: run `rejoin \"hello\"`\n";
    assert_eq!((refused, outcome), (Outcome::failure(1, refusal), Outcome::note(note)));
    let expected = "provider = \"mine\"\n\n[providers.mine]\nkind = \"openai-chat\"\n\
                    base_url = \"http://127.0.0.1:9/v1\"\nmodel = \"m\"\n";
    assert_eq!(world.read(FILE), expected);
}

#[test]
fn a_mistyped_name_is_met_with_the_likely_one() {
    let world = World::new();

    let outcomes = [
        world.rejoin(["provider", "set", "antropic"]).run(),
        world.rejoin(["auth", "status", "antropic"]).run(),
        world.rejoin(["provider", "show", "antropic"]).run(),
    ];

    let expected = "error: no provider `antropic`\nhint: did you mean `anthropic`?\n";
    assert_eq!(outcomes, [0, 1, 2].map(|_| Outcome::failure(1, expected)));
    assert!(!world.path(FILE).exists());
}

#[test]
fn the_list_names_every_preset_and_marks_the_one_in_use() {
    let world = World::new();
    world.user_config("provider = \"ollama\"\nproviders.ollama.model = \"llama\"\n");

    let outcome = world.rejoin(["provider", "list"]).variable("OPENAI_API_KEY", "sk-planted").run();

    let rows: Vec<String> = outcome
        .stdout
        .lines()
        .map(|line| line.split_whitespace().take(6).collect::<Vec<_>>().join(" "))
        .collect();
    let expected = [
        "name speaks model key about",
        "anthropic anthropic missing Anthropic",
        "openai openai-responses variable OPENAI_API_KEY OpenAI",
        "openai-chat openai-chat variable OPENAI_API_KEY OpenAI, through",
        "openrouter openai-chat missing OpenRouter",
        "* ollama openai-chat llama not needed",
        "llama.cpp openai-chat not needed llama.cpp on",
        "vllm openai-chat not needed vLLM on",
        "offline offline not needed no model:",
    ];
    assert_eq!(rows, expected);
}

#[test]
fn show_tells_what_is_in_use_and_where_that_was_said() {
    let world = World::new();
    world.user_config("provider = \"ollama\"\n[providers.ollama]\nmodel = \"llama\"\n[models.llama]\ncontext_window = 8192\n");

    let outcome = world.rejoin(["provider", "show"]).run();

    let expected = "\
name       ollama
speaks     openai-chat
base url   http://127.0.0.1:11434/v1
model      llama
window     8192 tokens
key        not needed
chosen by  [world]/home/.config/rejoin/config.toml:1
";
    assert_eq!(outcome, Outcome::answer(expected));
}

#[test]
fn talking_names_what_is_missing_and_the_command_that_adds_it() {
    let world = World::new();
    let no_model = "provider = \"anthropic\"\n";
    let no_key = "provider = \"anthropic\"\nproviders.anthropic.model = \"m\"\n";
    let nobody = "provider = \"nobody\"\n";

    let outcomes = [no_model, no_key, nobody].map(|config| {
        world.user_config(config);
        world.rejoin(["hello"]).run().stderr
    });

    let expected = [
        "error: no model of `anthropic` is chosen\n\
         hint: run `rejoin setup --provider anthropic`, or add `--model MODEL`\n",
        &format!(
            "error: there is no key of `anthropic`: the keyring is unavailable: {NO_KEYRING}\n\
             hint: put it into the variable `ANTHROPIC_API_KEY`\n"
        ),
        "error: no provider `nobody`\n\
         hint: run `rejoin provider list` to see them, or add it: `rejoin provider set nobody --base-url URL --model M`\n",
    ];
    assert_eq!(outcomes.map(|told| last_error(&told)), expected);
}

/// What is told from the error on: a note about the store may come before it.
fn last_error(told: &str) -> String {
    told.find("error: ").map_or_else(|| told.to_owned(), |start| told[start..].to_owned())
}

#[test]
fn a_key_in_its_usual_variable_is_noticed_and_nothing_is_sent() {
    let world = World::new();
    world.started("first");

    let outcome = world.rejoin(["my bicycle is green"]).variable("OPENAI_API_KEY", "sk-planted").run();

    let note = "OPENAI_API_KEY is set. To talk to OpenAI, run `rejoin setup`.\n";
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, note));
    assert!(outcome.stdout.starts_with("No model is configured"));
}

#[test]
fn doctor_names_what_is_wrong_with_the_provider() {
    let world = World::new();
    let configs = [
        "provider = \"nobody\"\n",
        "provider = \"openai\"\n",
        "provider = \"openai\"\nproviders.openai.model = \"m\"\n",
        "provider = \"ollama\"\nproviders.ollama.model = \"m\"\n",
    ];

    let found = configs.map(|config| {
        world.user_config(config);
        let checks = world.rejoin(["doctor", "--json"]).run().json()["checks"].clone();
        let check = checks.as_array().unwrap().iter().find(|check| check["name"] == "provider").cloned();
        check.map(|check| (check["state"].clone(), check["message"].clone()))
    });

    let expected = [
        Some((json!("problem"), json!("no provider `nobody`"))),
        Some((json!("warning"), json!("no model of `openai` is chosen"))),
        Some((json!("problem"), json!("there is no key of `openai`"))),
        None,
    ];
    assert_eq!(found, expected);
}
