//! A server on loopback that speaks what a test wants, Chat Completions with the helpers below, driven by the
//! test: what it says, when it pauses, when it hangs up.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// How long a test waits for something that should happen at once.
const PATIENCE: Duration = Duration::from_secs(30);

/// One step of an answer.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// The status line and headers, when they are not those of a stream that begins well.
    Status(u16, &'static [(&'static str, &'static str)], String),
    /// Bytes of the stream.
    Send(String),
    /// A rest.
    Rest(Duration),
    /// Says nothing more, until the client hangs up.
    Hold,
    /// Hangs up in the middle.
    HangUp,
}

/// A server that answers each request with the steps that a function of the test chooses.
#[derive(Debug)]
pub(crate) struct ModelServer {
    address: String,
    bodies: Arc<Mutex<Vec<String>>>,
    arrived: Receiver<()>,
}

impl ModelServer {
    pub(crate) fn start(answer: impl Fn(&Value) -> Vec<Step> + Send + Sync + 'static) -> Self {
        Self::offering(&["scripted"], answer)
    }

    /// The same with these models.
    pub(crate) fn offering(
        models: &[&str],
        answer: impl Fn(&Value) -> Vec<Step> + Send + Sync + 'static,
    ) -> Self {
        let data: Vec<Value> = models.iter().map(|name| json!({"id": name})).collect();
        Self::listing(200, json!({"object": "list", "data": data}).to_string(), answer)
    }

    /// A server that answers everything with a status and this.
    pub(crate) fn refusing(status: u16, body: &Value) -> Self {
        let body = body.to_string();
        Self::listing(status, body.clone(), move |_| vec![Step::Status(status, &[], body.clone())])
    }

    /// A server that answers with this when it is asked for its models.
    fn listing(
        status: u16,
        models: String,
        answer: impl Fn(&Value) -> Vec<Step> + Send + Sync + 'static,
    ) -> Self {
        let models = Arc::new((status, models));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let bodies = Arc::new(Mutex::new(Vec::new()));
        let (tell, arrived) = mpsc::channel();
        let answer = Arc::new(answer);
        let seen = Arc::clone(&bodies);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answer, seen, tell) = (Arc::clone(&answer), Arc::clone(&seen), tell.clone());
                let models = Arc::clone(&models);
                thread::spawn(move || {
                    // A client that was killed leaves nobody to answer.
                    let _ = serve(stream, answer.as_ref(), &seen, &tell, &models);
                });
            }
        });
        Self { address, bodies, arrived }
    }

    /// Configuration that makes this server the provider.
    pub(crate) fn config(&self) -> String {
        format!(
            "provider = \"local\"\n[providers.local]\nkind = \"openai-chat\"\nbase_url = \"http://{}/v1\"\n\
             model = \"scripted\"\n",
            self.address
        )
    }

    /// Where it is.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// What was asked so far, as it came, oldest first.
    pub(crate) fn bodies(&self) -> Vec<String> {
        self.bodies.lock().unwrap().clone()
    }

    /// What was asked so far, oldest first.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.bodies().iter().map(|body| serde_json::from_str(body).unwrap()).collect()
    }

    /// Waits until an answer holds.
    pub(crate) fn wait_until_held(&self) {
        self.arrived.recv_timeout(PATIENCE).expect("an answer comes to its hold");
    }
}

fn serve(
    mut stream: TcpStream,
    answer: &(dyn Fn(&Value) -> Vec<Step> + Send + Sync),
    seen: &Mutex<Vec<String>>,
    arrived: &Sender<()>,
    models: &(u16, String),
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut length = 0;
    let mut is_get = false;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        is_get |= line.starts_with("GET ");
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    if is_get {
        let (status, list) = models;
        return write!(
            stream,
            "HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
             connection: close\r\n\r\n{list}",
            list.len()
        );
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body = String::from_utf8(body).unwrap();
    let request: Value = serde_json::from_str(&body).unwrap();
    seen.lock().unwrap().push(body);
    let mut has_begun = false;
    for step in answer(&request) {
        let begins = matches!(step, Step::Send(_) | Step::Hold | Step::Rest(_) | Step::HangUp);
        if begins && !has_begun {
            stream.write_all(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n",
            )?;
            has_begun = true;
        }
        match step {
            Step::Status(status, headers, body) => {
                let headers: String =
                    headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
                write!(
                    stream,
                    "HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\n{headers}\
                     content-length: {}\r\nconnection: close\r\n\r\n{body}",
                    body.len()
                )?;
            }
            Step::Send(bytes) => stream.write_all(bytes.as_bytes())?,
            Step::Rest(pause) => thread::sleep(pause),
            Step::Hold => {
                let _ = arrived.send(());
                let _ = reader.read(&mut [0])?;
            }
            Step::HangUp => return Ok(()),
        }
        stream.flush()?;
    }
    Ok(())
}

/// A piece of text.
pub(crate) fn text(text: &str) -> Step {
    chunk(&json!({"content": text}), None)
}

/// The call of a tool.
pub(crate) fn call(id: &str, name: &str, arguments: &Value) -> Step {
    let function = json!({"name": name, "arguments": arguments.to_string()});
    chunk(&json!({"tool_calls": [{"index": 0, "id": id, "type": "function", "function": function}]}), None)
}

/// The end of a reply.
pub(crate) fn end(finish: &str) -> Step {
    let Step::Send(last) = chunk(&json!({}), Some(finish)) else { unreachable!("a chunk is sent") };
    let usage =
        json!({"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}});
    Step::Send(format!("{last}data: {usage}\n\ndata: [DONE]\n\n"))
}

/// A whole reply of one text.
pub(crate) fn reply(words: &str) -> Vec<Step> {
    vec![text(words), end("stop")]
}

fn chunk(delta: &Value, finish: Option<&str>) -> Step {
    let chunk = json!({
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "scripted",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    });
    Step::Send(format!("data: {chunk}\n\n"))
}
