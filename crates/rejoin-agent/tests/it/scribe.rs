//! A provider that tells requests for a summary from the rest, and a talk with it that is kept in a file.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use rejoin::view::Compaction;
use rejoin::{
    AsyncRecorder, Block, Conversation, ConversationId, Json, Message, MessageId, Role, Snapshot, Usage,
};
use rejoin_agent::{
    Api, CompactSettings, Compacted, Error, ErrorKind, Future, History, Listener, Provider, Reply, Request,
    Result, Stop, Talk, TurnEvent,
};
use tokio::sync::{Notify, mpsc};

use crate::script::{Place, call};

/// How one request is answered.
#[derive(Clone, Debug)]
pub(crate) enum Says {
    /// Words, and how many tokens the provider counted; none when it does not tell.
    Text(String, Option<u64>),
    /// A call of the tool `read`, with a count.
    Call(u64),
    Fails(ErrorKind),
    /// Never answers.
    Waits,
}

/// An answer with a count.
pub(crate) fn says(text: &str, tokens: u64) -> Says {
    Says::Text(text.to_owned(), Some(tokens))
}

/// An answer without one.
pub(crate) fn writes(text: &str) -> Says {
    Says::Text(text.to_owned(), None)
}

/// A request as the provider saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) model: String,
    pub(crate) system: String,
    pub(crate) tools: Vec<String>,
    /// Roles and texts.
    pub(crate) messages: Vec<String>,
}

/// Answers from two lists: one for requests for a summary, one for the rest.
#[derive(Debug)]
pub(crate) struct Scribe {
    replies: Mutex<VecDeque<Says>>,
    summaries: Mutex<VecDeque<Says>>,
    asked: Mutex<Vec<Asked>>,
    summarising: Mutex<Vec<Asked>>,
    /// Told when a summary is asked for.
    pub(crate) is_asked: Notify,
}

impl Scribe {
    pub(crate) fn new(
        replies: impl IntoIterator<Item = Says>,
        summaries: impl IntoIterator<Item = Says>,
    ) -> Arc<Self> {
        Arc::new(Self {
            replies: Mutex::new(replies.into_iter().collect()),
            summaries: Mutex::new(summaries.into_iter().collect()),
            asked: Mutex::default(),
            summarising: Mutex::default(),
            is_asked: Notify::new(),
        })
    }

    /// The requests for a reply.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// The requests for a summary.
    pub(crate) fn summarising(&self) -> Vec<Asked> {
        self.summarising.lock().unwrap().clone()
    }
}

impl Provider for Scribe {
    fn name(&self) -> &str {
        "scribe"
    }

    fn api(&self) -> Api {
        Api::Chat
    }

    fn written(&self, request: &Request<'_>) -> Option<String> {
        Some(format!("{} messages", request.messages.len()))
    }

    fn reply<'a>(&'a self, request: Request<'a>, _: &'a mut Listener<'_>) -> Future<'a, Result<Reply>> {
        let asked = Asked {
            model: request.model.to_owned(),
            system: request.system.to_owned(),
            tools: request.tools.iter().map(|spec| spec.name.clone()).collect(),
            messages: request.messages.iter().map(|viewed| line(&viewed.message)).collect(),
        };
        let is_summary =
            request.messages.last().is_some_and(|last| last.message.text() == Compaction::PROMPT);
        let (log, says) = if is_summary {
            self.is_asked.notify_one();
            (&self.summarising, self.summaries.lock().unwrap().pop_front().expect("no more summaries"))
        } else {
            (&self.asked, self.replies.lock().unwrap().pop_front().unwrap_or_else(|| writes("fine")))
        };
        log.lock().unwrap().push(asked);
        let model = request.model.to_owned();
        Box::pin(async move {
            let (blocks, tokens, stop) = match says {
                Says::Text(text, tokens) => (vec![Block::text(text)], tokens, Stop::Done),
                Says::Call(tokens) => (vec![call("c", "read")], Some(tokens), Stop::Tools),
                Says::Fails(kind) => return Err(Error::new(kind, "the scribe fails")),
                Says::Waits => return std::future::pending().await,
            };
            let mut message = Message::new(Role::Assistant, blocks);
            message.usage =
                tokens.map(|tokens| Usage { input_tokens: tokens - 1, output_tokens: 1, detail: None });
            message.extra.set("model", Json::of(&format!("{model}-20260101")).unwrap());
            Ok(Reply { message, stop })
        })
    }
}

/// A message in one line.
pub(crate) fn line(message: &Message) -> String {
    let words: Vec<String> =
        message.blocks.iter().filter_map(Block::words).map(|words| words.into_owned()).collect();
    format!("{}: {}", message.role.as_str(), words.join(" | "))
}

/// Settings with a window of so many tokens.
pub(crate) fn window(tokens: u64) -> CompactSettings {
    CompactSettings { window: Some(tokens), ..CompactSettings::default() }
}

/// A talk with a scribe.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) place: Place,
    pub(crate) id: ConversationId,
    pub(crate) scribe: Arc<Scribe>,
    pub(crate) talk: Talk,
    pub(crate) events: mpsc::UnboundedSender<TurnEvent>,
    heard: mpsc::UnboundedReceiver<TurnEvent>,
}

impl Desk {
    /// A talk in a conversation that begins with these messages.
    pub(crate) fn new(scribe: &Arc<Scribe>, settings: CompactSettings, messages: Vec<Message>) -> Self {
        let place = Place::new();
        let archive = place.archive();
        let mut handle = archive.start(Conversation::new()).unwrap();
        messages.into_iter().for_each(|message| drop(handle.append(message).unwrap()));
        let (events, heard) = mpsc::unbounded_channel();
        let history = History::load(&handle).unwrap();
        let id = handle.id();
        let recording = AsyncRecorder::start(archive.record(handle, "1@1"));
        let talk = Talk::new(scribe.clone(), "m", recording, history)
            .with_system("be brief")
            .with_compaction(settings);
        Self { place, id, scribe: scribe.clone(), talk, events, heard }
    }

    /// The same with other parts of the talk.
    pub(crate) fn with(mut self, change: impl FnOnce(Talk) -> Talk) -> Self {
        self.talk = change(self.talk);
        self
    }

    /// Opens the store again and goes on, as another process would.
    pub(crate) fn resume(self, settings: CompactSettings) -> Self {
        let Self { place, id, scribe, talk, events, heard } = self;
        drop(talk);
        let archive = place.archive();
        let handle = archive.resume(id).unwrap();
        let history = History::load(&handle).unwrap();
        let recording = AsyncRecorder::start(archive.record(handle, "2@2"));
        let talk = Talk::new(scribe.clone(), "m", recording, history)
            .with_system("be brief")
            .with_compaction(settings);
        Self { place, id, scribe, talk, events, heard }
    }

    pub(crate) async fn say(&mut self, text: &str) -> Result<rejoin_agent::Ended> {
        self.talk.turn(Message::user(text), &self.events).await
    }

    pub(crate) async fn compact(&mut self) -> Result<Compacted> {
        self.talk.compact(&self.events).await
    }

    /// What was told of compactions since this was last called.
    pub(crate) fn told(&mut self) -> Vec<String> {
        let mut told = Vec::new();
        while let Ok(event) = self.heard.try_recv() {
            match event {
                TurnEvent::Compacting => told.push("compacting".to_owned()),
                TurnEvent::Compacted(compacted) => told.push(compacted.summary),
                // How long a save takes is up to the machine.
                TurnEvent::Warning(warning) if warning.starts_with("Saving took") => {}
                TurnEvent::Warning(warning) => told.push(warning),
                _ => {}
            }
        }
        told
    }

    /// What the provider would be sent: roles and texts.
    pub(crate) fn view(&self) -> Vec<String> {
        view_of(self.talk.history(), self.scribe.as_ref())
    }

    /// The stored path.
    pub(crate) fn stored(&self) -> Vec<(MessageId, Message)> {
        let path = self.place.archive().path(self.id, None).unwrap();
        path.into_iter().map(|stored| (stored.id, stored.message)).collect()
    }
}

/// What a provider would be sent of a history.
pub(crate) fn view_of(history: &History, provider: &dyn Provider) -> Vec<String> {
    history.view(&provider.recipient()).messages.iter().map(|viewed| line(&viewed.message)).collect()
}

/// A question and a long answer.
pub(crate) fn exchange(number: usize) -> Vec<Message> {
    vec![
        Message::user(format!("question {number}")),
        Message::assistant(format!("reply {number}: {}", "blah ".repeat(200))),
    ]
}

/// So many of them.
pub(crate) fn exchanges(count: usize) -> Vec<Message> {
    (1..=count).flat_map(exchange).collect()
}

/// A message with a state to carry along.
pub(crate) fn snapshot(json: &str) -> Message {
    let data = Json::parse(json).unwrap();
    Message::new(Role::User, vec![Block::Snapshot(Snapshot { data, ..Snapshot::default() })])
}

/// The line of a summary in a view.
pub(crate) fn summary_line(summary: &str) -> String {
    format!("user: Summary of earlier conversation:\n\n{summary}")
}

/// The line of a request for a summary.
pub(crate) fn prompt_line() -> String {
    format!("user: {}", Compaction::PROMPT)
}

/// A summary as it is told.
pub(crate) fn summary_told(summary: &str) -> String {
    format!("Summary of earlier conversation:\n\n{summary}")
}
