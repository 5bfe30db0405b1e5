//! A model on this machine that speaks what both agents speak, keeps what it is
//! asked, and always answers the same.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

/// What it answers.
pub(crate) const ANSWER: &str = "THE-ANSWER";

/// A model that is being listened to.
#[derive(Debug)]
pub(super) struct Model {
    url: String,
    requests: Arc<Mutex<Vec<Value>>>,
}

impl Model {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let seen = Arc::clone(&seen);
                // A program that has ended leaves nobody to answer.
                thread::spawn(move || drop(serve(stream, &seen)));
            }
        });
        Self { url, requests }
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn requests(&self) -> Vec<Value> {
        self.requests.lock().unwrap().clone()
    }
}

/// Answers one request, and hangs up.
fn serve(mut stream: TcpStream, seen: &Mutex<Vec<Value>>) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let path = first.split([' ', '?']).nth(1).unwrap_or_default();
    let events = match path {
        "/v1/messages" => messages_events(),
        "/v1/responses" => responses_events(),
        _ => {
            let nothing = "{\"models\":[],\"data\":[],\"input_tokens\":1}";
            return write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{nothing}",
                nothing.len()
            );
        }
    };
    seen.lock().unwrap().push(serde_json::from_slice(&body).unwrap());
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")?;
    for event in events {
        let kind = event["type"].as_str().unwrap_or_default();
        write!(stream, "event: {kind}\ndata: {event}\n\n")?;
    }
    stream.flush()
}

/// The stream of Anthropic Messages.
fn messages_events() -> Vec<Value> {
    let usage = json!({"input_tokens": 10, "output_tokens": 1});
    let message = json!({
        "id": "msg_local", "type": "message", "role": "assistant", "model": "some-model", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage,
    });
    vec![
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ANSWER}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({
            "type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null},
            "usage": {"output_tokens": 5},
        }),
        json!({"type": "message_stop"}),
    ]
}

/// The stream of OpenAI Responses.
fn responses_events() -> Vec<Value> {
    let item = json!({
        "type": "message", "role": "assistant", "id": "msg_local",
        "content": [{"type": "output_text", "text": ANSWER}],
    });
    let usage = json!({
        "input_tokens": 10, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15,
    });
    vec![
        json!({"type": "response.created", "response": {"id": "resp_local"}}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": {"id": "resp_local", "usage": usage}}),
    ]
}
