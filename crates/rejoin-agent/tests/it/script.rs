//! A provider that follows a script, and an archive in a file to record what it says.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rejoin::{
    Archive, AsyncRecorder, Block, Conversation, ConversationId, Json, Message, OpenTurn, Role, ToolCall,
};
use rejoin_agent::{
    Api, Error, ErrorKind, Future, History, Listener, Piece, Provider, Reply, Request, Result, Stop, Talk,
    TurnEvent,
};
use tempfile::TempDir;
use tokio::sync::{Notify, mpsc};

/// What a scripted provider does next.
#[derive(Debug)]
pub(crate) enum Step {
    Tell(Piece),
    /// Says that this point is reached, and goes on when it may.
    Gate(Arc<Gate>),
    Fail(ErrorKind),
    End(Message, Stop),
}

/// A point in a script where it waits for the test.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    pub(crate) reached: Notify,
    pub(crate) open: Notify,
}

/// A provider that follows a script: one list of steps for each request.
#[derive(Debug)]
pub(crate) struct Script {
    replies: Mutex<VecDeque<Vec<Step>>>,
    /// The texts that each request carried.
    pub(crate) asked: Mutex<Vec<Vec<String>>>,
}

impl Script {
    pub(crate) fn new(replies: Vec<Vec<Step>>) -> Arc<Self> {
        Arc::new(Self { replies: Mutex::new(replies.into()), asked: Mutex::default() })
    }
}

impl Provider for Script {
    fn name(&self) -> &str {
        "script"
    }

    fn api(&self) -> Api {
        Api::Chat
    }

    fn reply<'a>(&'a self, request: Request<'a>, listen: &'a mut Listener<'_>) -> Future<'a, Result<Reply>> {
        let steps = self.replies.lock().unwrap().pop_front().expect("the script has another reply");
        self.asked
            .lock()
            .unwrap()
            .push(request.messages.iter().map(|viewed| viewed.message.text()).collect());
        Box::pin(async move {
            for step in steps {
                match step {
                    Step::Tell(piece) => listen(piece),
                    Step::Gate(gate) => {
                        gate.reached.notify_one();
                        gate.open.notified().await;
                    }
                    Step::Fail(kind) => return Err(Error::new(kind, "the script fails")),
                    Step::End(message, stop) => return Ok(Reply { message, stop }),
                }
            }
            std::future::pending().await
        })
    }
}

pub(crate) fn text(text: &str) -> Step {
    Step::Tell(Piece::Text(text.to_owned()))
}

pub(crate) fn finished(block: Block) -> Step {
    Step::Tell(Piece::Finished(block))
}

/// The end of a reply that is done.
pub(crate) fn done(text: &str) -> Step {
    end(vec![Block::text(text)], "stop", Stop::Done)
}

pub(crate) fn end(blocks: Vec<Block>, finish: &str, stop: Stop) -> Step {
    let mut message = Message::new(Role::Assistant, blocks);
    message.finish = Some(finish.to_owned());
    Step::End(message, stop)
}

pub(crate) fn call(id: &str, name: &str) -> Block {
    Block::ToolCall(ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        input: Json::parse("{}").unwrap(),
        ..ToolCall::default()
    })
}

/// A directory with a store in it.
#[derive(Debug)]
pub(crate) struct Place {
    directory: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.directory().join("a.db")
    }

    /// Another opening of the store, as another process would have it.
    pub(crate) fn archive(&self) -> Archive {
        Archive::open(&format!("sqlite:{}", self.database().display())).unwrap()
    }

    /// A talk in a new conversation.
    pub(crate) fn talk(&self, script: &Arc<Script>) -> Conversing {
        let archive = self.archive();
        let handle = archive.start(Conversation::new()).unwrap();
        let id = handle.id();
        Conversing::new(AsyncRecorder::start(archive.record(handle, "1@1")), script, id)
    }

    /// What the conversation holds: roles and texts.
    pub(crate) fn stored(&self, id: ConversationId) -> Vec<String> {
        let path = self.archive().path(id, None).unwrap();
        path.iter().map(|stored| told(&stored.message)).collect()
    }

    pub(crate) fn open_turns(&self, id: ConversationId) -> Vec<OpenTurn> {
        self.archive().open_turns().list(id).unwrap()
    }
}

/// A message in a few words: its role, its end and what it says.
pub(crate) fn told(message: &Message) -> String {
    let words: Vec<String> =
        message.blocks.iter().filter_map(Block::words).map(|words| words.into_owned()).collect();
    let finish = message.finish.as_deref().map(|finish| format!(" ({finish})")).unwrap_or_default();
    format!("{}{finish}: {}", message.role.as_str(), words.join(" | "))
}

/// A talk with its events.
#[derive(Debug)]
pub(crate) struct Conversing {
    pub(crate) talk: Talk,
    pub(crate) id: ConversationId,
    events: mpsc::UnboundedSender<TurnEvent>,
    pub(crate) heard: mpsc::UnboundedReceiver<TurnEvent>,
}

impl Conversing {
    pub(crate) fn new(recording: AsyncRecorder, script: &Arc<Script>, id: ConversationId) -> Self {
        let (events, heard) = mpsc::unbounded_channel();
        let talk = Talk::new(script.clone(), "m", recording, History::default());
        Self { talk, id, events, heard }
    }

    pub(crate) async fn say(&mut self, text: &str) -> Result<rejoin_agent::Ended> {
        self.talk.turn(Message::user(text), &self.events).await
    }

    /// Says something, and drops the turn when the script reaches a gate and `then` is done.
    pub(crate) async fn say_until(&mut self, text: &str, gate: &Gate, then: impl IntoFuture<Output = ()>) {
        tokio::select! {
            ended = self.talk.turn(Message::user(text), &self.events) => panic!("it ended: {ended:?}"),
            () = async { gate.reached.notified().await; then.await } => {}
        }
    }

    pub(crate) async fn interrupt(&mut self) -> bool {
        self.talk.interrupt(&self.events).await.unwrap()
    }

    pub(crate) fn history(&self) -> Vec<String> {
        self.talk.history().messages().map(told).collect()
    }
}

/// Asks again and again until there is an answer; a test that never gets one fails after a while.
pub(crate) async fn until<T>(mut ask: impl FnMut() -> Option<T>) -> T {
    let patience = Duration::from_secs(20);
    tokio::time::timeout(patience, async {
        loop {
            if let Some(answer) = ask() {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .expect("it happens within the time")
}
