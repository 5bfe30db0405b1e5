//! What holds for every command: usage errors, suggestions, JSON errors, pages and completions.

use std::io::Read;
use std::process::{Command, Stdio};

use crate::world::{Outcome, World};

#[test]
fn a_mistyped_command_is_suggested_and_not_sent() {
    let world = World::new();

    let outcome = world.rejoin(["confgi"]).run();

    let expected = "error: `confgi` is not a command\n\
                    hint: did you mean `rejoin config`? To send it as a message: `rejoin -- confgi`\n";
    assert_eq!(outcome, Outcome::failure(2, expected));
}

#[test]
fn a_message_beside_a_command_is_refused() {
    let world = World::new();

    let outcome = world.rejoin(["hello", "man"]).run();

    let expected = "error: both a message, `hello`, and a command\nhint: quote a message of several words\n";
    assert_eq!(outcome, Outcome::failure(2, expected));
}

#[test]
fn a_wrong_flag_is_told_to_scripts_as_json() {
    let world = World::new();

    let outcome = world.rejoin(["config", "list", "--json", "--colour"]).run();

    let expected = "{\"error\":{\"kind\":\"usage\",\"message\":\"`--colour` is not an option of `rejoin config list`\",\
                    \"hint\":\"did you mean `--color`?\"}}\n";
    assert_eq!(outcome, Outcome::failure(2, expected));
}

#[test]
fn a_failure_is_told_to_scripts_as_json() {
    let world = World::new();

    let outcome = world.rejoin(["--json", "config", "get", "compact.model"]).run();

    let expected = "{\"error\":{\"kind\":\"not found\",\"message\":\"`compact.model` is not set\",\
                    \"hint\":\"run `rejoin config set compact.model VALUE`: \
                    the model that writes summaries; default: the conversation's model\"}}\n";
    assert_eq!(outcome, Outcome::failure(1, expected));
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let world = World::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_rejoin"))
        .args(["completions", "bash"])
        .env_clear()
        .env("HOME", world.path("home"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();

    drop(child.stdout.take());

    let mut complaint = String::new();
    child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
    assert_eq!((child.wait().unwrap().code(), complaint), (Some(0), String::new()));
}

#[test]
fn a_command_at_any_depth_has_a_manual_page() {
    let world = World::new();
    let directory = world.path("man");

    let outcome = world.rejoin(["man", "--directory", directory.to_str().unwrap()]).run();

    let written =
        ["rejoin.1", "rejoin-config.1", "rejoin-config-set.1"].map(|page| directory.join(page).exists());
    assert_eq!(outcome, Outcome::note("Wrote the manual pages to [world]/man\n"));
    assert_eq!(written, [true; 3]);
}

#[test]
fn completions_and_pages_need_no_valid_configuration() {
    let world = World::new();
    world.user_config("nonsense = 1\n");

    let codes = [world.rejoin(["completions", "zsh"]).run().code, world.rejoin(["man"]).run().code];

    assert_eq!(codes, [0, 0]);
}

#[test]
fn the_log_is_a_private_file_and_off_by_default() {
    let world = World::new();

    world.rejoin(["config", "get", "log"]).run();
    let before = world.path("home/.local/share/rejoin/rejoin.log").exists();
    let outcome = world.rejoin(["config", "get", "log"]).variable("REJOIN_LOG", "info").run();

    let lines = world.read("home/.local/share/rejoin/rejoin.log");
    assert_eq!((before, outcome), (false, Outcome::answer("info\n")));
    assert!(lines.contains("started"), "{lines}");
}
