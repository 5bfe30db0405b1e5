//! Marks on messages that can change: labels, pins, and summaries that are passed over.

use crate::archive::{Archive, ArchiveMarks};
use crate::error::{Error, Result};
use crate::model::{ConversationId, MessageId};
use crate::ops::{Compaction, check_title};
use crate::store::{Change, Note};

impl ArchiveMarks<'_> {
    /// Labels a message, or takes its label away.
    pub fn label(&self, id: ConversationId, message: MessageId, label: Option<&str>) -> Result<()> {
        label.map_or(Ok(()), check_title)?;
        let label = label.map(|label| self.archive.redacted_text(label));
        self.archive.noting(id, message, |marks| marks.label = label.as_deref().map(str::to_owned))
    }

    /// Pins a message: every view shows it, however often the conversation is compacted.
    pub fn pin(&self, id: ConversationId, message: MessageId) -> Result<()> {
        self.archive.noting(id, message, |marks| marks.is_pinned = true)
    }

    /// Takes the pin away.
    pub fn unpin(&self, id: ConversationId, message: MessageId) -> Result<()> {
        self.archive.noting(id, message, |marks| marks.is_pinned = false)
    }

    /// Undoes a compaction: views pass over its summary, which is this message, and show what it stood for.
    /// Later messages stay. One that is undone already stays so.
    ///
    /// A message that is no summary is an error.
    pub fn uncompact(&self, id: ConversationId, summary: MessageId) -> Result<()> {
        let stored = self.archive.messages(id, &[summary])?;
        if !stored.iter().any(|stored| Compaction::from_message(&stored.message).is_some()) {
            return Err(Error::invalid(format!("message `{summary}` is not a summary")));
        }
        self.archive.update(id, |conversation| {
            if !conversation.ignored_summaries.contains(&summary) {
                conversation.ignored_summaries.push(summary);
            }
        })?;
        Ok(())
    }
}

impl Archive {
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
