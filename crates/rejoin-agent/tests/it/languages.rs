//! A conversation that began with one API goes on with any other, whatever happened to it in between.

use rejoin::{Block, Json, Message, Role, ToolResult};
use rejoin_agent::{Api, Http, HttpSettings, Quirks};
use serde_json::Value;

use crate::asking::{ask, settings};
use crate::server::{Answer, Server};
use crate::stored_talk::read_spec;
use crate::valid::{faults, foreign};

const LANGUAGES: [Api; 3] = [Api::Anthropic, Api::Responses, Api::Chat];

/// A reply with thinking and calls, and one that ends a turn.
fn streams(api: Api) -> [&'static str; 2] {
    match api {
        Api::Anthropic => [
            include_str!("../streams/anthropic/thinking_tools.sse"),
            include_str!("../streams/anthropic/plain_text.sse"),
        ],
        Api::Responses => [
            include_str!("../streams/responses/turn.sse"),
            include_str!("../streams/responses/after_tools.sse"),
        ],
        _ => {
            [include_str!("../streams/chat/openrouter.sse"), include_str!("../streams/chat/after_tools.sse")]
        }
    }
}

fn provider(api: Api, settings: HttpSettings) -> Http {
    match api {
        Api::Anthropic => Http::anthropic(settings).unwrap(),
        Api::Responses => Http::responses(settings).unwrap(),
        _ => Http::chat(settings, Quirks::default()).unwrap(),
    }
}

/// Whether the request may hold thinking: only what the same provider thought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thinking {
    Allowed,
    Foreign,
}

/// What is wrong with a request, and what it holds that another said.
fn objections(api: Api, body: &Value, thinking: Thinking) -> Vec<String> {
    let mut objections: Vec<String> = faults(api, body).iter().map(ToString::to_string).collect();
    if thinking == Thinking::Foreign {
        objections.extend(foreign(api, body));
    }
    objections
}

/// Two turns with an API: calls, of which the first fails, and a reply to the results.
async fn history(api: Api) -> Vec<Message> {
    let server = Server::start(streams(api).map(Answer::stream)).await;
    let provider = provider(api, settings(&server));
    let mut messages = vec![Message::user("Compare the files.")];
    let reply = ask(&provider, &messages, &[read_spec()]).await.0.unwrap().message;
    let calls = reply.blocks.iter().filter_map(|block| match block {
        Block::ToolCall(call) => Some(call.id.clone()),
        _ => None,
    });
    let results: Vec<Message> = calls
        .enumerate()
        .map(|(place, call_id)| {
            let output = Json::of(&format!("result {place}")).unwrap();
            let result = ToolResult { call_id, output, is_error: place == 0, ..ToolResult::default() };
            Message::new(Role::Tool, vec![Block::ToolResult(result)])
        })
        .collect();
    messages.push(reply);
    messages.extend(results);
    messages.push(ask(&provider, &messages, &[read_spec()]).await.0.unwrap().message);
    messages.push(Message::user("Thank you."));
    messages
}

/// The body of the request for a history.
async fn body(server: &Server, provider: &Http, messages: &[Message]) -> Value {
    ask(provider, messages, &[read_spec()]).await.0.unwrap();
    serde_json::from_str(&server.asked().last().unwrap().body).unwrap()
}

#[tokio::test]
async fn a_history_of_any_api_is_a_valid_request_for_every_other() {
    let mut found = Vec::new();
    for from in LANGUAGES {
        let messages = history(from).await;
        for to in LANGUAGES {
            let server = Server::start([Answer::stream(streams(to)[1])]).await;
            let body = body(&server, &provider(to, settings(&server)), &messages).await;
            let thinking = if from == to { Thinking::Allowed } else { Thinking::Foreign };
            found.push((from, to, objections(to, &body, thinking)));
        }
    }

    let pairs = LANGUAGES.iter().flat_map(|from| LANGUAGES.map(|to| (*from, to, Vec::<String>::new())));
    assert_eq!(found, pairs.collect::<Vec<_>>());
}

#[tokio::test]
async fn the_same_api_under_another_name_is_another_provider() {
    let mut found = Vec::new();
    for api in LANGUAGES {
        let messages = history(api).await;
        let server = Server::start([Answer::stream(streams(api)[1])]).await;
        let mut settings = settings(&server);
        settings.name = "theirs".to_owned();
        let body = body(&server, &provider(api, settings), &messages).await;
        found.push((api, objections(api, &body, Thinking::Foreign)));
    }

    assert_eq!(found, LANGUAGES.map(|api| (api, Vec::<String>::new())));
}

#[tokio::test]
async fn every_word_and_result_reaches_the_other_api() {
    for from in LANGUAGES {
        let messages = history(from).await;
        let said: Vec<String> =
            messages.iter().flat_map(|message| message.blocks.iter()).filter_map(words).collect();
        for to in LANGUAGES {
            let server = Server::start([Answer::stream(streams(to)[1])]).await;
            let body = body(&server, &provider(to, settings(&server)), &messages).await;
            let sent = strings(&body);
            let missing: Vec<&String> = said.iter().filter(|words| !sent.contains(words.as_str())).collect();
            assert!(missing.is_empty(), "from {from:?} to {to:?}: {missing:?}");
        }
    }
}

fn words(block: &Block) -> Option<String> {
    match block {
        Block::Text(text) => Some(text.text.clone()),
        Block::ToolResult(result) => result.output.to().ok(),
        Block::ToolCall(call) => Some(call.id.clone()),
        _ => None,
    }
}

/// Every string in a request, one after the other.
fn strings(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text}\n"),
        Value::Array(values) => values.iter().map(strings).collect(),
        Value::Object(fields) => fields.values().map(strings).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

/// The ways a history can be broken: a message lost, twice, or out of place, a
/// block lost, an empty one added.
fn broken(messages: &[Message]) -> Vec<Vec<Message>> {
    let mut histories = Vec::new();
    for place in 0..messages.len() {
        let edit = |edit: &dyn Fn(&mut Vec<Message>)| {
            let mut history = messages.to_vec();
            edit(&mut history);
            history
        };
        histories.push(edit(&|history| drop(history.remove(place))));
        histories.push(edit(&|history| history.insert(place, messages[place].clone())));
        histories.push(edit(&|history| history.swap(0, place)));
        histories.push(edit(&|history| drop(history[place].blocks.pop())));
        histories.push(edit(&|history| drop(history[place].blocks.drain(..1))));
        histories.push(edit(&|history| history.insert(place, Message::assistant(""))));
        histories.push(edit(&|history| history.insert(place, Message::assistant("I was interrupted."))));
        histories.push(edit(&|history| history.insert(place, Message::user(""))));
        histories.push(edit(&|history| {
            history.insert(place, Message::new(Role::System, vec![Block::text("Be careful.")]));
        }));
    }
    for history in &mut histories {
        history.push(Message::user("And now?"));
    }
    histories
}

#[tokio::test]
async fn a_broken_history_is_still_a_valid_request_for_every_api() {
    for from in LANGUAGES {
        let histories = broken(&history(from).await);
        for to in LANGUAGES {
            let server = Server::start(histories.iter().map(|_| Answer::stream(streams(to)[1]))).await;
            let provider = provider(to, settings(&server));
            let thinking = if from == to { Thinking::Allowed } else { Thinking::Foreign };
            for (number, messages) in histories.iter().enumerate() {
                let body = body(&server, &provider, messages).await;
                assert_eq!(
                    objections(to, &body, thinking),
                    Vec::<String>::new(),
                    "{from:?} to {to:?}, {number}: {body}"
                );
            }
        }
    }
}
