//! Compaction: when a conversation fills the window of its model, a summary takes the place of its older part.
//!
//! History stays as it is. The summary is one more message, and views begin there.

use rejoin::MessageId;
use rejoin::compact::Fact;
use tokio::sync::mpsc;

use crate::error::Result;
use crate::talk::{Event, Talk};

/// When and how a talk is compacted.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactSettings {
    /// Tokens the model can be sent; while they are not known, nothing is compacted by itself.
    pub window: Option<u64>,
    /// The part of the window above which a talk is compacted by itself.
    pub threshold: f64,
    /// Tokens of the user's own messages that stay.
    pub user_tokens: u64,
    /// The model that writes the summary; the talk's own when none is named.
    pub model: Option<String>,
    /// What to do when no summary can be had.
    pub on_failure: OnFailure,
}

/// What to do when the provider gives no summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// Keep the view as it is, and warn.
    Keep,
    /// Go on with words that stand for the summary.
    Placeholder,
}

/// What a compaction did.
#[derive(Clone, Debug, PartialEq)]
pub struct Compacted {
    /// The summary's message; none while it waits to be stored.
    pub message: Option<MessageId>,
    /// The summary's words, as the model will read them.
    pub summary: String,
    /// Tokens of the view before.
    pub tokens_before: u64,
    /// Tokens of the view after.
    pub tokens_after: u64,
    /// How many of the oldest messages the summariser could not be shown.
    pub trimmed: u64,
    /// What the new view no longer mentions.
    pub lost: Vec<Fact>,
}

/// What a compaction would do.
#[derive(Clone, Debug, PartialEq)]
pub struct Foreseen {
    /// What would be posted to have a summary written; none when the provider posts nothing.
    pub request: Option<String>,
    /// Tokens of that request.
    pub request_tokens: u64,
    /// Tokens of the view now.
    pub tokens_before: u64,
    /// Tokens of the view afterwards, with a summary of the usual length.
    pub tokens_after: u64,
    /// How many messages of the user would stay.
    pub kept: usize,
    /// What would no longer be mentioned, unless the summary does.
    pub lost: Vec<Fact>,
}

/// How much of the window a talk fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fullness {
    /// Tokens of the next request: what the provider counted last, and an estimate of what was said since.
    pub tokens: u64,
    /// Tokens the model can be sent.
    pub window: Option<u64>,
}

impl Talk {
    /// Sets when and how it is compacted.
    #[must_use]
    pub fn with_compaction(self, _settings: CompactSettings) -> Self {
        todo!()
    }

    /// Changes when and how it is compacted, for instance for another model.
    pub fn set_compaction(&mut self, _settings: CompactSettings) {
        todo!()
    }

    /// How much of the window is filled.
    pub fn fullness(&self) -> Fullness {
        todo!()
    }

    /// Compacts now.
    pub async fn compact(&mut self, _events: &mpsc::UnboundedSender<Event>) -> Result<Compacted> {
        todo!()
    }

    /// What compacting now would do. Nothing is asked or written.
    pub async fn foresee(&self) -> Foreseen {
        todo!()
    }

    /// Undoes the newest compaction; later turns stay. Returns its summary; none when nothing was compacted.
    pub async fn uncompact(&mut self) -> Result<Option<MessageId>> {
        todo!()
    }
}
