//! OpenAI Responses over a real connection, compared with the stock client.

use std::slice;

use rejoin::Message;
use rejoin_agent::{ErrorKind, Http, Stop};
use serde_json::{Value, json};

use crate::asking::{PLANTED, ask, retries, settings};
use crate::python;
use crate::server::{Answer, Asked, Server};
use crate::stored_talk::{Kept, read_spec};

macro_rules! stream {
    ($name:literal) => {
        include_str!(concat!("../streams/responses/", $name, ".sse"))
    };
}

/// The finished items of a stream.
fn items(stream: &str) -> Vec<Value> {
    let events = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    events
        .map(|data| serde_json::from_str::<Value>(data).unwrap())
        .filter(|event| event["type"] == "response.output_item.done")
        .map(|event| event["item"].clone())
        .collect()
}

fn input(asked: &Asked) -> Vec<Value> {
    let body: Value = serde_json::from_str(&asked.body).unwrap();
    body["input"].as_array().unwrap().clone()
}

fn said(text: &str) -> Value {
    json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
}

fn output(id: &str, text: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": text})
}

#[tokio::test]
async fn a_request_goes_where_it_should_and_says_what_it_should() {
    let server = Server::start([Answer::stream(stream!("text"))]).await;
    let provider = Http::responses(settings(&server)).unwrap();

    let reply = ask(&provider, &[Message::user("hello")], &[read_spec()]).await.0.unwrap();

    assert_eq!(
        (reply.message.text().as_str(), reply.stop),
        ("Grüße aus Lissabon 👋 — it is 21 °C.", Stop::Done)
    );
    let asked = server.asked().remove(0);
    assert_eq!(asked.line, "POST /v1/responses HTTP/1.1");
    assert_eq!(asked.header("authorization"), Some(format!("Bearer {PLANTED}").as_str()));
    let expected = json!({
        "model": "model-1",
        "stream": true,
        "store": false,
        "instructions": "be kind",
        "input": [said("hello")],
        "include": ["reasoning.encrypted_content"],
        "tools": [{
            "type": "function",
            "name": "read",
            "description": "Reads a file.",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
            "strict": false,
        }],
        "parallel_tool_calls": true,
        "max_output_tokens": 1000,
    });
    assert_eq!(serde_json::from_str::<Value>(&asked.body).unwrap(), expected);
}

#[tokio::test]
async fn a_turn_with_tools_goes_back_item_by_item_also_after_a_restart() {
    let streams = [stream!("turn"), stream!("after_tools"), stream!("text")];
    let server = Server::start(streams.map(Answer::stream)).await;
    let mut kept = Kept::new();

    let first = kept.turn(Http::responses(settings(&server)).unwrap(), "Compare the files.").await.unwrap();
    kept.turn(Http::responses(settings(&server)).unwrap(), "And the weather?").await.unwrap();

    assert_eq!((first.stop, first.input_tokens, first.output_tokens), (Stop::Done, 310 + 420, 96 + 31));
    let mut expected = vec![said("Compare the files.")];
    expected.extend(items(stream!("turn")));
    expected.push(output("call_turn_01", "green"));
    expected.push(output("call_turn_02", "Error: there is no such file"));
    let asked = server.asked();
    assert_eq!(input(&asked[1]), expected);
    expected.extend(items(stream!("after_tools")));
    expected.push(said("And the weather?"));
    assert_eq!(input(&asked[2]), expected);
}

#[tokio::test]
async fn a_failed_reply_is_void_and_asked_for_again() {
    let failed = stream!("failed").replace("Please try again in 1.5s", "Please try again in 1ms");
    let server = Server::start([
        Answer::stream(&failed),
        Answer::stream(stream!("error")),
        Answer::stream(stream!("text")),
    ])
    .await;
    let provider = Http::responses(settings(&server)).unwrap();

    let (reply, pieces) = ask(&provider, &[Message::user("hello")], &[]).await;

    assert_eq!(reply.unwrap().stop, Stop::Done);
    let failed: Vec<u32> = retries(&pieces).into_iter().map(|(_, failed, _)| failed).collect();
    assert_eq!(failed, [1, 2]);
}

#[tokio::test]
async fn a_conversation_that_does_not_fit_is_told_as_such() {
    let body = r#"{"error":{"message":"Your input exceeds the context window of this model.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}"#;
    let server = Server::start([Answer::json(400, body)]).await;
    let provider = Http::responses(settings(&server)).unwrap();

    let error = ask(&provider, &[Message::user("hello")], &[]).await.0.unwrap_err();

    assert_eq!((error.kind(), server.asked().len()), (ErrorKind::TooLong, 1));
}

/// Reads each stream with the stock client: the last event's response, and the words it put together itself.
const STOCK: &str = r#"
import json, sys, openai
client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="sk-test", max_retries=0)
found = []
for _ in range(int(sys.argv[2])):
    words, final = "", None
    for event in client.responses.create(model="model-1", input="a", stream=True):
        if event.type in ("response.output_text.delta", "response.refusal.delta"):
            words += event.delta
        if event.type in ("response.completed", "response.incomplete"):
            final = event.response.to_dict(mode="json", exclude_unset=True)
    found.append({
        "id": final["id"],
        "model": final["model"],
        "output": final["output"],
        "usage": final["usage"],
        "words": words,
        "reason": (final["incomplete_details"] or {"reason": "completed"})["reason"],
    })
with client.responses.stream(model="model-1", input="a") as stream:
    found.append([json.loads(item.to_json(exclude_unset=True)) for item in stream.get_final_response().output])
for event in client.responses.create(model="model-1", input="a", stream=True):
    if event.type == "error":
        found.append(event.message)
print(json.dumps(found))
"#;

#[tokio::test]
async fn the_stock_client_reads_the_same_from_our_streams() {
    let Some(stock) = python::with_package("openai") else { return };
    let streams = [
        stream!("text"),
        stream!("turn"),
        stream!("after_tools"),
        stream!("refusal"),
        stream!("length"),
        stream!("content_filter"),
        stream!("web_search"),
    ];
    let more = [stream!("after_tools"), stream!("error")];
    let theirs = Server::start(streams.into_iter().chain(more).map(Answer::stream)).await;
    let ours = Server::start(
        streams.iter().flat_map(|stream| [Answer::stream(stream), Answer::stream(stream!("text"))]),
    )
    .await;
    let provider = Http::responses(settings(&ours)).unwrap();

    let mut read = Vec::new();
    for _ in streams {
        let message = ask(&provider, &[Message::user("a")], &[]).await.0.unwrap().message;
        ask(&provider, slice::from_ref(&message), &[]).await.0.unwrap();
        let mut output = input(ours.asked().last().unwrap());
        output.retain(|item| item["type"] != "function_call_output");
        let word = |name| message.extra.field(name).unwrap().to::<String>().unwrap();
        read.push(json!({
            "id": word("response_id"),
            "model": word("model"),
            "output": output,
            "usage": message.usage.clone().unwrap().detail.unwrap().to::<Value>().unwrap(),
            "words": message.text().replace('\n', ""),
            "reason": message.finish,
        }));
    }
    let count = streams.len().to_string();
    let found = python::run_script(&stock, STOCK, &[&theirs.url(), &count]).await;

    let mut found = found.as_array().unwrap().clone();
    let error = found.pop().unwrap();
    let put_together = found.pop().unwrap();
    assert_eq!(found.len(), read.len());
    for (found, read) in found.iter().zip(&read) {
        assert_eq!(found, read);
    }
    assert_eq!(error, "The server had an error while processing your request.");
    let ids = |items: &[Value]| items.iter().map(|item| item["id"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(put_together.as_array().unwrap()), ids(&items(stream!("after_tools"))));
}
