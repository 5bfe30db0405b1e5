//! Where the head of a conversation belongs, written down while messages are appended to it.
//!
//! Each append moves the head, and only the end of an import puts it where it belongs. An import that is
//! killed in between leaves this, and the next one ends the work.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::model::{ConversationId, MessageId};
use crate::store::{BlobNames, Put, Safety, Space, Store};

const NAME: &[u8] = b"import.head";

/// Where the head of a conversation belongs while messages are appended to it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Bookmark {
    /// The message that someone was at here; none when the source says where the head belongs.
    pub(super) here: Option<MessageId>,
    /// Where the appends so far have left the head. Who finds it elsewhere knows that someone moved it since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) left_at: Option<MessageId>,
}

impl Bookmark {
    pub(super) const fn of(here: Option<MessageId>) -> Self {
        Self { here, left_at: None }
    }

    /// The same once an append has moved the head.
    pub(super) fn left_at(self, head: Option<MessageId>) -> Self {
        Self { left_at: head.or(self.left_at), ..self }
    }

    /// The one that an import has left.
    pub(super) fn left(store: &dyn Store, id: ConversationId) -> Result<Option<Self>> {
        let mut left = None;
        store.get(Space::State, Some(id), BlobNames::One(NAME), &mut |_, bytes| {
            left = serde_json::from_slice(bytes).ok();
            Ok(())
        })?;
        Ok(left)
    }

    /// What is stored, with the messages.
    pub(super) fn to_bytes(self) -> Result<Vec<u8>> {
        serde_json::to_vec(&self)
            .map_err(|cause| Error::invalid("write down where the head belongs").because(cause))
    }

    /// The blob of it.
    pub(super) const fn put(id: ConversationId, bytes: Option<&[u8]>) -> Put<'_> {
        Put { space: Space::State, owner: Some(id), name: NAME, bytes }
    }

    /// Takes it out. One that stays after a power cut moves the head once more, to where it belongs.
    pub(super) fn erase(store: &dyn Store, id: ConversationId) -> Result<()> {
        store.put(&[Self::put(id, None)], Safety::Unsynced)
    }
}
