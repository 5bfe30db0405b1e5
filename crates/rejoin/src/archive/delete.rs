//! Deleting: messages together or not at all, conversations one by one with an outcome each.

use crate::archive::{ArchiveRemoval, AuditAction, AuditEntry};
use crate::error::{Error, Result};
use crate::model::{ConversationId, MessageId};
use crate::store::{Children, Outcome, Target};

/// What became of conversations that were to be deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deleted {
    /// Those that are gone, with the bytes that their messages and attachments took.
    pub gone: Vec<(ConversationId, u64)>,
    /// Those that are not, and why.
    pub failed: Vec<(ConversationId, String)>,
}

impl Deleted {
    /// The bytes that all of them took.
    pub fn bytes(&self) -> u64 {
        self.gone.iter().map(|(_, bytes)| bytes).sum()
    }
}

/// How much went when messages were deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeletedMessages {
    /// How many messages.
    pub messages: u64,
    /// How many bytes, with attachments that nothing refers to any more.
    pub bytes: u64,
}

impl ArchiveRemoval<'_> {
    /// Deletes a conversation in which nothing was said, and tells whether it was one.
    ///
    /// Nobody loses anything, so the audit log does not tell of it.
    pub fn delete_empty(&self, id: ConversationId) -> Result<bool> {
        if self.archive.conversation(id)?.messages > 0 {
            return Ok(false);
        }
        let (target, now) = (Target::Conversation(id), self.archive.now());
        self.archive.store().remove(&[target], "nothing was said", now)?;
        Ok(true)
    }

    /// Deletes messages of one conversation, all or none. A message that is not there counts as deleted.
    ///
    /// With [`Children::Refuse`] a message that has children is an error, and nothing is deleted.
    pub fn delete_messages(
        &self,
        id: ConversationId,
        messages: &[MessageId],
        children: Children,
        reason: &str,
    ) -> Result<DeletedMessages> {
        let target = Target::Messages { conversation: id, ids: messages, children };
        match self.archive.store().remove(&[target], reason, self.archive.now())?.pop() {
            Some(Outcome::Removed { messages, bytes }) => {
                self.archive.forget_sources(id)?;
                let erased = self.archive.attachments().erase_unused(id)?;
                let bytes = bytes + erased.iter().map(|attachment| attachment.byte_length).sum::<u64>();
                if messages > 0 {
                    let entry = AuditEntry::new(AuditAction::Deleted, reason);
                    let mut entry = entry.to(id).counting(messages, bytes);
                    // The conversation is still there.
                    entry.conversations = 0;
                    self.archive.note_done(entry);
                }
                Ok(DeletedMessages { messages, bytes })
            }
            Some(Outcome::HasChildren(message)) => {
                Err(Error::conflict(format!("cannot delete message `{message}`: it has children")))
            }
            Some(Outcome::NotFound) | None => Err(Error::not_found(format!("no conversation `{id}`"))),
        }
    }

    /// Deletes conversations with everything in them. One that cannot be deleted does not stop the others.
    pub fn delete(&self, ids: &[ConversationId], reason: &str) -> Deleted {
        let mut deleted = Deleted::default();
        for id in ids {
            // What cannot be counted goes all the same.
            let attached = self.archive.attachments().bytes(*id).unwrap_or(0);
            let outcome =
                self.archive.store().remove(&[Target::Conversation(*id)], reason, self.archive.now());
            match outcome.map(|mut outcomes| outcomes.pop()) {
                Ok(Some(Outcome::Removed { messages, bytes })) => {
                    let bytes = bytes + attached;
                    let entry = AuditEntry::new(AuditAction::Deleted, reason);
                    self.archive.note_done(entry.to(*id).counting(messages, bytes));
                    deleted.gone.push((*id, bytes));
                }
                Ok(_) => deleted.failed.push((*id, format!("no conversation `{id}`"))),
                Err(error) => deleted.failed.push((*id, format!("{error:?}"))),
            }
        }
        deleted
    }
}
