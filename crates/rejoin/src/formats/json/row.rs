//! The objects of a document.

use serde::{Deserialize, Serialize};

use crate::formats::SourceKept;
use crate::model::{Conversation, Message, Time};

/// A conversation without its messages.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DocumentConversation {
    pub(super) id: String,
    pub(super) created_at: Time,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) head: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<DocumentParent>,
    #[serde(default)]
    pub(super) header: Conversation,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) branches: Vec<DocumentBranch>,
}

/// What started a sub-agent run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DocumentParent {
    pub(super) conversation: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<String>,
    pub(super) name: String,
    pub(super) run: String,
}

/// A named branch.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DocumentBranch {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) head: String,
}

/// A message and its place in the tree.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DocumentMessage {
    pub(super) id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) label: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) pinned: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) keeps: Vec<SourceKept>,
    pub(super) message: Message,
}
