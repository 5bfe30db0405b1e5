//! The description of a session in a database or an export.

use serde::Deserialize;
use serde_json::Value;

use crate::formats::database::DatabaseRow;
use crate::formats::{SourceConversation, SourceParent};
use crate::model::{Status, Time};

/// The description of a session.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OpenCodeSession {
    pub(super) id: String,
    #[serde(rename = "parentID")]
    pub(super) parent: Option<String>,
    pub(super) title: Option<String>,
    pub(super) directory: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) model: Option<SessionModel>,
    pub(super) time: Times,
    pub(super) revert: Option<Revert>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SessionModel {
    id: Option<String>,
    #[serde(rename = "providerID")]
    provider: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Times {
    pub(super) created: Time,
    pub(super) archived: Option<Value>,
}

/// Where reverted messages begin: a message, or a part of it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Revert {
    #[serde(rename = "messageID")]
    pub(super) message: String,
    #[serde(rename = "partID")]
    pub(super) part: Option<String>,
}

impl OpenCodeSession {
    pub(super) fn of(row: &DatabaseRow) -> Self {
        let archived = row.integer("time_archived").map(Value::from);
        Self {
            id: row.word("id").unwrap_or_default(),
            parent: row.word("parent_id"),
            title: row.word("title"),
            directory: row.word("directory"),
            agent: row.word("agent"),
            model: row.text("model").and_then(|model| serde_json::from_str(model).ok()),
            time: Times { created: row.time("time_created").unwrap_or_default(), archived },
            revert: row.text("revert").and_then(|revert| serde_json::from_str(revert).ok()),
        }
    }

    /// Returns the conversation. `asked` is the message that started it, if it is a sub-agent run.
    pub(super) fn conversation(&self, asked: Option<String>) -> SourceConversation {
        let mut conversation = SourceConversation::new(self.id.clone(), self.time.created);
        let header = &mut conversation.header;
        header.title = self.title.clone().filter(|title| !title.trim().is_empty());
        header.project.clone_from(&self.directory);
        header.settings.model = self.model.as_ref().and_then(|model| model.id.clone());
        header.settings.provider = self.model.as_ref().and_then(|model| model.provider.clone());
        if self.time.archived.as_ref().is_some_and(|time| !time.is_null()) {
            header.status = Status::Completed;
        }
        conversation.parent = self.parent.clone().map(|parent| SourceParent {
            conversation: parent,
            message: asked,
            name: self.agent.clone().unwrap_or_else(|| "agent".to_owned()),
            run: self.id.clone(),
        });
        conversation
    }
}
