//! The tag that Rejoin writes with a message for what CPE cannot hold.

use serde::{Deserialize, Serialize};

use crate::formats::{SourceKept, SourceParent};
use crate::model::{Block, Json, Message, Settings, Time};

/// The field of a message that holds the tag.
pub(super) const TAG: &str = "rejoin";

/// Everything that the columns do not hold. An empty tag is not written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct CpeTag {
    /// The id, if it does not have six characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
    /// True for a row that continues the previous message.
    #[serde(skip_serializing_if = "is_false")]
    pub(super) continues: bool,
    /// The message without its blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<Message>,
    /// Its blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) blocks: Option<Vec<Block>>,
    /// The label of the branch that starts here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) label: Option<String>,
    /// For a summary: the messages that it keeps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) keeps: Vec<SourceKept>,
    /// For a root: the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) conversation: Option<TaggedConversation>,
}

/// A conversation of Rejoin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct TaggedConversation {
    pub(super) id: String,
    pub(super) created_at: Time,
    #[serde(default)]
    pub(super) title: Option<String>,
    #[serde(default)]
    pub(super) project: Option<String>,
    #[serde(default)]
    pub(super) settings: Settings,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<TaggedParent>,
}

/// What started a sub-agent run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct TaggedParent {
    conversation: String,
    #[serde(default)]
    message: Option<String>,
    name: String,
    run: String,
}

impl From<&SourceParent> for TaggedParent {
    fn from(parent: &SourceParent) -> Self {
        let SourceParent { conversation, message, name, run } = parent.clone();
        Self { conversation, message, name, run }
    }
}

impl From<TaggedParent> for SourceParent {
    fn from(TaggedParent { conversation, message, name, run }: TaggedParent) -> Self {
        Self { conversation, message, name, run }
    }
}

impl CpeTag {
    /// Returns the tag as a field; none if it is empty.
    pub(super) fn to_field(&self) -> Option<Json> {
        (*self != Self::default()).then(|| Json::of(self).expect("a tag is plain data"))
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}
