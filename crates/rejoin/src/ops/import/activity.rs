//! When an imported conversation was last active, and whether that was here.
//!
//! An import dates a conversation by what its source says, which is not use. The time of the import that last
//! did so is known: the header has it, and a note if the conversation has grown since. Any activity after
//! that time was somebody's here. From then on imports leave the time of the last activity alone.

use crate::error::Result;
use crate::model::{Conversation, ConversationId, Time};
use crate::ops::import::route::ImportRoute;
use crate::store::{BlobNames, Put, Row, Space, Store};

const NAME: &[u8] = b"import.dated";

/// What an import says about the last activity of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dating {
    /// It is when something was last said at the source.
    BySource,
    /// It stays what it is, at this time.
    Left(Time),
}

impl Dating {
    /// What an import by this route says.
    pub(super) fn by(route: ImportRoute, store: &dyn Store, stored: Option<&Row>) -> Result<Self> {
        let Some(row) = stored else { return Ok(Self::BySource) };
        let is_own = matches!(route, ImportRoute::Own(_) | ImportRoute::Separate { .. });
        let header = Conversation::from_header(&row.header)?;
        let is_left = !is_own || is_used_here(store, row.id, &header, row.active)?;
        Ok(if is_left { Self::Left(row.active) } else { Self::BySource })
    }
}

/// The note that an import at `now` dates a conversation.
pub(super) fn note(id: ConversationId, bytes: &[u8]) -> Put<'_> {
    Put { space: Space::State, owner: Some(id), name: NAME, bytes: Some(bytes) }
}

/// True when somebody wrote in a conversation here: it began here, or was active
/// after the last import that dated it.
pub(crate) fn is_used_here(
    store: &dyn Store,
    id: ConversationId,
    header: &Conversation,
    active: Time,
) -> Result<bool> {
    let Some(origin) = &header.origin else { return Ok(true) };
    if active <= origin.imported_at {
        return Ok(false);
    }
    let mut dated = origin.imported_at;
    store.get(Space::State, Some(id), BlobNames::One(NAME), &mut |_, bytes| {
        let noted = str::from_utf8(bytes).ok().and_then(|text| text.parse().ok());
        dated = noted.unwrap_or(dated);
        Ok(())
    })?;
    Ok(active > dated)
}
