//! A talk in a process of its own, whose system calls are written down.
//!
//! The process is this test program again, asked for one test that does nothing otherwise.

use std::env;
use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rejoin::{AsyncRecorder, Block, Conversation, Json, Message, Role};
use rejoin_agent::{
    Api, Future, History, Listener, Output, Piece, Plan, Prepared, Provider, Reply, Request, Result, Stop,
    Subject, Talk, Tool, ToolSpec, Toolbox, TurnEvent,
};
use tokio::sync::mpsc;

use crate::disk::CALLS;
use crate::script::{Place, call, until};
use crate::strace::{Call, Strace};

/// Names the kind of talk to the process.
const KIND: &str = "REJOIN_TRACED_TALK";

/// Names the directory of the store.
const PLACE: &str = "REJOIN_TRACED_PLACE";

/// What a streaming model says, and how long it takes for it.
pub(crate) const WORDS: usize = 230;
const WORD_PAUSE: Duration = Duration::from_millis(20);

/// What is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Four short turns.
    Short,
    /// A turn that asks for a tool.
    Tool,
    /// A turn whose reply takes several seconds.
    Stream,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A finished run: where its store is, and what it did.
#[derive(Debug)]
pub(crate) struct Traced {
    pub(crate) place: Place,
    pub(crate) calls: Vec<Call>,
}

impl Traced {
    pub(crate) fn run(strace: Strace, kind: Kind) -> Self {
        let place = Place::new();
        let trace = place.directory().join("trace");
        let store = place.directory().join("store");
        std::fs::create_dir(&store).unwrap();
        let mut program = Command::new(env::current_exe().unwrap());
        program
            .args(["--exact", "traced::talk_in_a_process", "--nocapture", "--test-threads", "1"])
            .env("PATH", env::var_os("PATH").unwrap_or_default())
            .env(KIND, kind.to_string())
            .env(PLACE, &store)
            .current_dir(place.directory());
        let output = strace.record(&program, CALLS, &trace).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self { calls: Call::read(&trace), place }
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.place.directory().join("store")
    }
}

/// The text that a streaming model says, word by word.
pub(crate) fn words() -> Vec<String> {
    (0..WORDS).map(|number| format!("word{number:04} ")).collect()
}

/// Tells the trace where the process is, past what the test harness holds back.
fn mark(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

#[test]
fn talk_in_a_process() {
    let (Ok(kind), Some(place)) = (env::var(KIND), env::var_os(PLACE)) else { return };
    let kind =
        [Kind::Short, Kind::Tool, Kind::Stream].into_iter().find(|own| own.to_string() == kind).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(talk(kind, PathBuf::from(place).join("a.db").display().to_string()));
}

async fn talk(kind: Kind, path: String) {
    let archive = rejoin::Archive::open(&format!("sqlite:{path}")).unwrap();
    let handle = archive.start(Conversation::new()).unwrap();
    let watching = Watching { archive: archive.clone(), id: handle.id(), spec: spec() };
    let recording = AsyncRecorder::start(archive.record(handle, "1@1"));
    let mut talk = Talk::new(Arc::new(Speaker(kind)), "m", recording, History::default())
        .with_tools(Toolbox::default().with(Arc::new(watching)));
    let (events, mut heard) = mpsc::unbounded_channel();
    let showing = tokio::spawn(async move {
        let (began, mut length) = (Instant::now(), 0);
        while let Some(event) = heard.recv().await {
            if let TurnEvent::Piece(Piece::Text(text)) = event {
                length += text.len();
                mark(&format!("shown {} {length}", began.elapsed().as_millis()));
            }
        }
    });
    let turns = if kind == Kind::Short { 4 } else { 1 };
    mark("begin");
    for _ in 0..turns {
        talk.turn(Message::user("go on"), &events).await.unwrap();
    }
    mark("end");
    talk.close().await.unwrap();
    drop(events);
    showing.await.unwrap();
}

fn spec() -> ToolSpec {
    ToolSpec { name: "look".into(), description: String::new(), input_schema: Json::parse("{}").unwrap() }
}

/// A model that speaks as the kind of talk asks for.
#[derive(Debug)]
struct Speaker(Kind);

impl Provider for Speaker {
    fn name(&self) -> &str {
        "speaker"
    }

    fn api(&self) -> Api {
        Api::Chat
    }

    fn reply<'a>(&'a self, request: Request<'a>, listen: &'a mut Listener<'_>) -> Future<'a, Result<Reply>> {
        Box::pin(async move {
            let is_asked = request.messages.last().is_some_and(|viewed| viewed.message.role == Role::User);
            let (blocks, stop) = match self.0 {
                Kind::Tool if is_asked => (vec![call("c1", "look")], Stop::Tools),
                Kind::Short | Kind::Tool => (vec![Block::text("yes")], Stop::Done),
                Kind::Stream => {
                    for word in words() {
                        tokio::time::sleep(WORD_PAUSE).await;
                        listen(Piece::Text(word));
                    }
                    (vec![Block::text(words().concat())], Stop::Done)
                }
            };
            let mut message = Message::new(Role::Assistant, blocks);
            message.finish = Some("stop".to_owned());
            Ok(Reply { message, stop })
        })
    }
}

/// A tool that waits until the reply that asked for it is saved.
#[derive(Debug)]
struct Watching {
    archive: rejoin::Archive,
    id: rejoin::ConversationId,
    spec: ToolSpec,
}

impl Tool for Watching {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, _input: &Json) -> Result<Prepared> {
        let subject = Subject::Tool(self.spec.name.clone());
        let (archive, id) = (self.archive.clone(), self.id);
        Ok(Prepared::new(Plan::new("", &subject).harmless(), subject, async move {
            until(|| archive.open_turns().list(id).unwrap().pop()).await;
            Output::text("seen")
        }))
    }
}
