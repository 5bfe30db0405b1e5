//! The path of a conversation as a talk knows it: every message, also those that no view shows any more.

use rejoin::view::{Recipient, Said, View, view};
use rejoin::{Block, Handle, Message, MessageId, Receipt, StoredMessage};

/// Every message from the root to where the talk is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    entries: Vec<Entry>,
    /// Summaries that are passed over.
    ignored: Vec<MessageId>,
}

/// A message of the history.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    /// None while it waits to be stored.
    id: Option<MessageId>,
    is_pinned: bool,
    message: Message,
}

impl History {
    /// The history that a stored path holds. Summaries named in `ignored` are passed over.
    pub fn new(path: Vec<StoredMessage>, ignored: Vec<MessageId>) -> Self {
        let entries = path.into_iter().map(|stored| Entry {
            id: Some(stored.id),
            is_pinned: stored.is_pinned,
            message: stored.message,
        });
        Self { entries: entries.collect(), ignored }
    }

    /// The history that a handle goes on from.
    pub fn load(handle: &Handle) -> rejoin::Result<Self> {
        Ok(Self::new(handle.path()?, handle.conversation()?.conversation.ignored_summaries))
    }

    /// What a recipient is sent.
    pub fn view(&self, recipient: &Recipient) -> View<'_> {
        view(&self.said(), &self.ignored, recipient)
    }

    /// The messages, oldest first.
    pub fn messages(&self) -> impl DoubleEndedIterator<Item = &Message> + ExactSizeIterator + Clone {
        self.entries.iter().map(|entry| &entry.message)
    }

    /// True when nothing was said.
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many messages there are.
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// True when a summary stands for a part of it, so that its view does not show everything.
    pub fn is_compacted(&self) -> bool {
        self.entries.iter().any(|entry| self.is_compaction(entry))
    }

    fn is_compaction(&self, entry: &Entry) -> bool {
        let is_summary = entry.message.blocks.iter().any(|block| matches!(block, Block::Summary(_)));
        is_summary && !entry.id.is_some_and(|id| self.ignored.contains(&id))
    }

    pub(super) fn said(&self) -> Vec<Said<'_>> {
        let said = self.entries.iter().map(|entry| Said {
            id: entry.id,
            is_pinned: entry.is_pinned,
            message: &entry.message,
        });
        said.collect()
    }

    /// Adds messages that are about to be stored.
    pub(super) fn extend(&mut self, messages: &[Message]) {
        let entries =
            messages.iter().map(|message| Entry { id: None, is_pinned: false, message: message.clone() });
        self.entries.extend(entries);
    }

    /// Takes back what was added last.
    pub(super) fn truncate(&mut self, length: usize) {
        self.entries.truncate(length);
    }

    /// Names the newest messages, which were stored.
    pub(super) fn name(&mut self, receipt: &Receipt) {
        let first = self.entries.len().saturating_sub(receipt.messages.len());
        for (entry, id) in self.entries[first..].iter_mut().zip(&receipt.messages) {
            entry.id = Some(*id);
        }
    }
}
