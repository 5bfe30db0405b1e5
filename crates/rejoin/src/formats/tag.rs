//! What Rejoin writes next to the fields of a format under the name `rejoin`, which other programs ignore.
//!
//! A format whose lines hold a role and a text cannot hold calls, microseconds or message ids. The tag holds
//! what is missing. A manual edit of a tagged line takes precedence: the tag has a hash of its line's text
//! and is ignored for another text.
//!
//! ```text
//! {"role":"tool","content":"3 files","rejoin":{"id":"Xw81kQ","said":"9f86d081…","message":{…}}}
//! ```

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use crate::formats::{SourceConversation, SourceKept, SourceMessage, SourceParent, encoding};
use crate::model::{Conversation, Hold, Message, Time};

/// The name of the field.
pub(super) const FIELD: &str = "rejoin";

/// The tag of a message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct MessageTag {
    /// Its id.
    pub(super) id: Option<String>,
    /// The message it follows; none if that is the previous one.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    /// For a compaction: the messages that stay visible.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    keeps: Vec<SourceKept>,
    /// The exact time, if the line's own is less precise.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Time>,
    /// The hash of the text for which `message` is valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    said: Option<String>,
    /// The whole message, if the format cannot hold its blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Message>,
    /// The message without its blocks, if the format holds those.
    #[serde(skip_serializing_if = "Option::is_none")]
    shell: Option<Message>,
}

/// The tag of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ConversationTag {
    id: String,
    created_at: Time,
    #[serde(default)]
    pub(super) header: Conversation,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    head: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<SourceParent>,
}

/// Parses a tag; none if it is malformed.
pub(super) fn read<T: DeserializeOwned>(raw: Option<&RawValue>) -> Option<T> {
    serde_json::from_str(raw?.get()).ok()
}

impl MessageTag {
    /// Creates the tag of a message that is written as `said`. `plain` is what a reader makes of that text
    /// alone.
    pub(super) fn of(found: &SourceMessage, said: &str, plain: Option<&Message>) -> Self {
        let mut bare = found.message.clone();
        let label = bare.label.take();
        let (id, parent, keeps) = (Some(found.id.clone()), found.parent.clone(), found.keeps.clone());
        let tag = Self { id, parent, label, keeps, ..Self::default() };
        let rough = plain.and_then(|plain| plain.created_at);
        let at = bare.created_at.filter(|time| Some(*time) != rough);
        let is_held = plain.is_some_and(|plain| match at {
            Some(time) => plain.clone().at(time) == bare,
            None => *plain == bare,
        });
        if is_held {
            return Self { at, ..tag };
        }
        if plain.is_some_and(|plain| plain.blocks == bare.blocks) {
            bare.blocks = Vec::new();
            return Self { shell: Some(bare), ..tag };
        }
        Self { said: Some(hash(said)), message: Some(bare), ..tag }
    }

    /// Combines the tag with its line: the text `said`, which a reader parsed as `plain`.
    fn finish(self, said: &str, plain: Message) -> Message {
        let is_held = self.holds(said);
        let mut message = match (self.message.filter(|_| is_held), self.shell) {
            (Some(message), _) => message,
            (None, Some(mut shell)) => {
                shell.blocks = plain.blocks;
                shell
            }
            (None, None) => plain,
        };
        message.created_at = self.at.or(message.created_at);
        message.label = self.label;
        message
    }

    /// True when the tag holds the message of a line with the text `said`.
    pub(super) fn holds(&self, said: &str) -> bool {
        self.message.is_some() && self.said.as_deref() == Some(hash(said).as_str())
    }

    /// Combines the tag with its line: the text `said`, which a reader parsed as `plain`. Without a value in
    /// the tag, the id is `own` and the parent is `before`.
    pub(super) fn place(
        self,
        conversation: &str,
        own: String,
        before: Option<String>,
        said: &str,
        plain: Message,
    ) -> SourceMessage {
        SourceMessage {
            conversation: conversation.to_owned(),
            id: self.id.clone().unwrap_or(own),
            parent: self.parent.clone().or(before),
            keeps: self.keeps.clone(),
            message: self.finish(said, plain),
            line: 0,
            source: String::new(),
        }
    }
}

impl ConversationTag {
    /// Creates the tag, without what only concerns the store that the conversation comes from.
    pub(super) fn of(conversation: &SourceConversation) -> Self {
        let mut header = conversation.header.clone();
        header.hold = Hold::None;
        header.origin = None;
        // These refer to messages by ids that exist nowhere else.
        header.ignored_summaries.clear();
        Self {
            id: conversation.id.clone(),
            created_at: conversation.created_at,
            header,
            head: conversation.head.clone(),
            parent: conversation.parent.clone(),
        }
    }

    /// Restores the conversation.
    pub(super) fn into_conversation(self) -> SourceConversation {
        SourceConversation {
            id: self.id,
            created_at: self.created_at,
            header: self.header,
            parent: self.parent,
            head: self.head,
        }
    }
}

/// Enough of a hash to detect a manual change.
fn hash(text: &str) -> String {
    encoding::hex(&Sha256::digest(text.as_bytes())[..8])
}
