//! One line of a session, as far as the reader needs it.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::formats::lines::SourceLine;
use crate::formats::partial_object::PartialObject;
use crate::formats::raw_object::RawContent;
use crate::model::{Json, Time};

/// The level of a system line with instructions to the model; written only by Rejoin.
pub(super) const INSTRUCTION: &str = "instruction";

/// A line. Other fields are kept in the text of the line.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ClaudeLine<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) subtype: Option<String>,
    pub(super) level: Option<String>,
    pub(super) uuid: Option<String>,
    pub(super) parent_uuid: Option<String>,
    pub(super) logical_parent_uuid: Option<String>,
    pub(super) session_id: Option<String>,
    #[serde(borrow)]
    timestamp: Option<&'a RawValue>,
    pub(super) is_sidechain: Option<bool>,
    pub(super) agent_id: Option<String>,
    pub(super) cwd: Option<String>,
    pub(super) is_meta: Option<bool>,
    pub(super) is_compact_summary: Option<bool>,
    pub(super) is_api_error_message: Option<bool>,
    pub(super) compact_metadata: Option<CompactMetadata>,
    #[serde(borrow)]
    pub(super) message: Option<ApiMessage<'a>>,
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) attachment: Option<&'a RawValue>,
    /// What a tool answered, as the program keeps it for itself.
    #[serde(borrow)]
    tool_use_result: Option<&'a RawValue>,
    /// The blocks of instructions with more than one block, written by Rejoin next to their text.
    #[serde(borrow)]
    pub(super) blocks: Option<&'a RawValue>,
    pub(super) leaf_uuid: Option<String>,
    pub(super) custom_title: Option<String>,
    pub(super) ai_title: Option<String>,
    pub(super) summary: Option<String>,
    /// Set after parsing.
    #[serde(skip)]
    pub(super) at: SourceLine<'a>,
}

/// A message in the form of the API.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ApiMessage<'a> {
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    /// Taken when the blocks are made.
    #[serde(borrow)]
    pub(super) content: Option<RawContent<'a>>,
    pub(super) stop_reason: Option<String>,
    pub(super) usage: Option<Json>,
}

/// The metadata of a compaction.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct CompactMetadata {
    pub(super) trigger: Option<String>,
    pub(super) pre_tokens: Option<u64>,
    pub(super) post_tokens: Option<u64>,
    pub(super) preserved_segment: Option<KeptSegment>,
    pub(super) preserved_messages: Option<Preserved>,
}

/// The first and the last message that stay visible.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct KeptSegment {
    pub(super) head_uuid: String,
    pub(super) tail_uuid: String,
}

/// The messages that stay visible.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Preserved {
    pub(super) uuids: Vec<String>,
}

/// True for the beginning of a line that only a session has. The message may come before the line's own
/// fields.
pub(super) fn begins(text: &str) -> bool {
    let begun = PartialObject::of(text);
    match begun.text("type") {
        Some("queue-operation") => begun.has(&["operation", "sessionId"]),
        Some("file-history-snapshot") => begun.has(&["messageId", "snapshot"]),
        Some("user" | "assistant" | "system" | "attachment") | None => {
            begun.has(&["parentUuid", "isSidechain"]) || begun.has(&["parentUuid", "uuid", "message"])
        }
        Some(_) => false,
    }
}

pub(super) fn parse(text: &str) -> serde_json::Result<ClaudeLine<'_>> {
    serde_json::from_str(text)
}

impl ClaudeLine<'_> {
    /// True when only a session has such a line.
    pub(super) fn is_of_a_session(&self) -> bool {
        let is_known = matches!(self.kind.as_deref(), Some("user" | "assistant" | "system" | "attachment"));
        is_known
            && self.uuid.is_some()
            && (self.message.is_some() || self.subtype.is_some() || self.attachment.is_some())
    }

    /// True for a message or the start of a compaction. Other lines, such as attachments to a prompt and the
    /// program's own notes, are kept without being messages.
    pub(super) fn says_something(&self) -> bool {
        match self.kind.as_deref() {
            Some("user" | "assistant") => true,
            Some("system") => self.subtype.as_deref() == Some("compact_boundary") || self.is_instruction(),
            _ => false,
        }
    }

    /// True for instructions to the model, which only Rejoin writes as a line.
    pub(super) fn is_instruction(&self) -> bool {
        self.is("system") && self.level.as_deref() == Some(INSTRUCTION)
    }

    /// Returns the run of a sub-agent that a tool's answer is from, if it says so.
    pub(super) fn answering_run(&self) -> Option<String> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Answer {
            agent_id: String,
        }
        let answer: Answer = serde_json::from_str(self.tool_use_result?.get()).ok()?;
        Some(answer.agent_id)
    }

    /// Returns the time, if it is valid.
    pub(super) fn time(&self) -> Option<Time> {
        serde_json::from_str(self.timestamp?.get()).ok()
    }

    pub(super) fn is(&self, kind: &str) -> bool {
        self.kind.as_deref() == Some(kind)
    }
}
