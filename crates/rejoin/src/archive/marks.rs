//! Marks on messages that can change: labels, pins, and summaries that are passed over.

use crate::archive::{Archive, limits};
use crate::error::Result;
use crate::model::{ConversationId, MessageId};
use crate::ops::Compaction;
use crate::store::{Change, Note};

impl Archive {
    /// Labels a message, or takes its label away.
    pub fn label(&self, id: ConversationId, message: MessageId, label: Option<&str>) -> Result<()> {
        label.map_or(Ok(()), limits::check_title)?;
        self.noting(id, message, |marks| marks.label = label.map(str::to_owned))
    }

    /// Pins a message: every view shows it, however often the conversation is compacted.
    pub fn pin(&self, id: ConversationId, message: MessageId) -> Result<()> {
        self.noting(id, message, |marks| marks.is_pinned = true)
    }

    /// Takes the pin away.
    pub fn unpin(&self, id: ConversationId, message: MessageId) -> Result<()> {
        self.noting(id, message, |marks| marks.is_pinned = false)
    }

    /// Undoes the newest compaction on the path to a message, or to the head: the view passes over its summary and
    /// shows what it stood for. Later messages stay. Returns the summary; none when nothing was compacted.
    pub fn uncompact(&self, id: ConversationId, to: Option<MessageId>) -> Result<Option<MessageId>> {
        let path = self.path(id, to)?;
        let ignored = self.conversation(id)?.conversation.ignored_summaries;
        let newest = path.iter().rev().find(|stored| {
            Compaction::from_message(&stored.message).is_some() && !ignored.contains(&stored.id)
        });
        let Some(summary) = newest.map(|stored| stored.id) else { return Ok(None) };
        self.update(id, |conversation| {
            if !conversation.ignored_summaries.contains(&summary) {
                conversation.ignored_summaries.push(summary);
            }
        })?;
        Ok(Some(summary))
    }

    /// Changes what is noted about a message.
    fn noting(&self, id: ConversationId, message: MessageId, change: impl Fn(&mut Marks)) -> Result<()> {
        self.amending(id, |store, stored| {
            let before = self.messages(id, &[message])?.pop();
            let mut marks = before.map_or_else(Marks::default, |before| Marks {
                label: before.message.label,
                is_pinned: before.is_pinned,
            });
            change(&mut marks);
            let note = Note { label: marks.label.as_deref(), is_pinned: marks.is_pinned };
            store.amend(id, Some(stored.version), &Change::Note(message, note), self.now()).map(drop)
        })
    }
}

/// What is noted about a message.
#[derive(Default)]
struct Marks {
    label: Option<String>,
    is_pinned: bool,
}
