//! What a conversation and a source have in common, where their messages have different ids.
//!
//! A session that was handed to another program comes back with ids of that program. It begins like the
//! conversation it was made of, and only what follows is new.

use std::collections::HashMap;

use crate::error::Result;
use crate::model::{Block, ConversationId, Digest, Message, MessageId};
use crate::store::{Order, Selection, Store};

/// The messages of a conversation by what they follow and what they say.
#[derive(Default)]
pub(super) struct Counterparts {
    said: HashMap<(Option<MessageId>, Digest), MessageId>,
}

impl Counterparts {
    pub(super) fn of(store: &dyn Store, id: ConversationId) -> Result<Self> {
        let mut said = HashMap::new();
        let all = Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX };
        store.read(id, all, &mut |seen| {
            if let Some(words) = words(&Message::from_body(seen.body)?) {
                said.entry((seen.parent, words)).or_insert(seen.id);
            }
            Ok(())
        })?;
        Ok(Self { said })
    }

    /// The message that says the same at the same place.
    pub(super) fn of_message(&self, parent: Option<MessageId>, message: &Message) -> Option<MessageId> {
        self.said.get(&(parent, words(message)?)).copied()
    }
}

/// What a message says, without what only one program knows of it; none when that is nothing.
fn words(message: &Message) -> Option<Digest> {
    let mut said: Vec<(&str, &str, &str)> = Vec::new();
    for block in &message.blocks {
        match block {
            Block::Text(text) => said.push(("text", "", &text.text)),
            Block::ToolCall(call) => said.push(("call", &call.name, call.input.as_str())),
            Block::ToolResult(result) => said.push(("result", "", result.output.as_str())),
            // Programs do not hand thoughts on.
            Block::Thinking(_) => {}
            Block::Media(_) | Block::Snapshot(_) | Block::Summary(_) | Block::Other(_) => return None,
        }
    }
    let text = serde_json::to_string(&(message.role.as_str(), &said)).ok()?;
    (!said.is_empty()).then(|| Digest::chain(None, text.as_bytes()))
}
