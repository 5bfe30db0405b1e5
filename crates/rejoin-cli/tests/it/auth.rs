//! Keys: kept in the keyring, and nowhere else.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::world::{Outcome, World};

pub(crate) const PLANTED: &str = "sk-planted-0123456789";

/// Why a machine without a desktop has no keyring.
pub(crate) const NO_KEYRING: &str = if cfg!(feature = "keyring") {
    "no keyring service answers on this machine"
} else {
    "this build cannot use a keyring: it was made without the feature `keyring`"
};

#[test]
fn a_machine_without_a_keyring_is_told_what_else_there_is() {
    let world = World::new();
    let started = Instant::now();

    let outcome = world.rejoin(["auth", "set", "anthropic"]).input(PLANTED).run();

    let hint = "name a variable that holds the key with `rejoin config set providers.anthropic.api_key_env NAME`, \
                or a command that prints it with `rejoin config set providers.anthropic.api_key_command COMMAND`";
    let expected =
        format!("error: could not keep the key of `anthropic` in the keyring: {NO_KEYRING}\nhint: {hint}\n");
    assert_eq!(outcome, Outcome::failure(1, &expected));
    // The limit is a second; the rest is room for a busy machine.
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[test]
fn what_cannot_be_a_key_is_refused_and_not_shown() {
    let world = World::new();

    let outcomes = [
        world.rejoin(["auth", "set", "anthropic"]).input("").run(),
        world.rejoin(["auth", "set", "anthropic"]).input("sk planted\n").run(),
        world.rejoin(["auth", "set", "offline"]).input(PLANTED).run(),
    ];

    let expected = [
        "error: could not read the key of `anthropic`: the key is empty\n",
        "error: could not read the key of `anthropic`: the key holds characters that no key has\n",
        "error: there is no key without a provider\n\
         hint: run `rejoin provider list` to see those that have one\n",
    ];
    assert_eq!(outcomes, expected.map(|stderr| Outcome::failure(1, stderr)));
}

#[test]
fn status_says_where_a_key_comes_from_and_never_the_key() {
    let world = World::new();
    world.user_config("[providers.openrouter]\napi_key_command = \"echo sk-planted-command\"\n");

    let outcome = world
        .rejoin(["auth", "status", "--json"])
        .variable("ANTHROPIC_API_KEY", PLANTED)
        .variable("OPENAI_API_KEY", "sk planted with spaces")
        .run();

    let keys: Vec<(String, String)> = outcome.json()["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (item["provider"].as_str().unwrap().to_owned(), item["key"].as_str().unwrap().to_owned()))
        .collect();
    let expected = [
        ("anthropic", "variable"),
        ("openai", "unusable"),
        ("openai-chat", "unusable"),
        ("openrouter", "command"),
        ("ollama", "not needed"),
        ("llama.cpp", "not needed"),
        ("vllm", "not needed"),
        ("offline", "not needed"),
    ];
    assert_eq!(keys, expected.map(|(name, key)| (name.to_owned(), key.to_owned())));
    assert_eq!(outcome.json()["keyring_error"], json!(NO_KEYRING));
    assert!(!format!("{outcome:?}").contains("planted"), "{outcome:?}");
}
