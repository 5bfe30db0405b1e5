//! A real HTTP server on the loopback interface that answers as it is told, and keeps what it was asked.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// One answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    steps: Vec<Step>,
}

/// What is done once the head of an answer is sent. When nothing is left, the answer ends properly.
#[derive(Clone, Debug)]
enum Step {
    Send(Vec<u8>),
    Pause(Duration),
    /// Closes the connection in the middle of the answer.
    Break,
    /// Keeps the answer open until the client goes away.
    Hold,
}

impl Answer {
    /// An answer without a body so far.
    pub(crate) fn new(status: u16) -> Self {
        Self { status, headers: Vec::new(), steps: Vec::new() }
    }

    /// A stream of events, sent in one piece.
    pub(crate) fn stream(events: &str) -> Self {
        Self::new(200).header("content-type", "text/event-stream; charset=utf-8").send(events)
    }

    /// A JSON answer.
    pub(crate) fn json(status: u16, body: &str) -> Self {
        Self::new(status).header("content-type", "application/json").send(body)
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn send(mut self, body: impl AsRef<[u8]>) -> Self {
        self.steps.push(Step::Send(body.as_ref().to_vec()));
        self
    }

    pub(crate) fn pause(mut self, time: Duration) -> Self {
        self.steps.push(Step::Pause(time));
        self
    }

    pub(crate) fn break_off(mut self) -> Self {
        self.steps.push(Step::Break);
        self
    }

    pub(crate) fn hold(mut self) -> Self {
        self.steps.push(Step::Hold);
        self
    }
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// The number of the connection it came on.
    pub(crate) connection: usize,
    /// Such as `POST /v1/messages HTTP/1.1`.
    pub(crate) line: String,
    /// Names are lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

/// What has happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    asked: usize,
    gone: usize,
}

/// A server that gives its answers one after the other, whichever connection asks.
#[derive(Debug)]
pub(crate) struct Server {
    port: u16,
    state: Arc<State>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct State {
    answers: Mutex<std::vec::IntoIter<Answer>>,
    asked: Mutex<Vec<Asked>>,
    count: watch::Sender<Count>,
}

impl Server {
    pub(crate) async fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let answers = answers.into_iter().collect::<Vec<_>>().into_iter();
        let state = Arc::new(State {
            answers: Mutex::new(answers),
            asked: Mutex::default(),
            count: watch::Sender::default(),
        });
        let shared = state.clone();
        let task = tokio::spawn(async move {
            let mut number = 0;
            while let Ok((connection, _)) = listener.accept().await {
                let state = shared.clone();
                number += 1;
                tokio::spawn(async move { serve(connection, number, &state).await });
            }
        });
        Self { port, state, task }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Everything it was asked, in order.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.state.asked.lock().unwrap().clone()
    }

    /// Returns when it was asked so often.
    pub(crate) async fn until_asked(&self, times: usize) {
        self.state.count.subscribe().wait_for(|count| count.asked >= times).await.unwrap();
    }

    /// Returns when a client has closed the connection while its answer was open.
    pub(crate) async fn until_gone(&self) {
        self.state.count.subscribe().wait_for(|count| count.gone > 0).await.unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut connection: TcpStream, number: usize, state: &State) {
    while let Some(asked) = read(&mut connection, number).await {
        state.asked.lock().unwrap().push(asked);
        let answer = state.answers.lock().unwrap().next();
        state.count.send_modify(|count| count.asked += 1);
        let answer = answer.unwrap_or_else(|| Answer::json(418, r#"{"error":"the script has ended"}"#));
        if give(&mut connection, answer, state).await.is_none() {
            return;
        }
    }
}

/// Gives an answer. None when the connection is not to be used again.
async fn give(connection: &mut TcpStream, answer: Answer, state: &State) -> Option<()> {
    let mut head = format!("HTTP/1.1 {} Scripted\r\ntransfer-encoding: chunked\r\n", answer.status);
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    connection.write_all(head.as_bytes()).await.ok()?;
    for step in answer.steps {
        match step {
            Step::Send(bytes) if bytes.is_empty() => {}
            Step::Send(bytes) => {
                let chunk = [format!("{:x}\r\n", bytes.len()).as_bytes(), &bytes, b"\r\n"].concat();
                connection.write_all(&chunk).await.ok()?;
            }
            Step::Pause(time) => tokio::time::sleep(time).await,
            Step::Break => return None,
            Step::Hold => {
                let mut byte = [0];
                let _ = connection.read(&mut byte).await;
                state.count.send_modify(|count| count.gone += 1);
                return None;
            }
        }
    }
    connection.write_all(b"0\r\n\r\n").await.ok()
}

async fn read(connection: &mut TcpStream, number: usize) -> Option<Asked> {
    let mut bytes = Vec::new();
    let head_length = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if connection.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..head_length].to_vec()).unwrap();
    let mut lines = head.trim_end().lines();
    let line = lines.next().unwrap().to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length.map_or(0, |(_, value)| value.parse().unwrap());
    while bytes.len() < head_length + length {
        if connection.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let body = String::from_utf8(bytes[head_length..head_length + length].to_vec()).unwrap();
    Some(Asked { connection: number, line, headers, body })
}
