//! The reply that is being received, shared between the task that receives it and the thread that saves it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};

use crate::async_recorder::{ThreadOrder, Urgency};
use crate::model::{Block, Fields, Json, Message, Role, Thinking};

/// The reply that is being received, and the results of the tools it asked for.
///
/// What is put in is saved as the open turn within a second, so a piece costs a copy into memory. A reply
/// that is complete sooner costs one sync, that of its append. Clones share the reply.
#[derive(Clone, Debug)]
pub struct OpenReply {
    shared: Arc<Mutex<SharedReply>>,
    orders: mpsc::Sender<ThreadOrder>,
}

#[derive(Debug, Default)]
struct SharedReply {
    parts: ReplyParts,
    /// True while the thread knows that there is something to save; it is told once, not for each piece.
    is_told: bool,
}

/// What has arrived.
#[derive(Debug, Default)]
struct ReplyParts {
    /// Where the reply comes from: fields of the message.
    origin: Fields,
    finished: Vec<Block>,
    text: String,
    thinking: String,
    /// The whole reply, once it is complete and its tools run.
    whole: Option<Message>,
    results: Vec<Message>,
}

impl OpenReply {
    pub(super) fn new(orders: mpsc::Sender<ThreadOrder>) -> Self {
        Self { shared: Arc::default(), orders }
    }

    /// Begins a reply with these fields, such as its provider and model. What was in before is dropped.
    pub fn begin(&self, origin: Fields) {
        self.lock().parts = ReplyParts { origin, ..ReplyParts::default() };
    }

    /// Begins the same reply again, after its connection broke.
    pub fn restart(&self) {
        self.change(Urgency::Soon, |parts| {
            *parts = ReplyParts { origin: std::mem::take(&mut parts.origin), ..ReplyParts::default() };
        });
    }

    /// Adds text.
    pub fn push_text(&self, text: &str) {
        self.change(Urgency::Soon, |parts| parts.text.push_str(text));
    }

    /// Adds thinking.
    pub fn push_thinking(&self, text: &str) {
        self.change(Urgency::Soon, |parts| parts.thinking.push_str(text));
    }

    /// Adds a block that is complete. It replaces the text and the thinking
    /// that arrived since the one before.
    pub fn push_block(&self, block: Block) {
        self.change(Urgency::Soon, |parts| {
            parts.text.clear();
            parts.thinking.clear();
            parts.finished.push(block);
        });
    }

    /// The reply is complete, and its tools are about to run. It is saved at once.
    pub fn complete(&self, reply: Message) {
        self.change(Urgency::Now, |parts| parts.whole = Some(reply));
    }

    /// Sets the results of its tools so far.
    pub fn set_results(&self, results: Vec<Message>) {
        self.change(Urgency::Soon, |parts| parts.results = results);
    }

    /// Takes out what has arrived: the reply, and the results of its tools.
    ///
    /// The open turn stays on disk until the next append replaces it.
    pub fn take(&self) -> (Message, Vec<Message>) {
        std::mem::take(&mut self.lock().parts).into_messages()
    }

    /// What is to be saved; none when nothing has arrived. What arrives later is told again.
    pub(super) fn snapshot(&self) -> Option<(Message, Vec<Message>)> {
        let mut shared = self.lock();
        shared.is_told = false;
        (!shared.parts.is_empty()).then(|| shared.parts.to_messages())
    }

    fn change(&self, urgency: Urgency, change: impl FnOnce(&mut ReplyParts)) {
        let mut shared = self.lock();
        change(&mut shared.parts);
        if urgency == Urgency::Now || !shared.is_told {
            shared.is_told = true;
            // A thread that has stopped has said so elsewhere.
            let _ = self.orders.send(ThreadOrder::SaveOpen(urgency));
        }
    }

    fn lock(&self) -> MutexGuard<'_, SharedReply> {
        // Every change leaves it whole, even when the one who made it panics afterwards.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReplyParts {
    fn is_empty(&self) -> bool {
        self.whole.is_none() && self.finished.is_empty() && self.text.is_empty() && self.thinking.is_empty()
    }

    fn to_messages(&self) -> (Message, Vec<Message>) {
        let reply = match &self.whole {
            Some(whole) => whole.clone(),
            None => self.partial(self.finished.clone(), self.origin.clone()),
        };
        (reply, self.results.clone())
    }

    /// The same, without copying what is large.
    fn into_messages(mut self) -> (Message, Vec<Message>) {
        let (finished, origin) = (std::mem::take(&mut self.finished), std::mem::take(&mut self.origin));
        let reply = self.whole.take().unwrap_or_else(|| self.partial(finished, origin));
        (reply, self.results)
    }

    fn partial(&self, mut blocks: Vec<Block>, origin: Fields) -> Message {
        if !self.thinking.is_empty() {
            let mut thinking = Thinking { text: self.thinking.clone(), ..Thinking::default() };
            // Without its signature it cannot be sent back, so it is marked and never becomes a message.
            thinking.extra.set("isThinkingComplete", Json::of(&false).expect("a truth value is JSON"));
            blocks.push(Block::Thinking(thinking));
        }
        if !self.text.is_empty() {
            blocks.push(Block::text(self.text.clone()));
        }
        let mut message = Message::new(Role::Assistant, blocks);
        message.extra = origin;
        message
    }
}
