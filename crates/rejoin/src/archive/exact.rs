//! Writes that say exactly what they expect: a conversation under an id of the caller's, a header of one version.

use crate::archive::{ATTEMPTS, Archive, Handle, status};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Conversation, ConversationId, Message, Time};
use crate::store::{Change, Opening};

impl Archive {
    /// Starts a conversation under an id that the caller chose, with its first messages, in one write.
    ///
    /// An id that is taken is a conflict, and nothing is stored.
    pub(crate) fn begin(
        &self,
        id: ConversationId,
        header: &Conversation,
        created: Time,
        messages: Vec<Message>,
    ) -> Result<()> {
        if messages.is_empty() {
            return self.create(id, header, created, self.now());
        }
        let (facets, bytes) = self.encode(header);
        let opening = Opening { facets: &facets, header: &bytes, created };
        let handle = Handle::new(self.clone(), id, None, 0);
        let mut prepared = handle.prepare(Handle::in_line(messages), 0)?;
        for _ in 0..ATTEMPTS {
            match handle.open(&prepared, opening) {
                Err(error) if error.kind() == ErrorKind::Conflict => {
                    // Two messages of one turn may have drawn the same id; a conversation that is there stays as it is.
                    match self.conversation(id) {
                        Err(missing) if missing.kind() == ErrorKind::NotFound => {
                            handle.rename(&mut prepared);
                        }
                        _ => return Err(error),
                    }
                }
                other => return other.map(drop),
            }
        }
        Err(Error::conflict("no free message id was found"))
    }

    /// Changes a conversation's header if it is still of this version; else it is a conflict, and nothing changes.
    pub(crate) fn update_version(
        &self,
        id: ConversationId,
        version: u64,
        change: impl FnOnce(&mut Conversation),
    ) -> Result<()> {
        let stored = self.conversation(id)?;
        let mut header = stored.conversation.clone();
        change(&mut header);
        status::check_change(id, stored.conversation.status, header.status)?;
        let (facets, bytes) = self.encode(&header);
        let change = Change::Header { facets: &facets, header: &bytes };
        self.store.amend(id, Some(version), &change, self.now()).map(drop)
    }
}
