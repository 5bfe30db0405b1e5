//! A turn with thinking, texts, parallel calls and a failing tool is saved; a
//! new process sends it back as it came.

use serde_json::{Value, json};

use crate::model_server::{ModelServer, Step};
use crate::world::World;

/// The recorded streams of one API.
struct Recorded {
    kind: &'static str,
    turn: &'static str,
    after: &'static str,
}

macro_rules! stream {
    ($name:literal) => {
        include_str!(concat!("../../../rejoin-agent/tests/streams/", $name))
    };
}

/// Talks in one process and goes on in another. Returns the last request of the second, as it came.
fn request_after_a_restart(recorded: Recorded) -> String {
    let Recorded { kind, turn, after } = recorded;
    let server = ModelServer::start(move |request| {
        let is_talk = request["tools"].as_array().is_some_and(|tools| !tools.is_empty());
        let has_results = request.to_string().contains("notes/") || request.to_string().contains("toolu_");
        match (is_talk, has_results) {
            (false, _) => vec![Step::Status(400, &[], "{}".to_owned())],
            (true, false) => vec![Step::Send(turn.to_owned())],
            (true, true) => vec![Step::Send(after.to_owned())],
        }
    });
    let world = World::new();
    world.user_config(&server.config().replace("openai-chat", kind));

    let first = world.rejoin(["Compare the two."]).run();
    let second = world.rejoin(["-r", "And the weather?"]).run();

    assert_eq!((first.code, second.code), (0, 0), "{first:?} {second:?}");
    let asks = |body: &String| body.contains("And the weather?") && body.contains("\"tools\":[{");
    server.bodies().into_iter().find(asks).expect("the second process asked")
}

#[test]
fn anthropic_gets_every_item_to_the_letter() {
    let request = request_after_a_restart(Recorded {
        kind: "anthropic",
        turn: stream!("anthropic/thinking_tools.sse"),
        after: stream!("anthropic/plain_text.sse"),
    });

    let items: Vec<&str> = stream!("anthropic/thinking_tools.items.jsonl").lines().collect();
    assert!(request.contains(&items.join(",")), "{request}");
    let results = request.matches("\"tool_use_id\"").count();
    assert_eq!((results, request.contains("\"is_error\":true")), (3, true), "{request}");
}

#[test]
fn responses_gets_every_item_in_order() {
    let turn = stream!("responses/turn.sse");
    let request = request_after_a_restart(Recorded {
        kind: "openai-responses",
        turn,
        after: stream!("responses/after_tools.sse"),
    });

    let events = turn.lines().filter_map(|line| line.strip_prefix("data: "));
    let events = events.filter_map(|data| serde_json::from_str::<Value>(data).ok());
    let done = events.filter(|event| event["type"] == "response.output_item.done");
    let items: Vec<Value> = done.map(|event| event["item"].clone()).collect();
    let request: Value = serde_json::from_str(&request).unwrap();
    let input = request["input"].as_array().unwrap();
    let begin = input.iter().position(|item| item["id"] == items[0]["id"]).unwrap();
    assert_eq!(input[begin..begin + items.len()], items);
    let results = input.iter().filter(|item| item["type"] == "function_call_output").count();
    assert_eq!(results, 2, "{request}");
}

#[test]
fn chat_gets_the_calls_to_the_letter() {
    let request = request_after_a_restart(Recorded {
        kind: "openai-chat",
        turn: stream!("chat/turn.sse"),
        after: stream!("chat/after_tools.sse"),
    });

    let request: Value = serde_json::from_str(&request).unwrap();
    let messages = request["messages"].as_array().unwrap();
    let calling = messages.iter().find(|message| message["tool_calls"].is_array()).unwrap();
    let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "read", "arguments": arguments}});
    let calls = [
        call("call_turn_01", "{\"path\":\"notes/a.txt\"}"),
        call("call_turn_02", "{ \"path\" : \"notes/\\u00fc.txt\",\n  \"lines\": 1.50 } "),
    ];
    assert_eq!(calling["content"], "I will read both files.");
    assert_eq!(calling["tool_calls"], json!(calls));
    let results = messages.iter().filter(|message| message["role"] == "tool").count();
    assert_eq!(results, 2, "{request}");
}
