//! The reply that is being received, as the talk sees it: pieces go in, and a
//! complete turn comes out if it is cut off.

use rejoin::{Fields, Json, Message, OpenReply};

use crate::providers::{Piece, Provider};

/// The reply that is being received. What is put in here is saved as the open turn.
#[derive(Debug)]
pub(super) struct DraftReply {
    reply: OpenReply,
    /// Results of the tools that the reply asked for.
    pub(super) results: Results,
}

impl DraftReply {
    pub(super) fn new(reply: OpenReply) -> Self {
        Self { results: Results(reply.clone()), reply }
    }

    /// Begins a reply of a provider's model.
    pub(super) fn begin(&self, provider: &dyn Provider, model: &str) {
        let mut origin = Fields::new();
        for (name, value) in
            [("provider", provider.name()), ("api", provider.api().as_str()), ("model", model)]
        {
            origin.set(name, Json::of(&value).expect("a string is JSON"));
        }
        self.reply.begin(origin);
    }

    pub(super) fn add(&self, piece: &Piece) {
        match piece {
            Piece::Text(text) => self.reply.push_text(text),
            Piece::Thinking(text) => self.reply.push_thinking(text),
            Piece::Call { .. } => {}
            Piece::Finished(block) => self.reply.push_block(block.clone()),
            Piece::Again { .. } => self.reply.restart(),
        }
    }

    /// The reply is complete, and its tools are about to run.
    pub(super) fn complete(&self, reply: &Message) {
        self.reply.complete(reply.clone());
    }

    /// Empties the draft: the reply is a turn of its own, or void.
    pub(super) fn clear(&self) {
        drop(self.reply.take());
    }

    /// Empties the draft and returns what is kept of the reply: nothing, or a complete turn.
    pub(super) fn take_interrupted(&self) -> Vec<Message> {
        let (reply, results) = self.reply.take();
        reply.interrupted(results)
    }
}

/// Results of tools, in the open turn as soon as they are there.
#[derive(Debug)]
pub(super) struct Results(OpenReply);

impl Results {
    /// Takes over all results so far.
    pub(super) fn clone_from(&mut self, results: &[Message]) {
        self.0.set_results(results.to_vec());
    }
}
