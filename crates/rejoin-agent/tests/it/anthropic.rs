//! Anthropic Messages over a real connection, compared with the stock client.

use rejoin::{Block, Json, Message, Role, ToolResult};
use rejoin_agent::{Http, Stop, ToolSpec};
use serde_json::{Value, json};

use crate::asking::{ask, settings};
use crate::python;
use crate::server::{Answer, Server};

macro_rules! stream {
    ($name:literal) => {
        (
            include_str!(concat!("../streams/anthropic/", $name, ".sse")),
            include_str!(concat!("../streams/anthropic/", $name, ".items.jsonl")),
        )
    };
}

const PLAIN: &str = include_str!("../streams/anthropic/plain_text.sse");

fn items(lines: &str) -> String {
    format!("[{}]", lines.lines().collect::<Vec<_>>().join(","))
}

#[tokio::test]
async fn a_tool_round_trip_carries_every_item_to_the_letter() {
    let (stream, lines) = stream!("thinking_tools");
    let server = Server::start([Answer::stream(stream), Answer::stream(PLAIN)]).await;
    let provider = Http::anthropic(settings(&server)).unwrap();
    let schema = Json::parse(r#"{"type":"object"}"#).unwrap();
    let tools =
        [ToolSpec { name: "read".to_owned(), description: "Reads.".to_owned(), input_schema: schema }];
    let mut history = vec![Message::user("compare")];

    let first = ask(&provider, &history, &tools).await.0.unwrap();
    // What a store gives back, in a process that was started anew.
    history.push(Message::from_body(&first.message.to_body()).unwrap());
    let failure = ToolResult {
        call_id: "toolu_01D7FLrfh4GYq7yT1ULFeyMV".to_owned(),
        output: Json::of(&"no such file").unwrap(),
        is_error: true,
        ..ToolResult::default()
    };
    let output = |text: &str| Json::of(&text).unwrap();
    history.extend([
        Message::new(
            Role::Tool,
            vec![Block::tool_result("toolu_01T1x1fJ34qAmk2tNTrN7Up6", output("fn a() {}"))],
        ),
        Message::new(Role::Tool, vec![Block::ToolResult(failure)]),
        Message::new(Role::Tool, vec![Block::tool_result("toolu_01EmptyInput", output(""))]),
    ]);
    let second = ask(&provider, &history, &tools).await.0.unwrap();

    assert_eq!((first.stop, second.stop), (Stop::Tools, Stop::Done));
    let expected = [
        r#"{"model":"model-1","max_tokens":1000,"stream":true,"#,
        r#""tools":[{"name":"read","description":"Reads.","input_schema":{"type":"object"}}],"#,
        r#""system":[{"type":"text","text":"be kind","cache_control":{"type":"ephemeral"}}],"#,
        r#""messages":[{"role":"user","content":[{"type":"text","text":"compare"}]},"#,
        r#"{"role":"assistant","content":"#,
        &items(lines),
        r#"},{"role":"user","content":["#,
        r#"{"type":"tool_result","tool_use_id":"toolu_01T1x1fJ34qAmk2tNTrN7Up6","content":"fn a() {}"},"#,
        r#"{"type":"tool_result","tool_use_id":"toolu_01D7FLrfh4GYq7yT1ULFeyMV","content":"no such file","is_error":true},"#,
        r#"{"type":"tool_result","tool_use_id":"toolu_01EmptyInput","content":"","cache_control":{"type":"ephemeral"}}]}]}"#,
    ]
    .concat();
    assert_eq!(server.asked()[1].body, expected);
}

/// Reads a stream with the stock client and prints the final message.
const STOCK: &str = r#"
import json, sys, anthropic
client = anthropic.Anthropic(base_url=sys.argv[1], api_key="sk-test", max_retries=0)
found = []
for _ in range(int(sys.argv[2])):
    with client.messages.stream(model="model-1", max_tokens=1000, messages=[{"role": "user", "content": "a"}]) as stream:
        found.append(stream.get_final_message().to_dict(mode="json", exclude_unset=True))
print(json.dumps(found))
"#;

/// The parts of a message that both sides have.
fn essence(message: &Value) -> Value {
    json!({
        "id": message["id"],
        "model": message["model"],
        "content": message["content"],
        "stop_reason": message["stop_reason"],
        "usage": message["usage"],
    })
}

#[tokio::test]
async fn the_stock_client_reads_the_same_from_our_streams() {
    let Some(stock) = python::with_package("anthropic") else { return };
    // Not among them: a stream whose input is not JSON, which the stock client completes as it sees fit.
    let streams = [
        stream!("plain_text").0,
        stream!("thinking_tools").0,
        stream!("redacted_thinking").0,
        stream!("web_search").0,
        stream!("refusal").0,
        stream!("pause_turn").0,
        stream!("max_tokens").0,
        stream!("cached_usage").0,
    ];
    let theirs = Server::start(streams.map(Answer::stream)).await;
    let ours =
        Server::start(streams.iter().flat_map(|stream| [Answer::stream(stream), Answer::stream(PLAIN)]))
            .await;
    let provider = Http::anthropic(settings(&ours)).unwrap();

    let mut read = Vec::new();
    for _ in streams {
        let message = ask(&provider, &[Message::user("a")], &[]).await.0.unwrap().message;
        ask(&provider, &[Message::user("a"), message.clone()], &[]).await.0.unwrap();
        let sent: Value = serde_json::from_str(&ours.asked().last().unwrap().body).unwrap();
        let word = |name| message.extra.field(name).unwrap().to::<String>().unwrap();
        read.push(json!({
            "id": word("response_id"),
            "model": word("model"),
            "content": sent["messages"][1]["content"],
            "stop_reason": message.finish,
            "usage": message.usage.unwrap().detail.unwrap().to::<Value>().unwrap(),
        }));
    }
    let count = streams.len().to_string();
    let found = python::run_script(&stock, STOCK, &[&theirs.url(), &count]).await;

    let found: Vec<Value> = found.as_array().unwrap().iter().map(essence).collect();
    assert_eq!(read, found);
}
