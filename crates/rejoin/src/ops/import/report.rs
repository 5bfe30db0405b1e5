//! What an import did.

use std::path::PathBuf;

use crate::formats::Skipped;
use crate::model::{ConversationId, MessageId, Redacted};

/// Of how many skipped lines the reasons are kept; the others are counted.
const REASONS: usize = 1_000;

/// What an import of one source did, or would do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imported {
    /// The format it was read as.
    pub format: &'static str,
    /// Where it was read from.
    pub path: PathBuf,
    /// The conversations in it, in order.
    pub conversations: Vec<ImportedConversation>,
    /// Conversations that were deleted here and are passed over.
    pub deleted: Vec<ConversationId>,
    /// Lines that are kept without being messages.
    pub asides: u64,
    /// What was taken out of what was added, by rule.
    pub redacted: Vec<Redacted>,
    /// How much was skipped.
    pub skipped: u64,
    /// What was skipped and why: the first thousand.
    pub reasons: Vec<Skipped>,
}

/// Which conversation here took what a source has of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImportedAs {
    /// One of its own, which is new or was read from the same place before.
    Own,
    /// One beside the conversation with this id, which began here or was read from another place.
    Separate {
        /// The conversation that has the same id at its source.
        beside: ConversationId,
    },
    /// None: everything is here, in a conversation that began here or was read from another place.
    Here,
    /// The one that was asked for. Its head stays where it was.
    Branch {
        /// The last message of the branch.
        head: Option<MessageId>,
    },
}

/// What an import did to one conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportedConversation {
    /// Its id here.
    pub id: ConversationId,
    /// Its id at the source.
    pub source_id: String,
    /// Its title at the source.
    pub title: Option<String>,
    /// Which conversation took it.
    pub imported_as: ImportedAs,
    /// True when it was not there before.
    pub is_new: bool,
    /// The conversation that started it, if it is a run of a sub-agent.
    pub parent: Option<ConversationId>,
    /// True when it is such a run, and the message that asked for it is at its source but not here yet.
    pub is_waiting: bool,
    /// How many messages the source has.
    pub messages: u64,
    /// How many of them were added.
    pub added: u64,
    /// How many were here by half and went on.
    pub grown: u64,
    /// How many of those added are other than they were, and stand on a branch.
    pub changed: u64,
}

impl Imported {
    pub(super) const fn new(format: &'static str, path: PathBuf) -> Self {
        Self {
            format,
            path,
            conversations: Vec::new(),
            deleted: Vec::new(),
            asides: 0,
            redacted: Vec::new(),
            skipped: 0,
            reasons: Vec::new(),
        }
    }

    /// How many messages were added.
    pub fn added(&self) -> u64 {
        self.conversations.iter().map(|conversation| conversation.added).sum()
    }

    pub(super) fn skip(&mut self, skipped: Skipped) {
        self.skipped += 1;
        if self.reasons.len() < REASONS {
            self.reasons.push(skipped);
        }
    }
}
