//! OpenAI Chat Completions over a real connection, compared with the stock client.

use std::slice;

use rejoin::Message;
use rejoin_agent::{ErrorKind, Http, LimitField, Preset, Quirks, Stop};
use serde_json::{Value, json};

use crate::asking::{PLANTED, ask, settings};
use crate::python;
use crate::server::{Answer, Asked, Server};
use crate::stored_talk::{Kept, read_spec};

macro_rules! stream {
    ($name:literal) => {
        include_str!(concat!("../streams/chat/", $name, ".sse"))
    };
}

fn chat(server: &Server) -> Http {
    Http::chat(settings(server), Quirks::default()).unwrap()
}

fn messages(asked: &Asked) -> Vec<Value> {
    let body: Value = serde_json::from_str(&asked.body).unwrap();
    body["messages"].as_array().unwrap().clone()
}

fn said(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

fn call(id: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "read", "arguments": arguments}})
}

fn answer(id: &str, text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": text})
}

#[tokio::test]
async fn a_request_goes_where_it_should_and_says_what_it_should() {
    let server = Server::start([Answer::stream(stream!("text"))]).await;
    let preset = Preset::named("openai-chat").unwrap();
    let provider = preset.connect(settings(&server)).unwrap();

    let reply = ask(&provider, &[Message::user("hello")], &[read_spec()]).await.0.unwrap();

    assert_eq!((reply.message.text().as_str(), reply.stop), ("Grüße aus Lissabon 👋", Stop::Done));
    let asked = server.asked().remove(0);
    assert_eq!(asked.line, "POST /v1/chat/completions HTTP/1.1");
    assert_eq!(asked.header("authorization"), Some(format!("Bearer {PLANTED}").as_str()));
    let expected = json!({
        "model": "model-1",
        "messages": [said("system", "be kind"), said("user", "hello")],
        "stream": true,
        "stream_options": {"include_usage": true},
        "tools": [{"type": "function", "function": {
            "name": "read",
            "description": "Reads a file.",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
        }}],
        "max_completion_tokens": 1000,
    });
    assert_eq!(serde_json::from_str::<Value>(&asked.body).unwrap(), expected);
    assert_eq!(preset.quirks.limit, LimitField::MaxCompletionTokens);
}

#[tokio::test]
async fn a_turn_with_tools_goes_back_also_after_a_restart() {
    let streams = [stream!("turn"), stream!("after_tools"), stream!("text")];
    let server = Server::start(streams.map(Answer::stream)).await;
    let mut kept = Kept::new();

    let first = kept.turn(chat(&server), "Compare the files.").await.unwrap();
    kept.turn(chat(&server), "And the weather?").await.unwrap();

    assert_eq!((first.stop, first.input_tokens, first.output_tokens), (Stop::Done, 80 + 130, 41 + 7));
    let mut asking = said("assistant", "I will read both files.");
    asking["tool_calls"] = json!([
        call("call_turn_01", r#"{"path":"notes/a.txt"}"#),
        call("call_turn_02", "{ \"path\" : \"notes/\\u00fc.txt\",\n  \"lines\": 1.50 } "),
    ]);
    let mut expected = vec![
        said("system", "be kind"),
        said("user", "Compare the files."),
        asking,
        answer("call_turn_01", "green"),
        answer("call_turn_02", "Error: there is no such file"),
    ];
    let asked = server.asked();
    assert_eq!(messages(&asked[1]), expected);
    expected.push(said("assistant", "Only the first file exists."));
    expected.push(said("user", "And the weather?"));
    assert_eq!(messages(&asked[2]), expected);
}

#[tokio::test]
async fn what_a_router_sent_goes_back_after_a_restart() {
    let streams = [stream!("openrouter"), stream!("after_tools"), stream!("text")];
    let server = Server::start(streams.map(Answer::stream)).await;
    let mut kept = Kept::new();

    kept.turn(chat(&server), "Compare the files.").await.unwrap();
    kept.turn(chat(&server), "And the weather?").await.unwrap();

    let mut second = call("toolu_02DeF", r#"{"path": "notes/b.txt"}"#);
    second["extra_content"] = json!({"google": {"thought_signature": "CvcQAdHtim9+"}});
    let expected = json!({
        "role": "assistant",
        "content": "I read both.",
        "reasoning": "Two files to read.",
        "reasoning_details": [
            {
                "type": "reasoning.text",
                "text": "Two files to read.",
                "format": "anthropic-claude-v1",
                "index": 0,
                "signature": "EqQBCkgIBRABGAIi/+==",
            },
            {
                "type": "reasoning.encrypted",
                "data": "gAAAAABoEncrypted==",
                "format": "openai-responses-v1",
                "id": "rs_0a1b",
                "index": 1,
            },
        ],
        "tool_calls": [call("toolu_01AbC", r#"{"path": "notes/a.txt"}"#), second],
    });
    let sent: Vec<Value> = server.asked()[1..].iter().map(|asked| messages(asked)[2].clone()).collect();
    assert_eq!(sent, [expected.clone(), expected]);
}

#[tokio::test]
async fn calls_that_came_without_ids_are_answered_under_the_ids_they_got() {
    let server = Server::start([stream!("bare"), stream!("bare"), stream!("text")].map(Answer::stream)).await;

    let ended = Kept::new().turn(chat(&server), "Compare the files.").await.unwrap();

    assert_eq!(ended.stop, Stop::Done);
    let ids: Vec<Value> = messages(&server.asked()[2])
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["tool_call_id"].clone())
        .collect();
    assert_eq!(ids, ["call_1_0", "call_1_1", "call_4_0", "call_4_1"]);
}

#[tokio::test]
async fn an_error_in_the_stream_is_told_and_tried_again() {
    let server = Server::start([stream!("error"), stream!("text")].map(Answer::stream)).await;

    let reply = ask(&chat(&server), &[Message::user("hello")], &[]).await.0.unwrap();

    assert_eq!((reply.stop, server.asked().len()), (Stop::Done, 2));
}

#[tokio::test]
async fn a_server_that_refuses_is_not_asked_again() {
    let server = Server::start([Answer::json(404, r#"{"error":{"message":"model \"x\" not found"}}"#)]).await;

    let error = ask(&chat(&server), &[Message::user("hello")], &[]).await.0.unwrap_err();

    assert_eq!((error.kind(), server.asked().len()), (ErrorKind::Refused, 1));
}

/// Reads each stream with the stock client, which puts the pieces together itself.
const STOCK: &str = r#"
import json, sys, openai
client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="sk-test", max_retries=0)
messages = [{"role": "user", "content": "a"}]
found = []
for _ in range(int(sys.argv[2])):
    with client.chat.completions.stream(model="model-1", messages=messages) as stream:
        final = stream.get_final_completion().to_dict(mode="json", exclude_unset=True)
    choice = final["choices"][0]
    message = choice["message"]
    found.append({
        "id": final["id"],
        "model": final["model"],
        "content": message.get("content") or None,
        "refusal": message.get("refusal"),
        "reasoning": message.get("reasoning") or message.get("reasoning_content"),
        "calls": [
            [call["id"], call["function"]["name"], call["function"]["arguments"]]
            for call in message.get("tool_calls") or []
        ],
        "finish": choice["finish_reason"],
        "usage": final["usage"],
    })
try:
    list(client.chat.completions.create(model="model-1", messages=messages, stream=True))
except openai.APIError as error:
    found.append(error.message)
print(json.dumps(found))
"#;

#[tokio::test]
async fn the_stock_client_reads_the_same_from_our_streams() {
    let Some(stock) = python::with_package("openai") else { return };
    // Not among them: Ollama's, whose calls share a place, which the stock client takes for one call; a
    // server without ids; and replies that were cut off, which the stock client reports as errors.
    let streams = [
        stream!("text"),
        stream!("turn"),
        stream!("after_tools"),
        stream!("refusal"),
        stream!("llama_cpp"),
        stream!("vllm"),
        stream!("openrouter"),
    ];
    let theirs = Server::start(streams.into_iter().chain([stream!("error")]).map(Answer::stream)).await;
    let ours = Server::start(
        streams.iter().flat_map(|stream| [Answer::stream(stream), Answer::stream(stream!("text"))]),
    )
    .await;
    let provider = chat(&ours);

    let mut read = Vec::new();
    for _ in streams {
        let message = ask(&provider, &[Message::user("a")], &[]).await.0.unwrap().message;
        ask(&provider, slice::from_ref(&message), &[]).await.0.unwrap();
        let sent = messages(ours.asked().last().unwrap()).remove(1);
        let calls: Vec<Value> = sent["tool_calls"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|call| json!([call["id"], call["function"]["name"], call["function"]["arguments"]]))
            .collect();
        let word = |name| message.extra.field(name).unwrap().to::<String>().unwrap();
        let reasoning = sent.get("reasoning").or_else(|| sent.get("reasoning_content"));
        read.push(json!({
            "id": word("response_id"),
            "model": word("model"),
            "content": sent["content"],
            "refusal": sent.get("refusal"),
            "reasoning": reasoning,
            "calls": calls,
            "finish": message.finish,
            "usage": message.usage.clone().unwrap().detail.unwrap().to::<Value>().unwrap(),
        }));
    }
    let count = streams.len().to_string();
    let found = python::run_script(&stock, STOCK, &[&theirs.url(), &count]).await;

    let mut found = found.as_array().unwrap().clone();
    assert_eq!(found.pop().unwrap(), "The model is busy. Please try again in 20ms.");
    assert_eq!(found.len(), read.len());
    for (found, read) in found.iter().zip(&read) {
        assert_eq!(found, read);
    }
}
