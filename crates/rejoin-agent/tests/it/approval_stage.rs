//! A talk whose model follows a script, and whose person answers by a plan.

use std::sync::{Arc, Mutex};

use rejoin::{Archive, AsyncRecorder, Block, Conversation, ConversationId, Message, Role, ToolCall};
use rejoin_agent::{
    Api, Decision, Future, History, Listener, Output, Piece, Plan, Prepared, Provider, Reply, Request,
    Result, Stop, Subject, Talk, Tool, ToolSpec, Toolbox, TurnEvent,
};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::mpsc;

use crate::tools_workshop::{json, text};

/// A model that asks for these calls, all at once, and then has nothing more to say.
#[derive(Debug)]
pub(crate) struct Scripted {
    replies: Mutex<Vec<Message>>,
}

impl Scripted {
    pub(crate) fn asking(calls: &[(&str, Value)]) -> Arc<Self> {
        let block = |(number, (name, input)): (usize, &(&str, Value))| {
            Block::ToolCall(ToolCall {
                id: format!("call-{number}"),
                name: (*name).to_owned(),
                input: json(input),
                ..ToolCall::default()
            })
        };
        let asking = Message::new(Role::Assistant, calls.iter().enumerate().map(block).collect());
        Arc::new(Self { replies: Mutex::new(vec![Message::assistant("done"), asking]) })
    }
}

impl Provider for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn api(&self) -> Api {
        Api::Offline
    }

    fn reply<'a>(&'a self, _request: Request<'a>, listen: &'a mut Listener<'_>) -> Future<'a, Result<Reply>> {
        Box::pin(async move {
            let message = self.replies.lock().unwrap().pop().unwrap();
            message.blocks.iter().for_each(|block| listen(Piece::Finished(block.clone())));
            Ok(Reply { message, stop: Stop::Done })
        })
    }
}

/// A tool that does what a function says.
pub(crate) struct Doing {
    spec: ToolSpec,
    is_harmless: bool,
    work: Box<dyn Fn() -> Future<'static, Output> + Send + Sync>,
}

impl Doing {
    pub(crate) fn new<F: std::future::Future<Output = Output> + Send + 'static>(
        name: &str,
        is_harmless: bool,
        work: impl Fn() -> F + Send + Sync + 'static,
    ) -> Arc<Self> {
        let schema = json(&serde_json::json!({"type": "object"}));
        let spec = ToolSpec { name: name.to_owned(), description: String::new(), input_schema: schema };
        Arc::new(Self { spec, is_harmless, work: Box::new(move || Box::pin(work())) })
    }
}

impl std::fmt::Debug for Doing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.spec.name)
    }
}

impl Tool for Doing {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, _input: &rejoin::Json) -> Result<Prepared> {
        let subject = Subject::Tool(self.spec.name.clone());
        let plan = Plan::new(self.spec.name.clone(), &subject);
        let plan = if self.is_harmless { plan.harmless() } else { plan };
        Ok(Prepared::new(plan, subject, (self.work)()))
    }
}

/// A store on disk with one conversation.
pub(crate) struct Stage {
    _directory: TempDir,
    pub(crate) url: String,
    pub(crate) conversation: ConversationId,
}

/// What became of a turn.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome {
    /// The results, in the order of the calls: whether it failed, and what it said.
    pub(crate) results: Vec<(bool, String)>,
    /// What was asked.
    pub(crate) asked: Vec<Plan>,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", directory.path().join("a.db").display());
        let conversation = Archive::open(&url).unwrap().start(Conversation::new()).unwrap().id();
        Self { _directory: directory, url, conversation }
    }

    pub(crate) fn talk(&self, provider: Arc<Scripted>, toolbox: Toolbox) -> Talk {
        let archive = Archive::open(&self.url).unwrap();
        let handle = archive.resume(self.conversation).unwrap();
        Talk::new(provider, "none", AsyncRecorder::start(archive.record(handle, "1@1")), History::default())
            .with_tools(toolbox)
    }

    /// One turn in which the model makes these calls. A question without an answer is dropped.
    pub(crate) async fn turn(
        &self,
        toolbox: &Toolbox,
        calls: &[(&str, Value)],
        answer: impl Fn(&Plan) -> Option<Decision>,
    ) -> Outcome {
        let mut talk = self.talk(Scripted::asking(calls), toolbox.clone());
        let (events, mut heard) = mpsc::unbounded_channel();
        let mut asked = Vec::new();
        let mut ended = false;
        {
            let turn = talk.turn(Message::user("go"), &events);
            tokio::pin!(turn);
            while !ended {
                tokio::select! {
                    outcome = &mut turn => {
                        outcome.unwrap();
                        ended = true;
                    }
                    Some(event) = heard.recv() => if let TurnEvent::Approve { plan, answer: to, .. } = event {
                        if let Some(decision) = answer(&plan) {
                            to.send(decision).unwrap();
                        }
                        asked.push(plan);
                    },
                }
            }
        }
        let results =
            talk.history().messages().flat_map(|message| &message.blocks).filter_map(|block| match block {
                Block::ToolResult(result) => {
                    let output = Output {
                        output: result.output.clone(),
                        is_error: result.is_error,
                        media: Vec::new(),
                    };
                    Some((result.is_error, text(&output)))
                }
                _ => None,
            });
        Outcome { results: results.collect(), asked }
    }
}
