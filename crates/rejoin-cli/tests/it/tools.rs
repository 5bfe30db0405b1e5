//! Tools, as far as flags and configuration decide over them.

use serde_json::json;

use crate::model_server::{ModelServer, call, end, reply};
use crate::terminal::Terminal;
use crate::world::{Outcome, World};

#[test]
fn a_rule_that_cannot_be_meant_is_refused_before_anything_is_sent() {
    let world = World::new();

    let flag = world.rejoin(["--allow", "run(a; b)", "hello"]).run();
    world.user_config("[tools]\ndeny = [\"wirte\"]\n");
    let key = world.rejoin(["hello"]).run();

    let plain = "a rule names one plain command; `run(=…)` takes a text by the letter";
    assert_eq!(
        flag,
        Outcome {
            stdout: String::new(),
            stderr: format!("error: could not read the rule `run(a; b)`: {plain}\n"),
            code: 2
        }
    );
    assert_eq!((key.code, key.stdout.as_str()), (1, ""));
    assert!(
        key.stderr.starts_with("error: could not read the rule `wirte`: a rule begins with read, list, "),
        "{}",
        key.stderr
    );
}

#[test]
fn a_server_that_does_not_work_does_not_stop_the_talk() {
    let world = World::new();
    world.user_config("[mcp.servers.broken]\ncommand = \"/nowhere/to/be/found\"\n");

    let outcome = world.rejoin(["hello"]).run();

    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(!outcome.stdout.is_empty());
}

#[test]
fn tools_can_be_left_out_or_allowed_but_not_both() {
    let world = World::new();

    let codes = [
        world.rejoin(["--no-tools", "hello"]).run().code,
        world.rejoin(["--allow", "read", "--allow", "mcp(a/*)", "hello"]).run().code,
        world.rejoin(["--allow-all-tools", "hello"]).run().code,
        world.rejoin(["--no-tools", "--allow-all-tools", "hello"]).run().code,
    ];

    assert_eq!(codes, [0, 0, 0, 2]);
}

#[test]
fn what_was_always_allowed_at_the_prompt_is_asked_again_in_another_directory() {
    let server = ModelServer::start(|request| {
        let is_background = request["tools"].as_array().is_none_or(Vec::is_empty);
        match request["messages"].as_array().unwrap().last() {
            Some(last) if !is_background && last["role"] == "user" => {
                vec![call("c1", "run", &json!({"command": "touch ran"})), end("tool_calls")]
            }
            _ => reply("{}"),
        }
    });
    let world = World::new();
    world.user_config(&server.config());
    let id = world.started("Lisbon");
    world.write("clone/.git/HEAD", "");
    let Some(terminal) = Terminal::open(&world, 120, 40) else { return };

    terminal.enter(&format!("rejoin -r {id}"));
    terminal.wait_for_last(">");
    terminal.enter("touch it");
    terminal.wait_for("Allow? y once");
    terminal.press("a");
    terminal.wait_for_last(">");
    terminal.enter("/quit");
    terminal.wait_for_last("$");
    let elsewhere = world.rejoin(["-r", &id, "touch it"]).from("clone").run();
    std::fs::remove_file(world.path("project/ran")).unwrap();
    let again = world.rejoin(["-r", &id, "touch it"]).run();

    assert!(elsewhere.stderr.contains("Not allowed, because nobody is here to ask"), "{elsewhere:?}");
    assert!(!world.path("clone/ran").exists());
    assert_eq!((again.code, world.path("project/ran").exists()), (0, true), "{again:?}");
}
