//! Changing a conversation: its header, its head, its named branches.

use crate::archive::{ATTEMPTS, Archive, BRANCH_LENGTH, status};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Branch, Conversation, ConversationId, MessageId, StoredConversation};
use crate::ops::check_title;
use crate::store::{Change, Store};

impl Archive {
    /// Changes a conversation's header; `change` may be called again when another writer was faster.
    ///
    /// A status can only become what [`Status::may_become`](crate::Status::may_become) allows;
    /// [`ArchiveStatus::reopen`](crate::archive::ArchiveStatus::reopen) is for the rest.
    pub fn update(
        &self,
        id: ConversationId,
        change: impl Fn(&mut Conversation),
    ) -> Result<StoredConversation> {
        self.amending(id, |store, stored| {
            let mut header = stored.conversation.clone();
            change(&mut header);
            status::check_change(id, stored.conversation.status, header.status)?;
            let (facets, bytes) = self.encode(&header)?;
            store
                .amend(
                    id,
                    Some(stored.version),
                    &Change::Header { facets: &facets, header: &bytes },
                    self.now(),
                )
                .map(drop)
        })?;
        self.conversation(id)
    }

    /// Gives a conversation a title.
    pub fn rename(&self, id: ConversationId, title: &str) -> Result<StoredConversation> {
        check_title(title)?;
        self.update(id, |conversation| conversation.title = Some(title.to_owned()))
    }

    /// Moves a conversation's head to one of its messages; nothing is removed.
    pub fn rewind(&self, id: ConversationId, to: MessageId) -> Result<()> {
        self.store.amend(id, None, &Change::Head(Some(to)), self.now()).map(drop)
    }

    /// Starts a named branch at a message. Nothing is copied.
    pub fn fork(&self, id: ConversationId, at: MessageId, title: &str) -> Result<Branch> {
        check_title(title)?;
        let title = self.redacted_text(title).into_owned();
        let branch = Branch { id: self.fresh_id_of(BRANCH_LENGTH), title, head: at };
        self.store.amend(id, None, &Change::Branch(&branch), self.now())?;
        Ok(branch)
    }

    /// Reads, changes and tries again a bounded number of times when another writer was faster.
    pub(super) fn amending(
        &self,
        id: ConversationId,
        mut change: impl FnMut(&dyn Store, &StoredConversation) -> Result<()>,
    ) -> Result<()> {
        for _ in 0..ATTEMPTS {
            match change(self.store.as_ref(), &self.conversation(id)?) {
                Err(error) if error.kind() == ErrorKind::Conflict => {}
                other => return other,
            }
        }
        Err(Error::conflict(format!("conversation `{id}` keeps changing; try again")))
    }
}
