//! One line of a rollout, as far as a reader looks into it.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::formats::begun::Begun;
use crate::model::{Json, Message, Time};

/// A line. What is not here is kept with the text of the line.
#[derive(Debug, Deserialize)]
pub(super) struct Line<'a> {
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(borrow, default)]
    timestamp: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) ordinal: Option<u64>,
    #[serde(borrow)]
    payload: &'a RawValue,
    #[serde(default)]
    pub(super) rejoin: Option<Tag>,
}

/// What Rejoin writes beside a line.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Tag {
    /// The message that the line is a part of.
    pub(super) id: Option<String>,
    /// The message without its blocks, on its first line.
    pub(super) message: Option<Message>,
    /// The title, on the first line of the file.
    pub(super) title: Option<String>,
    /// The program's name for what is said in a tool's result that failed.
    pub(super) is_error: bool,
    /// What a compaction keeps.
    pub(super) keeps: Option<Vec<String>>,
}

/// What is known of a thread.
#[derive(Debug, Deserialize)]
pub(super) struct Meta {
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
    pub(super) history_base: Option<Base>,
    #[serde(default)]
    pub(super) git: Option<Git>,
}

/// The file whose beginning is the beginning of this one.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Base {
    pub(super) thread_id: String,
    pub(super) end_ordinal_exclusive: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Git {
    #[serde(default)]
    pub(super) commit_hash: Option<String>,
}

/// A compaction: the summary, and what takes the place of the history.
#[derive(Debug, Deserialize)]
pub(super) struct Compacted {
    pub(super) message: String,
    #[serde(default)]
    pub(super) replacement_history: Option<Vec<Json>>,
}

/// The marks that a reader acts on.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Event {
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) num_turns: Option<u64>,
    pub(super) info: Option<Info>,
    pub(super) usage: Option<Json>,
    pub(super) model: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Info {
    pub(super) last_token_usage: Option<Json>,
}

/// True for the beginning of a line that says what is known of a thread.
pub(super) fn begins(text: &str) -> bool {
    let begun = Begun::of(text);
    begun.text("type") == Some("session_meta") && begun.has(&["timestamp", "payload"])
}

pub(super) fn parse(text: &str) -> serde_json::Result<Line<'_>> {
    serde_json::from_str(text)
}

impl Line<'_> {
    /// When, if the line says so in a way that can be read.
    pub(super) fn time(&self) -> Option<Time> {
        serde_json::from_str(self.timestamp?.get()).ok()
    }

    /// What is known of the thread, if the line says it.
    pub(super) fn meta(&self) -> Option<Meta> {
        self.payload("session_meta")
    }

    /// The payload of a line of this kind.
    pub(super) fn payload<T: for<'de> Deserialize<'de>>(&self, kind: &str) -> Option<T> {
        if self.kind != kind {
            return None;
        }
        serde_json::from_str(self.payload.get()).ok()
    }

    /// What was said, if the line says it.
    pub(super) fn item(&self) -> Option<&RawValue> {
        (self.kind == "response_item").then_some(self.payload)
    }

    /// The mark that a line is, as far as it can be read.
    pub(super) fn event(&self) -> Event {
        serde_json::from_str(self.payload.get()).unwrap_or_default()
    }
}
