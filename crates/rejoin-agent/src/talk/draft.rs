//! What has arrived of the reply that is being received.

use rejoin::{Block, Message, Role};

use crate::providers::Piece;
use crate::talk::calls::{answers, calls_of, result_of};
use crate::tools::Output;

/// Why the model stopped, for a reply that was cut off.
const INTERRUPTED: &str = "interrupted";

/// What has arrived of the reply that is being received.
#[derive(Debug, Default)]
pub(super) struct Draft {
    finished: Vec<Block>,
    text: String,
    thinking: String,
    /// Results of the tools that the reply asked for.
    pub(super) results: Vec<Message>,
}

impl Draft {
    pub(super) fn add(&mut self, piece: &Piece) {
        match piece {
            Piece::Text(text) => self.text.push_str(text),
            Piece::Thinking(text) => self.thinking.push_str(text),
            Piece::Call { .. } => {}
            Piece::Finished(block) => {
                self.text.clear();
                self.thinking.clear();
                self.finished.push(block.clone());
            }
            Piece::Again { .. } => *self = Self::default(),
        }
    }

    /// The reply so far. Unfinished thinking is left out: without its signature nobody could send it back.
    pub(super) fn to_message(&self) -> Message {
        let mut blocks = self.finished.clone();
        if !self.text.is_empty() {
            blocks.push(Block::text(self.text.clone()));
        }
        Message::new(Role::Assistant, blocks)
    }

    pub(super) fn into_interrupted(self) -> Vec<Message> {
        let mut message = self.to_message();
        if message.blocks.is_empty() {
            return Vec::new();
        }
        message.finish = Some(INTERRUPTED.to_owned());
        let calls = calls_of(&message);
        let mut messages = vec![message];
        for call in &calls {
            let known = self.results.iter().find(|result| answers(result, &call.id));
            messages.push(
                known
                    .cloned()
                    .unwrap_or_else(|| result_of(call, Output::failure("interrupted before it finished"))),
            );
        }
        messages
    }
}
