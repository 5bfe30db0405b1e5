//! What a conversation is called and where it stopped, kept with it.

use crate::archive::ArchiveMarks;
use crate::error::Result;
use crate::model::{ConversationId, StoredConversation, Synopsis};
use crate::ops::check_title;

impl ArchiveMarks<'_> {
    /// Keeps a title for a conversation that has none, and a synopsis in place of an older one, in one write.
    ///
    /// A title that is there stays, and so does a synopsis that is newer: somebody else was faster. When
    /// nothing would change, nothing is written.
    pub fn describe(
        &self,
        id: ConversationId,
        title: Option<&str>,
        synopsis: Option<&Synopsis>,
    ) -> Result<StoredConversation> {
        if let Some(title) = title {
            check_title(title)?;
        }
        let stored = self.archive.conversation(id)?;
        let title = title.filter(|_| stored.conversation.title.is_none());
        let is_newer = |old: &Option<Synopsis>, new: &Synopsis| {
            old.as_ref().is_none_or(|old| old.updated_at <= new.updated_at && old != new)
        };
        let synopsis = synopsis.filter(|new| is_newer(&stored.conversation.synopsis, new));
        if title.is_none() && synopsis.is_none() {
            return Ok(stored);
        }
        self.archive.update(id, |conversation| {
            if let (None, Some(title)) = (&conversation.title, title) {
                conversation.title = Some(title.to_owned());
            }
            if let Some(new) = synopsis
                && is_newer(&conversation.synopsis, new)
            {
                conversation.synopsis = Some(new.clone());
            }
        })
    }

    /// Where a conversation stopped: what was kept about it, or a computed synopsis when it has grown since.
    pub fn synopsis(&self, id: ConversationId) -> Result<Synopsis> {
        let stored = self.archive.conversation(id)?;
        if let Some(kept) = stored.conversation.synopsis
            && kept.updated_at >= stored.last_active_at
        {
            return Ok(kept);
        }
        let messages: Vec<_> =
            self.archive.path(id, None)?.into_iter().map(|stored| stored.message).collect();
        Ok(Synopsis::of(&messages, self.archive.now()))
    }
}
