//! Writes that say exactly what they expect: a conversation under an id of the
//! caller's, a header of one version.

use std::borrow::Cow;

use crate::archive::{ATTEMPTS, Archive, Handle, status};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Conversation, ConversationId, Message, Time};
use crate::ops::in_line;
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
        let (facets, bytes) = self.encode(header)?;
        let opening = Opening { facets: &facets, header: &bytes, created };
        let handle = Handle::new(self.clone(), id, None, 0);
        let mut prepared = handle.prepare(in_line(messages.into_iter().map(Cow::Owned)), 0)?;
        for _ in 0..ATTEMPTS {
            match handle.open(&prepared, opening, &[]) {
                Err(error) if error.kind() == ErrorKind::Conflict => {
                    // Two messages of one turn may have drawn the same id; a
                    // conversation that is there stays as it is.
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

    /// Changes a conversation's header if it is still of this version; else it
    /// is a conflict, and nothing changes.
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
        let (facets, bytes) = self.encode(&header)?;
        let change = Change::Header { facets: &facets, header: &bytes };
        self.store.amend(id, Some(version), &change, self.now()).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Block, Fields, Media, MediaKind, Role};
    use crate::store::{JsonlStore, MemoryStore, Store};

    #[test]
    fn a_conversation_can_begin_with_an_attachment() {
        let directory = tempfile::tempdir().unwrap();
        let stores: [std::sync::Arc<dyn Store>; 2] = [
            std::sync::Arc::new(MemoryStore::new()),
            std::sync::Arc::new(JsonlStore::open(directory.path()).unwrap()),
        ];
        let data = Some("QUJD".repeat(600_000));
        let (kind, mime_type) = (MediaKind::Image, "image/png".to_owned());
        let picture = Block::Media(Media { kind, mime_type, data, uri: None, extra: Fields::new() });
        let id = ConversationId::new(Time::from_micros(1), [1; 10]);

        let read = stores.map(|store| {
            let archive = Archive::with_store(store);
            let said = vec![Message::new(Role::User, vec![picture.clone()])];
            archive.begin(id, &Conversation::default(), Time::from_micros(1), said).unwrap();
            let path = archive.path(id, None).unwrap();
            (path[0].message.blocks == [picture.clone()], archive.maintenance().verify(id).unwrap().faults)
        });

        assert_eq!(read, [(true, vec![]), (true, vec![])]);
    }
}
