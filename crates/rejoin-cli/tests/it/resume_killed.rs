//! A process that is killed while a reply arrives, and what the next one sends and offers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rejoin::{ConversationId, List};
use serde_json::{Value, json};

use crate::world::{Invocation, World};

/// How long a save may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A server that speaks Chat Completions and hands every request to the test.
pub(crate) struct Server {
    address: String,
    requests: mpsc::Receiver<Value>,
}

/// How a reply ends.
#[derive(Clone, Copy)]
pub(crate) enum End {
    /// It is complete.
    Whole,
    /// Nothing more comes, and the connection stays open.
    Hangs,
}

impl Server {
    /// Answers one request after the other with these texts.
    pub(crate) fn start(replies: Vec<(&'static str, End)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (told, requests) = mpsc::channel();
        thread::spawn(move || {
            let mut open = Vec::new();
            for (text, end) in replies {
                let (mut stream, _) = listener.accept().unwrap();
                told.send(request(&stream)).unwrap();
                reply(&mut stream, text, end);
                open.push(stream);
            }
            // Connections stay open as long as the test runs.
            loop {
                thread::park();
            }
        });
        Self { address, requests }
    }

    fn configure(&self, world: &World) {
        world.user_config(&format!("provider = \"local\"\n{}", self.provider()));
    }

    /// The table of its provider, for a configuration.
    pub(crate) fn provider(&self) -> String {
        format!(
            "[providers.local]\nkind = \"openai-chat\"\nbase_url = \"http://{}/v1\"\napi_key_env = \"LOCAL_KEY\"\n\
             model = \"small\"\n",
            self.address
        )
    }
}

fn request(stream: &TcpStream) -> Value {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    serde_json::from_slice(&body).unwrap()
}

fn reply(stream: &mut TcpStream, text: &str, end: End) {
    let event = |value: Value| format!("data: {value}\n\n");
    let chunk = |delta: Value, finish: Value| {
        event(json!({"id": "r", "object": "chat.completion.chunk", "model": "small",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}))
    };
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let mut sent = format!("{head}{}", chunk(json!({"role": "assistant", "content": text}), Value::Null));
    if matches!(end, End::Whole) {
        sent += &chunk(json!({}), json!("stop"));
        sent += "data: [DONE]\n\n";
    }
    stream.write_all(sent.as_bytes()).unwrap();
    stream.flush().unwrap();
    if matches!(end, End::Whole) {
        let _ = stream.shutdown(std::net::Shutdown::Write);
    }
}

fn keyed(invocation: Invocation<'_>) -> Invocation<'_> {
    invocation.variable("LOCAL_KEY", "not-a-secret")
}

/// The conversation of this world, once it holds an open turn.
fn interrupted(world: &World) -> ConversationId {
    let began = Instant::now();
    loop {
        assert!(began.elapsed() < PATIENCE, "no open turn was saved");
        thread::sleep(Duration::from_millis(20));
        if !world.store().exists() {
            continue;
        }
        let Some(stored) = world.archive().list(&List::default()).unwrap().items.pop() else { continue };
        if !world.archive().open_turns().list(stored.id).unwrap().is_empty() {
            return stored.id;
        }
    }
}

#[test]
fn a_killed_process_leaves_its_reply_and_the_next_one_goes_on_after_it() {
    let world = World::new();
    let server = Server::start(vec![("Take the train to", End::Hangs), ("Santa Apolonia.", End::Whole)]);
    server.configure(&world);
    let mut child = world
        .program(&["--no-tools", "-q", "How do we get there?"])
        .env("LOCAL_KEY", "not-a-secret")
        .spawn()
        .unwrap();
    drop(child.stdin.take());
    server.requests.recv_timeout(PATIENCE).unwrap();
    let id = interrupted(&world);
    child.kill().unwrap();
    child.wait().unwrap();

    let told = keyed(world.rejoin(["resume", &id.to_string()])).run();
    let went_on = keyed(world.rejoin(["-r", "--no-tools", "--keep-partial", "go on please"])).run();

    assert!(told.stderr.contains("A reply was interrupted just now: \"Take the train to\"\n"), "{told:?}");
    assert_eq!((went_on.stdout.as_str(), went_on.code), ("Santa Apolonia.\n", 0), "{}", went_on.stderr);
    let second = server.requests.recv_timeout(PATIENCE).unwrap();
    let sent: Vec<String> = second["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] != "system")
        .map(|message| format!("{}: {}", message["role"], message["content"]))
        .collect();
    let expected = [
        "\"user\": \"How do we get there?\"",
        "\"assistant\": \"Take the train to\"",
        "\"user\": \"go on please\"",
    ];
    assert_eq!(sent, expected);
}

#[test]
fn a_model_is_told_where_it_is_and_after_a_pause_where_it_was() {
    let world = World::new();
    let server = Server::start(vec![("Noted.", End::Whole); 2]);
    server.configure(&world);
    world.write("project/AGENTS.md", "Answer in one word.");
    keyed(world.rejoin(["--no-tools", "-q", "--title", "Bicycle", "my bicycle is green"])).run();
    world.rejoin(["stop"]).run();

    keyed(world.rejoin(["-r", "--no-tools", "what colour is it?"])).run();

    let requests: Vec<Value> = server.requests.try_iter().collect();
    let told = |request: &Value, place: usize| {
        let messages = request["messages"].as_array().unwrap();
        let message = if place == 0 { messages.first() } else { messages.last() };
        message.unwrap()["content"].as_str().unwrap().to_owned()
    };
    let systems: Vec<String> = requests.iter().map(|request| told(request, 0)).collect();
    let project = format!("Project: {}\n", world.path("project").display());
    let file = "<project-instructions file=\"AGENTS.md\">\nAnswer in one word.\n</project-instructions>\n";
    assert!([project.as_str(), file].iter().all(|part| systems[0].contains(part)), "{systems:?}");
    // What is new comes last, so that the provider's cache knows the beginning.
    assert_eq!(systems[0], systems[1]);
    let last = told(&requests[1], 1);
    let recap = "<resumed-conversation>\nThe user comes back to this conversation. Go on from where it stopped.\n\
                 Title: Bicycle\nKind: chat\n";
    assert!(last.starts_with(recap) && last.ends_with("what colour is it?"), "{last}");
}

#[test]
fn a_command_file_leaves_tools_out_and_adds_none_also_when_it_is_gone() {
    let world = World::new();
    let server = Server::start(vec![("Noted.", End::Whole); 6]);
    server.configure(&world);
    let file = "project/.rejoin/commands/look.md";
    world.write(file, "---\ntools: [read, launch]\n---\nLook closely.");
    keyed(world.rejoin(["-q", "--command", "look", "at this, please"])).run();
    std::fs::remove_file(world.path(file)).unwrap();

    keyed(world.rejoin(["-q", "-r", "and again"])).run();

    let requests: Vec<Value> = server.requests.try_iter().collect();
    let turns = requests.iter().filter(|request| {
        let system = request["messages"][0]["content"].as_str().unwrap_or_default();
        system.contains("Project: ")
    });
    let offered: Vec<Vec<&str>> = turns
        .map(|request| {
            let tools = request["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
            tools.iter().filter_map(|tool| tool["function"]["name"].as_str()).collect()
        })
        .collect();
    assert_eq!(offered, [["read"], ["read"]]);
}
