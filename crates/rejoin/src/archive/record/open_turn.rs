//! The open turn: what has arrived of a reply that is not finished, kept so that a crash does not lose it.

use serde::{Deserialize, Serialize};

use crate::archive::Archive;
use crate::error::{Error, Result};
use crate::model::{
    Block, ConversationId, Fields, Json, Message, MessageId, Receipt, Role, Time, ToolResult,
};
use crate::store::{Put, Safety, Space, Stale};

/// Why the model stopped, for a reply that was cut off.
const INTERRUPTED: &str = "interrupted";

/// What had arrived of a reply when it was last saved.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OpenTurn {
    /// What it is stored under.
    pub name: MessageId,
    /// The message it follows.
    pub base: Option<MessageId>,
    /// The process that received it.
    pub writer: String,
    /// When it was saved.
    pub saved_at: Time,
    /// The reply so far.
    pub partial: Message,
    /// Results of tools the reply asked for, so far.
    pub results: Vec<Message>,
}

/// As it is stored.
#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    base: Option<MessageId>,
    writer: String,
    saved_at: Time,
    partial: Json,
    results: Vec<Json>,
}

impl OpenTurn {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let json = |message: &Message| Json::parse(message.to_body()).expect("a body is JSON");
        let stored = Stored {
            version: 1,
            base: self.base,
            writer: self.writer.clone(),
            saved_at: self.saved_at,
            partial: json(&self.partial),
            results: self.results.iter().map(json).collect(),
        };
        serde_json::to_vec(&stored).expect("an open turn is plain data")
    }

    fn from_bytes(name: &[u8], bytes: &[u8]) -> Result<Self> {
        let stored: Stored = serde_json::from_slice(bytes)
            .map_err(|cause| Error::corrupt("read an open turn").because(cause))?;
        let name = str::from_utf8(name).ok().and_then(|name| name.parse().ok());
        Ok(Self {
            name: name.ok_or_else(|| Error::corrupt("read the name of an open turn"))?,
            base: stored.base,
            writer: stored.writer,
            saved_at: stored.saved_at,
            partial: Message::from_body(stored.partial.as_str())?,
            results: stored
                .results
                .iter()
                .map(|body| Message::from_body(body.as_str()))
                .collect::<Result<_>>()?,
        })
    }

    /// The messages to keep: the reply marked as interrupted, and an answer to every call it made.
    pub fn messages(&self) -> Vec<Message> {
        let mut reply = self.partial.clone();
        reply.finish = Some(INTERRUPTED.to_owned());
        let mut results = self.results.clone();
        let answered: Vec<&str> = self
            .results
            .iter()
            .flat_map(|message| &message.blocks)
            .filter_map(|block| match block {
                Block::ToolResult(result) => Some(result.call_id.as_str()),
                _ => None,
            })
            .collect();
        let unanswered = self.partial.blocks.iter().filter_map(|block| match block {
            Block::ToolCall(call) if !answered.contains(&call.id.as_str()) => Some(call.id.clone()),
            _ => None,
        });
        results.extend(unanswered.map(cut_off));
        let mut messages = vec![reply];
        messages.append(&mut results);
        messages
    }
}

/// What stands for the result of a call that never came back.
fn cut_off(call_id: String) -> Message {
    let result = ToolResult {
        call_id,
        output: Json::of(&"interrupted before it finished").expect("a string is JSON"),
        is_error: true,
        extra: Fields::new(),
    };
    let mut message = Message::new(Role::Tool, vec![Block::ToolResult(result)]);
    message.is_error = true;
    message
}

impl Archive {
    /// Replies of a conversation that were still arriving when they were last saved, oldest first.
    ///
    /// One of them may belong to a process that is still at work; its `writer` tells which.
    pub fn open_turns(&self, conversation: ConversationId) -> Result<Vec<OpenTurn>> {
        let mut found = Vec::new();
        self.store().get(Space::OpenTurn, Some(conversation), b"", &mut |name, bytes| {
            found.push(OpenTurn::from_bytes(name, bytes)?);
            Ok(())
        })?;
        found.sort_by_key(|turn| turn.saved_at);
        Ok(found)
    }

    /// Makes an open turn part of the conversation, in one write, and returns its receipt.
    pub fn keep_open_turn(&self, conversation: ConversationId, turn: &OpenTurn) -> Result<Receipt> {
        let mut handle = match turn.base {
            Some(base) => self.resume_at(conversation, base)?,
            None => self.resume(conversation)?,
        };
        let mut prepared = handle.prepare(super::follow(turn.messages()))?;
        handle.commit(&mut prepared, Stale::Branch, &[erasure(conversation, &turn.name)])
    }

    /// Takes an open turn away.
    pub fn discard_open_turn(&self, conversation: ConversationId, name: MessageId) -> Result<()> {
        self.store().put(&[erasure(conversation, &name)], Safety::Synced)
    }
}

fn erasure(conversation: ConversationId, name: &MessageId) -> Put<'_> {
    Put { space: Space::OpenTurn, owner: Some(conversation), name: name.as_str().as_bytes(), bytes: None }
}
