//! What has arrived of the reply that is being received.

use rejoin::{Block, Fields, Json, Message, Role, Thinking};

use crate::providers::Piece;

/// What has arrived of the reply that is being received, and the results of the tools it asked for.
#[derive(Debug, Default)]
pub(crate) struct Arriving {
    /// Where the reply comes from: fields of the message.
    origin: Fields,
    finished: Vec<Block>,
    text: String,
    thinking: String,
    /// The whole reply, once it is complete and its tools run.
    whole: Option<Message>,
    results: Vec<Message>,
}

impl Arriving {
    /// A reply of which nothing has arrived.
    pub(crate) fn from_origin(origin: Fields) -> Self {
        Self { origin, ..Self::default() }
    }

    pub(crate) fn add(&mut self, piece: &Piece) {
        match piece {
            Piece::Text(text) => self.text.push_str(text),
            Piece::Thinking(text) => self.thinking.push_str(text),
            Piece::Call { .. } => {}
            Piece::Finished(block) => {
                self.text.clear();
                self.thinking.clear();
                self.finished.push(block.clone());
            }
            Piece::Again { .. } => *self = Self::from_origin(std::mem::take(&mut self.origin)),
        }
    }

    /// The reply is complete, but its tools have yet to run.
    pub(crate) fn complete(&mut self, reply: Message) {
        self.whole = Some(reply);
    }

    pub(crate) fn set_results(&mut self, results: Vec<Message>) {
        self.results = results;
    }

    /// True when there is nothing worth saving.
    pub(super) fn is_empty(&self) -> bool {
        self.whole.is_none() && self.finished.is_empty() && self.text.is_empty() && self.thinking.is_empty()
    }

    /// The reply so far, and the results so far.
    pub(super) fn to_parts(&self) -> (Message, Vec<Message>) {
        let reply = match &self.whole {
            Some(whole) => whole.clone(),
            None => self.partial(self.finished.clone(), self.origin.clone()),
        };
        (reply, self.results.clone())
    }

    /// The same, without copying what is large.
    pub(super) fn into_parts(mut self) -> (Message, Vec<Message>) {
        let (finished, origin) = (std::mem::take(&mut self.finished), std::mem::take(&mut self.origin));
        let reply = self.whole.take().unwrap_or_else(|| self.partial(finished, origin));
        (reply, self.results)
    }

    fn partial(&self, mut blocks: Vec<Block>, origin: Fields) -> Message {
        if !self.thinking.is_empty() {
            let mut thinking = Thinking { text: self.thinking.clone(), ..Thinking::default() };
            // Without its signature nobody could send it back, so it is marked and never becomes a message.
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
