//! Another directory takes a project's place while the user is asked, or while a talk goes on.
//! What was allowed is not allowed there.

use std::fs;

use serde_json::json;

use super::attempt::{Attempt, Target, assert_all_fail};
use crate::model_server::{ModelServer, call, end, reply};
use crate::terminal::Terminal;
use crate::world::World;

/// A model that runs a command at each message.
fn model() -> ModelServer {
    ModelServer::start(|request| {
        let is_background = request["tools"].as_array().is_none_or(Vec::is_empty);
        match request["messages"].as_array().unwrap().last() {
            Some(last) if !is_background && last["role"] == "user" => {
                vec![call("c1", "run", &json!({"command": "touch ran"})), end("tool_calls")]
            }
            _ => reply("I see."),
        }
    })
}

/// Puts a copy in the place of the project.
fn replace(world: &World) {
    let [own, old] = ["project", "old"].map(|name| world.path(name));
    fs::rename(&own, &old).unwrap();
    fs::create_dir(&own).unwrap();
    if let Ok(text) = fs::read_to_string(old.join(".rejoin/config.toml")) {
        world.project_config(&text);
    }
}

#[test]
fn what_is_allowed_is_not_done_in_a_directory_that_took_the_projects_place() {
    let server = model();
    let probe = World::new();
    if Terminal::open(&probe, 120, 40).is_none() {
        return;
    }
    assert_all_fail(&[
        Attempt::new("while the question is open", |target| {
            let world = World::new();
            world.user_config(&server.config());
            let terminal = Terminal::open(&world, 120, 40).unwrap();
            terminal.enter("rejoin 'touch it'");
            terminal.wait_for("Allow? y once");
            if target == Target::Guarded {
                replace(&world);
            }
            terminal.press("y");
            terminal.wait_for_last("$");
            world.path("project/ran").exists()
        }),
        Attempt::new("after it was always allowed, in the same talk", |target| {
            let world = World::new();
            world.user_config(&server.config());
            let terminal = Terminal::open(&world, 120, 40).unwrap();
            terminal.enter("rejoin");
            terminal.wait_for_last(">");
            terminal.enter("touch it");
            terminal.wait_for("Allow? y once");
            terminal.press("a");
            terminal.wait_for_last(">");
            fs::remove_file(world.path("project/ran")).unwrap();
            if target == Target::Guarded {
                replace(&world);
            }
            terminal.enter("touch it again");
            terminal.wait_until("the second answer", |screen| screen.matches("I see.").count() == 2);
            world.path("project/ran").exists()
        }),
        Attempt::new("while `rejoin trust` asks", |target| {
            let world = World::new();
            world.project_config("retention.days = 77\n");
            let terminal = Terminal::open(&world, 120, 40).unwrap();
            terminal.enter("rejoin trust");
            terminal.wait_for("Allow this?");
            if target == Target::Guarded {
                replace(&world);
            }
            terminal.press("y");
            terminal.key("Enter");
            let screen = terminal.wait_for_last("$");
            let is_told =
                screen.contains("the directory was replaced") && screen.contains("`rejoin trust` again");
            let value = world.rejoin(["--quiet", "config", "get", "retention.days"]).run().stdout;
            value == "77\n" || (target == Target::Guarded && !is_told)
        }),
    ]);
}
