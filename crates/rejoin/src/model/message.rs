//! A message: one finished thing said by one role, and the form in which it is stored.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::error::{Error, Result};
use crate::model::block::BorrowedName;
use crate::model::fast_parse;
use crate::model::{Block, Digest, Fields, Json, MessageId, Time};

/// The field of a message's `extra` that says what it was read from.
pub(crate) const SOURCE: &str = "source";

/// Who said it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions to the model.
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// A tool's results.
    Tool,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 4] = [Self::System, Self::User, Self::Assistant, Self::Tool];

    /// The role's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

impl std::str::FromStr for Role {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == text).ok_or_else(|| {
            let shown: String = text.chars().take(40).collect();
            Error::invalid(format!("`{shown}` is not a role; expected system, user, assistant or tool"))
        })
    }
}

/// Tokens a reply took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens the model read.
    pub input_tokens: u64,
    /// Tokens the model wrote.
    pub output_tokens: u64,
    /// What else the provider reported, as it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<Json>,
}

/// What a message says about privacy: which rules were applied to it, never what they removed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PrivacyNotes {
    /// True when a secret was found and removed.
    pub contains_secrets: bool,
    /// The names of the rules that changed the text.
    pub redaction_rules: Vec<String>,
    /// Keyed hashes of what was removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<String>,
}

/// What one rule took out before something was stored: never what it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redacted {
    /// The rule's name.
    pub rule: String,
    /// How often.
    pub count: u64,
}

/// One finished thing said by one role.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Who said it.
    pub role: Role,
    /// What was said, in order.
    pub blocks: Vec<Block>,
    /// When; the archive fills it in when it is missing.
    pub created_at: Option<Time>,
    /// True when it reports a failure, such as a tool that could not run.
    pub is_error: bool,
    /// Tokens it took.
    pub usage: Option<Usage>,
    /// Why the model stopped, as the provider said it.
    pub finish: Option<String>,
    /// What was done to it for privacy.
    pub privacy: Option<PrivacyNotes>,
    /// A name for the branch that starts here, or a topic. It can change later and is outside the digest.
    pub label: Option<String>,
    /// The caller's own fields.
    pub extra: Fields,
    /// Fields of a newer version.
    unknown: Fields,
}

impl Message {
    /// A message of any role with these blocks.
    pub fn new(role: Role, blocks: Vec<Block>) -> Self {
        Self {
            role,
            blocks,
            created_at: None,
            is_error: false,
            usage: None,
            finish: None,
            privacy: None,
            label: None,
            extra: Fields::new(),
            unknown: Fields::new(),
        }
    }

    /// What a person said.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, vec![Block::text(text)])
    }

    /// What a model said.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(Role::Assistant, vec![Block::text(text)])
    }

    /// The fields of a newer version.
    pub(crate) const fn unknown_mut(&mut self) -> &mut Fields {
        &mut self.unknown
    }

    /// Sets the label.
    #[must_use]
    pub fn labelled(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Sets the time.
    #[must_use]
    pub fn at(mut self, time: Time) -> Self {
        self.created_at = Some(time);
        self
    }

    /// The text blocks, one paragraph each: what a transcript shows.
    pub fn text(&self) -> String {
        let mut parts = self.texts();
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |mut text, part| {
            text.push('\n');
            text.push_str(part);
            text
        })
    }

    /// The text blocks.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Text(block) => Some(block.text.as_str()),
            Block::Summary(block) => Some(block.text.as_str()),
            _ => None,
        })
    }

    /// The JSON text that is stored and hashed. It holds neither id, parent nor label.
    pub fn to_body(&self) -> String {
        serde_json::to_string(self).expect("a message is plain data")
    }

    /// Reads what [`Message::to_body`] wrote, in this version or another.
    pub fn from_body(body: &str) -> Result<Self> {
        if let Some(message) = fast_parse::read(body) {
            return Ok(message);
        }
        serde_json::from_str(body).map_err(|cause| Error::corrupt("read a stored message").because(cause))
    }
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("role", &self.role)?;
        if let Some(time) = &self.created_at {
            map.serialize_entry("created_at", time)?;
        }
        map.serialize_entry("blocks", &self.blocks)?;
        if self.is_error {
            map.serialize_entry("is_error", &true)?;
        }
        if let Some(usage) = &self.usage {
            map.serialize_entry("usage", usage)?;
        }
        if let Some(finish) = &self.finish {
            map.serialize_entry("finish", finish)?;
        }
        if let Some(privacy) = &self.privacy {
            map.serialize_entry("privacy", privacy)?;
        }
        if !self.extra.is_empty() {
            map.serialize_entry("extra", &self.extra)?;
        }
        self.unknown.write_into(&mut map)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_map(MessageVisitor)
    }
}

struct MessageVisitor;

impl<'de> Visitor<'de> for MessageVisitor {
    type Value = Message;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message: a JSON object with `role` and `blocks`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Message, A::Error> {
        let mut role = None;
        let mut message = Message::new(Role::User, Vec::new());
        while let Some(BorrowedName(name)) = map.next_key::<BorrowedName<'de>>()? {
            match name.as_ref() {
                "role" => role = Some(map.next_value()?),
                "created_at" => message.created_at = map.next_value()?,
                "blocks" => message.blocks = map.next_value()?,
                "is_error" => message.is_error = map.next_value()?,
                "usage" => message.usage = map.next_value()?,
                "finish" => message.finish = map.next_value()?,
                "privacy" => message.privacy = map.next_value()?,
                "extra" => message.extra = map.next_value()?,
                _ => message.unknown.set(name, map.next_value()?),
            }
        }
        message.role = role.ok_or_else(|| de::Error::missing_field("role"))?;
        Ok(message)
    }
}

/// A message as the archive gives it back: where it stands, and what it vouches for.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredMessage {
    /// Its id, unique in its conversation.
    pub id: MessageId,
    /// The message it follows; none for a root.
    pub parent: Option<MessageId>,
    /// Its place in order of arrival, from 1.
    pub seq: u32,
    /// The sequence of the first message saved together with it.
    pub turn: u32,
    /// What it vouches for.
    pub digest: Digest,
    /// True when it survives every compaction.
    pub is_pinned: bool,
    /// What was said.
    pub message: Message,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_newer_version_survive() {
        let body = r#"{"role":"assistant","created_at":"2026-11-15T19:27:27.000001Z","blocks":[{"type":"text","text":"a"}],"usage":{"input_tokens":1,"output_tokens":2},"finish":"stop","extra":{"k":1},"mood":"calm"}"#;

        assert_eq!(Message::from_body(body).unwrap().to_body(), body);
    }

    #[test]
    fn a_message_without_a_role_is_refused() {
        assert!(Message::from_body(r#"{"blocks":[]}"#).is_err());
    }

    #[test]
    fn the_text_joins_what_was_said_and_leaves_out_the_rest() {
        let call = Block::tool_call("c", "read", Json::parse("{}").unwrap());
        let message = Message::new(Role::Assistant, vec![Block::text("one"), call, Block::text("two")]);

        assert_eq!(message.text(), "one\ntwo");
    }
}
