//! One line of a session, as far as the reader needs it.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::formats::partial_object::PartialObject;
use crate::model::Time;

/// A line. Other fields are kept in the text of the line.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct QwenLine<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) uuid: Option<String>,
    pub(super) parent_uuid: Option<String>,
    pub(super) session_id: Option<String>,
    #[serde(borrow)]
    timestamp: Option<&'a RawValue>,
    /// Who wrote it; `real_user` is the user.
    pub(super) provenance: Option<String>,
    pub(super) cwd: Option<String>,
    pub(super) model: Option<String>,
    #[serde(borrow)]
    pub(super) message: Option<ApiContent<'a>>,
    #[serde(borrow)]
    pub(super) usage_metadata: Option<&'a RawValue>,
}

/// A message in the form of the API.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ApiContent<'a> {
    #[serde(borrow)]
    pub(super) parts: Option<&'a RawValue>,
}

pub(super) fn parse(text: &str) -> serde_json::Result<QwenLine<'_>> {
    serde_json::from_str(text)
}

/// True for the beginning of a line that only a session has.
pub(super) fn begins(text: &str) -> bool {
    let begun = PartialObject::of(text);
    begun.has(&["parentUuid", "uuid", "sessionId"])
        && begun.value("message").is_some_and(|said| PartialObject::of(said).has(&["parts"]))
}

impl QwenLine<'_> {
    /// True for a message.
    pub(super) fn says_something(&self) -> bool {
        self.message.is_some() && matches!(self.kind.as_deref(), Some("user" | "assistant" | "tool_result"))
    }

    /// True when only a session has such a line.
    pub(super) fn is_of_a_session(&self) -> bool {
        self.uuid.is_some()
            && self.session_id.is_some()
            && self.message.as_ref().is_some_and(|said| said.parts.is_some())
    }

    /// Returns the time, if it is valid.
    pub(super) fn time(&self) -> Option<Time> {
        serde_json::from_str(self.timestamp?.get()).ok()
    }

    pub(super) fn is(&self, kind: &str) -> bool {
        self.kind.as_deref() == Some(kind)
    }
}
