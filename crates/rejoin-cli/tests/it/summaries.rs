//! What a turn costs: one request. Titles and synopses are computed, or asked of `summary.model` and counted.

use std::time::{Duration, Instant};

use rejoin::{List, StoredConversation};
use serde_json::{Value, json};

use crate::model_server::{ModelServer, reply};
use crate::terminal::Terminal;
use crate::world::World;

/// How long a process in the background may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that describes a conversation when it is asked to, and else says "fine".
fn server() -> ModelServer {
    ModelServer::start(|request| match request["model"].as_str() {
        Some("small") => reply(r#"{"title":"Eating in Lisbon","synopsis":"Looked for a tasca."}"#),
        _ => reply("fine"),
    })
}

fn newest(world: &World) -> StoredConversation {
    world.archive().list(&List::default()).unwrap().items.remove(0)
}

fn asked(server: &ModelServer) -> Vec<Value> {
    server.requests().iter().map(|request| request["model"].clone()).collect()
}

/// Waits until the newest conversation has what a model wrote about it.
fn described(world: &World) -> StoredConversation {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let stored = newest(world);
        let synopsis = stored.conversation.synopsis.as_ref();
        if synopsis.is_some_and(|synopsis| synopsis.text == "Looked for a tasca.") {
            return stored;
        }
        assert!(Instant::now() < deadline, "{stored:?}");
        std::thread::yield_now();
    }
}

#[test]
fn a_turn_costs_one_request() {
    let (world, server) = (World::new(), server());
    world.user_config(&server.config());

    world.rejoin(["Where to eat?"]).run();
    world.rejoin(["-r", "And on a budget?"]).run();
    world.rejoin(["stop"]).run();

    assert_eq!(asked(&server), ["scripted", "scripted"]);
    assert_eq!(newest(&world).conversation.title.as_deref(), Some("Where to eat"));
    let stats = world.rejoin(["stats", "--json"]).run().json();
    assert_eq!(stats["summaries"], json!({"requests": 0, "input_tokens": 0, "output_tokens": 0}));
}

#[test]
fn a_model_that_is_configured_gives_the_title_once_and_is_counted() {
    let (world, server) = (World::new(), server());
    world.user_config(&format!("summary.model = \"small\"\n{}", server.config()));

    world.rejoin(["Where to eat?"]).run();
    let stored = described(&world);
    world.rejoin(["-r", "And on a budget?"]).run();

    assert_eq!(stored.conversation.title.as_deref(), Some("Eating in Lisbon"));
    assert_eq!(asked(&server), ["scripted", "small", "scripted"]);
    let stats = world.rejoin(["stats"]).run().stdout;
    assert!(stats.contains("1 request for titles and synopses, 11 tokens in, 7 out\n"), "{stats}");
}

#[test]
fn the_status_shows_the_requests_for_summaries() {
    let (world, server) = (World::new(), server());
    world.user_config(&format!("summary.model = \"small\"\n{}", server.config()));
    world.rejoin(["Where to eat?"]).run();
    described(&world);
    let Some(terminal) = Terminal::open(&world, 100, 40) else { return };
    terminal.enter("rejoin -r");
    terminal.wait_for_last(">");

    terminal.enter("/status");

    terminal.wait_for("Summaries     1 request, 11 in, 7 out\n");
}

#[test]
fn a_conversation_that_doubled_is_described_when_it_is_stopped() {
    let (world, server) = (World::new(), server());
    world.user_config(&format!("summary.model = \"small\"\n{}", server.config()));
    world.rejoin(["Where to eat?"]).run();
    described(&world);
    world.rejoin(["stop"]).run();
    world.rejoin(["-r", "And on a budget?"]).run();

    world.rejoin(["stop"]).run();
    described(&world);

    assert_eq!(asked(&server), ["scripted", "small", "scripted", "small"]);
}

#[test]
fn nothing_is_asked_of_another_address_than_the_flag_named() {
    let (world, server, other) = (World::new(), server(), server());
    world.user_config(&format!("summary.model = \"small\"\n{}", other.config()));

    world.rejoin(["--base-url", &server.url(), "Where to eat?"]).run();
    described(&world);

    assert_eq!((asked(&server), asked(&other).len()), (vec![json!("scripted"), json!("small")], 0));
}
