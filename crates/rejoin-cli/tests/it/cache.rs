//! A request repeats the last one of its conversation and adds to it, also in another process, so that the
//! provider's cache goes on. Where it cannot, a line says what changed.
//!
//! A test resumes a conversation some times. With `REJOIN_PROVE=1`, as in `just prove`, it does so a thousand
//! times.

use std::env;

use rejoin::{List, StoredConversation};
use serde_json::{Value, json};

use crate::model_server::{ModelServer, Step, end, reply, text};
use crate::world::World;

const SENT_AGAIN: &str = "tokens are sent again that the provider had cached";

fn newest(world: &World) -> StoredConversation {
    world.archive().list(&List::default()).unwrap().items.remove(0)
}

/// How much of the first text the second begins with.
fn repeated(one: &str, next: &str) -> f64 {
    let common = one.bytes().zip(next.bytes()).take_while(|(one, next)| one == next).count();
    common as f64 / one.len() as f64
}

/// Says "fine", and never ends a reply to what is to be killed.
fn patient() -> ModelServer {
    ModelServer::start(|request| {
        let messages = request["messages"].as_array().unwrap();
        let last = messages.last().unwrap()["content"].as_str().unwrap_or_default();
        if last.ends_with("kill me") { vec![text("I was"), Step::Hold] } else { reply("fine") }
    })
}

#[test]
fn every_resume_repeats_the_last_request_or_says_why_not() {
    let (world, server) = (World::new(), patient());
    world.user_config(&server.config());
    world.rejoin(["hello"]).run();
    let times = if env::var_os("REJOIN_PROVE").is_some() { 1_000 } else { 20 };
    let mut told = Vec::new();

    for time in 1..=times {
        if time % 4 == 0 {
            world.rejoin(["stop"]).run();
        }
        if time % 3 == 0 {
            let mut child = world.program(&["-r", "--discard-partial", "kill me"]).spawn().unwrap();
            drop(child.stdin.take());
            server.wait_until_held();
            child.kill().unwrap();
            let output = child.wait_with_output().unwrap();
            told.push(String::from_utf8(output.stderr).unwrap());
        } else {
            let outcome = world.rejoin(["-r", "--discard-partial", &format!("message {time}")]).run();
            assert_eq!(outcome.code, 0, "{outcome:?}");
            told.push(outcome.stderr);
        }
    }

    let bodies = server.bodies();
    assert_eq!(bodies.len(), times + 1);
    let repeats: Vec<f64> = bodies.windows(2).map(|pair| repeated(&pair[0], &pair[1])).collect();
    let silent = repeats.iter().zip(&told).filter(|(_, told)| !told.contains(SENT_AGAIN));
    let least = silent.map(|(repeated, _)| *repeated).fold(1.0, f64::min);
    let lines = told.iter().filter(|told| told.contains(SENT_AGAIN)).count();
    assert!(least >= 0.99 && lines == 0, "least {least}, {lines} of {times} resumes said why not");
}

#[test]
fn what_changed_is_named() {
    let (world, server) = (World::new(), patient());
    world.user_config(&server.config());
    world.write("project/AGENTS.md", &"Answer in one word. ".repeat(20));
    world.rejoin(["hello"]).run();

    world.write("project/AGENTS.md", &"Answer in two words. ".repeat(20));
    let instructions = world.rejoin(["-r", "and now?"]).run();
    let same = world.rejoin(["-r", "and again?"]).run();
    let tools = world.rejoin(["-r", "--no-tools", "and without?"]).run();

    let line = |told: &str| {
        told.lines()
            .find(|line| line.contains(SENT_AGAIN))
            .map(|line| line.split(", so about").next().unwrap().to_owned())
    };
    let expected = [
        Some("warning: the system prompt changed since the last request".to_owned()),
        None,
        Some("warning: the tool `read` is gone or moved since the last request".to_owned()),
    ];
    assert_eq!([instructions, same, tools].map(|outcome| line(&outcome.stderr)), expected);
}

#[test]
fn a_fork_repeats_what_it_shares_and_says_nothing() {
    let (world, server) = (World::new(), patient());
    world.user_config(&server.config());
    world.rejoin(["hello"]).run();
    let first = newest(&world);
    let reply = world.archive().path(first.id, None).unwrap()[1].id.to_string();
    world.rejoin(["-r", "one way"]).run();

    let forked = world.rejoin(["-c", &reply, "another way"]).run();

    let bodies = server.bodies();
    let shared = repeated(&bodies[0], &bodies[2]);
    assert!(forked.code == 0 && !forked.stderr.contains(SENT_AGAIN) && shared >= 0.99, "{shared} {forked:?}");
}

#[test]
fn a_reply_that_the_provider_stopped_is_kept_and_marked_and_not_sent_again() {
    let server = ModelServer::start(|request| {
        let messages = request["messages"].as_array().unwrap();
        match messages.last().unwrap()["content"].as_str() {
            Some("hello") => vec![text("I should not"), end("content_filter")],
            _ => reply("fine"),
        }
    });
    let world = World::new();
    world.user_config(&server.config());
    world.rejoin(["hello"]).run();

    world.rejoin(["-r", "and now?"]).run();

    let path = world.archive().path(newest(&world).id, None).unwrap();
    let kept: Vec<(String, Option<String>)> =
        path.into_iter().map(|stored| (stored.message.text(), stored.message.finish)).collect();
    assert_eq!(kept[1], ("I should not".to_owned(), Some("content_filter".to_owned())));
    let second = &server.requests()[1]["messages"];
    let sent: Vec<&Value> = second.as_array().unwrap().iter().skip(1).map(|sent| &sent["content"]).collect();
    assert_eq!(sent, [&json!("hello\n\nand now?")]);
}

#[test]
fn a_conversation_knows_every_tool_and_the_whole_prompt_and_the_log_names_it() {
    let (world, server) = (World::new(), patient());
    world.user_config(&format!("log = \"info\"\n{}", server.config()));

    world.rejoin(["hello"]).run();

    let stored = newest(&world);
    let session: Value = stored.conversation.extra.field("session").unwrap().to().unwrap();
    let offered: Vec<Value> = server.requests()[0]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["function"]["name"].clone())
        .collect();
    assert_eq!(session["tools"], json!(offered));
    assert!(session["system_hash"].as_str().unwrap().starts_with("sha256:"), "{session}");
    let log = world.read("home/.local/share/rejoin/rejoin.log");
    assert!(log.contains(&format!("conversation={}", stored.id)), "{log}");
}
