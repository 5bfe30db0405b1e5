//! One line of a rollout, as far as the reader needs it.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::formats::SourceKept;
use crate::formats::lines::SourceLine;
use crate::formats::partial_object::PartialObject;
use crate::formats::raw_object::{RawContent, RawObject};
use crate::model::{Json, Message, Time};

/// A line. Other fields are kept in the text of the line.
#[derive(Debug)]
pub(super) struct CodexLine<'a> {
    pub(super) kind: String,
    timestamp: Option<&'a RawValue>,
    pub(super) ordinal: Option<u64>,
    payload: Payload<'a>,
    pub(super) rejoin: Option<CodexTag>,
    /// Set after parsing.
    pub(super) at: SourceLine<'a>,
}

/// The payload of a line.
#[derive(Debug)]
enum Payload<'a> {
    /// Its text: it is parsed later, or the type of the line is not known yet.
    Raw(&'a RawValue),
    /// Its parsed value.
    Read(RawContent<'a>),
}

/// The types of lines whose payload is parsed later.
const TYPED: [&str; 2] = ["session_meta", "compacted"];

impl<'de> Deserialize<'de> for CodexLine<'de> {
    /// The type of a line comes before its payload, so a long payload is scanned once.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CodexLineVisitor;

        impl<'de> Visitor<'de> for CodexLineVisitor {
            type Value = CodexLine<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a line of a rollout")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<CodexLine<'de>, A::Error> {
                let (mut kind, mut timestamp, mut ordinal, mut payload, mut rejoin) =
                    (None, None, None, None, None);
                while let Some(name) = map.next_key::<Cow<'de, str>>()? {
                    match name.as_ref() {
                        "type" => kind = Some(map.next_value::<String>()?),
                        "timestamp" => timestamp = map.next_value()?,
                        "ordinal" => ordinal = map.next_value()?,
                        "payload" => {
                            let is_read = kind.as_deref().is_some_and(|kind| !TYPED.contains(&kind));
                            payload = Some(if is_read {
                                Payload::Read(map.next_value()?)
                            } else {
                                Payload::Raw(map.next_value()?)
                            });
                        }
                        "rejoin" => rejoin = map.next_value()?,
                        _ => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                let kind = kind.ok_or_else(|| A::Error::missing_field("type"))?;
                let payload = payload.ok_or_else(|| A::Error::missing_field("payload"))?;
                Ok(CodexLine { kind, timestamp, ordinal, payload, rejoin, at: SourceLine::default() })
            }
        }

        deserializer.deserialize_map(CodexLineVisitor)
    }
}

/// The tag that Rejoin writes on a line.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CodexTag {
    /// The id of the message that the line is part of.
    pub(super) id: Option<String>,
    /// The message without its blocks, on its first line.
    pub(super) message: Option<Message>,
    /// The title, on the first line of the file.
    pub(super) title: Option<String>,
    /// The program's name for a failed tool result.
    pub(super) is_error: bool,
    /// The messages that a compaction keeps.
    pub(super) keeps: Option<Vec<SourceKept>>,
}

/// The metadata of a thread.
#[derive(Debug, Deserialize)]
pub(super) struct ThreadMeta {
    pub(super) id: String,
    pub(super) timestamp: Json,
    pub(super) cwd: String,
    #[serde(default)]
    pub(super) forked_from_id: Option<String>,
    #[serde(default)]
    pub(super) parent_thread_id: Option<String>,
    #[serde(default)]
    pub(super) agent_nickname: Option<String>,
    #[serde(default, alias = "agent_type")]
    pub(super) agent_role: Option<String>,
    #[serde(default)]
    pub(super) model_provider: Option<String>,
    #[serde(default)]
    pub(super) history_base: Option<HistoryBase>,
    #[serde(default)]
    pub(super) git: Option<Git>,
}

/// The file that this one begins with.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct HistoryBase {
    pub(super) thread_id: String,
    pub(super) end_ordinal_exclusive: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Git {
    #[serde(default)]
    pub(super) commit_hash: Option<String>,
}

/// A compaction: the summary and the replacement of the history.
#[derive(Debug, Deserialize)]
pub(super) struct CompactedPayload {
    pub(super) message: String,
    #[serde(default)]
    pub(super) replacement_history: Option<Vec<Json>>,
}

/// The events that the reader acts on.
#[derive(Debug, Default)]
pub(super) struct CodexEvent {
    pub(super) kind: Option<String>,
    pub(super) num_turns: Option<u64>,
    pub(super) last_token_usage: Option<Json>,
    pub(super) usage: Option<Json>,
    pub(super) model: Option<String>,
}

#[derive(Deserialize)]
struct Info {
    last_token_usage: Option<Json>,
}

impl CodexEvent {
    fn of(found: &mut RawObject<'_>) -> Self {
        Self {
            kind: found.text("type"),
            num_turns: found.typed("num_turns"),
            last_token_usage: found.typed("info").and_then(|info: Info| info.last_token_usage),
            usage: found.typed("usage"),
            model: found.text("model"),
        }
    }
}

/// True for the beginning of a metadata line.
pub(super) fn begins(text: &str) -> bool {
    let begun = PartialObject::of(text);
    begun.text("type") == Some("session_meta") && begun.has(&["timestamp", "payload"])
}

pub(super) fn parse(text: &str) -> serde_json::Result<CodexLine<'_>> {
    serde_json::from_str(text)
}

impl<'a> CodexLine<'a> {
    /// Returns the time, if it is valid.
    pub(super) fn time(&self) -> Option<Time> {
        serde_json::from_str(self.timestamp?.get()).ok()
    }

    /// Returns the metadata of the thread, if this is its line.
    pub(super) fn meta(&self) -> Option<ThreadMeta> {
        self.payload("session_meta")
    }

    /// Parses the payload of a line of this type.
    pub(super) fn payload<T: for<'de> Deserialize<'de>>(&self, kind: &str) -> Option<T> {
        match self.payload {
            Payload::Raw(raw) if self.kind == kind => serde_json::from_str(raw.get()).ok(),
            Payload::Raw(_) | Payload::Read(_) => None,
        }
    }

    /// True when the line is an item of the conversation.
    pub(super) fn is_item(&self) -> bool {
        self.kind == "response_item"
    }

    /// Takes the fields of the payload; none if it has none.
    pub(super) fn take(&mut self) -> Option<RawObject<'a>> {
        let content = match std::mem::replace(&mut self.payload, Payload::Read(RawContent::Other)) {
            Payload::Raw(raw) => serde_json::from_str(raw.get()).ok()?,
            Payload::Read(content) => content,
        };
        match content {
            RawContent::Object(found) => Some(found),
            RawContent::Text(_) | RawContent::List(_) | RawContent::Other => None,
        }
    }

    /// Takes the payload as an event, as far as it is valid.
    pub(super) fn take_event(&mut self) -> CodexEvent {
        self.take().map(|mut found| CodexEvent::of(&mut found)).unwrap_or_default()
    }
}
