//! Which conversation here takes what a source says of one.
//!
//! | the conversation with its id here | what a source has of it |
//! |---|---|
//! | is not there | creates it |
//! | was read from the same place | goes on in it |
//! | began here, or was read elsewhere | is compared; anything new goes into a separate conversation |
//! | was asked for by whoever imports | becomes a branch of it |

use crate::error::{Error, Result};
use crate::formats::SourceConversation;
use crate::model::ConversationId;
use crate::ops::import::ImportDestination;
use crate::ops::import::identity::ImportNames;
use crate::ops::import::location::Location;

/// So many separate conversations may have the same id at their sources and in one
/// place. Only a forged file needs more.
const SEPARATE: u32 = 100;

/// Which conversation takes what a source says of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ImportRoute {
    /// One of its own, which is new or was read from the same place.
    Own(ConversationId),
    /// One beside the conversation that has its id.
    Separate { id: ConversationId, beside: ConversationId },
    /// None: everything may be in the conversation that has its id.
    Compared(ConversationId),
    /// The one that was asked for.
    Into(ConversationId),
}

impl ImportRoute {
    pub(super) const fn id(self) -> ConversationId {
        match self {
            Self::Own(id) | Self::Separate { id, .. } | Self::Compared(id) | Self::Into(id) => id,
        }
    }
}

/// Finds routes for the conversations of one source.
pub(super) struct Router<'a> {
    pub(super) into: ImportDestination<'a>,
    pub(super) names: ImportNames,
    pub(super) location: &'a Location,
}

impl Router<'_> {
    /// The route of a conversation, as far as it is known before its messages are.
    pub(super) fn route(&self, found: &SourceConversation) -> Result<ImportRoute> {
        if let Some(target) = self.into.target.filter(|_| found.parent.is_none()) {
            return Ok(ImportRoute::Into(target));
        }
        let id = self.id_of(found)?;
        match self.into.row_of(id)? {
            None => Ok(ImportRoute::Own(id)),
            Some(row) if self.location.gave(&row)? => Ok(ImportRoute::Own(id)),
            Some(_) => {
                let separate = self.separate(id, found)?;
                let is_there = self.into.row_of(separate.id())?.is_some();
                Ok(if is_there { separate } else { ImportRoute::Compared(id) })
            }
        }
    }

    /// The id of a conversation. One that an earlier version imported keeps the id it was given then.
    pub(super) fn id_of(&self, found: &SourceConversation) -> Result<ConversationId> {
        let id = self.names.conversation(&found.id, found.created_at);
        let earlier = self.names.earlier_conversation(&found.id, found.created_at);
        let is_there = |id| self.into.row_of(id).map(|row| row.is_some());
        let is_earlier =
            earlier != id && !is_there(id)? && (self.into.except.contains(&earlier) || is_there(earlier)?);
        Ok(if is_earlier { earlier } else { id })
    }

    /// The route beside a conversation: one that was read from here before, or a new one.
    pub(super) fn separate(&self, beside: ConversationId, found: &SourceConversation) -> Result<ImportRoute> {
        let area = self.location.area().to_string_lossy().into_owned();
        for number in 0..SEPARATE {
            let id = self.names.separate(&found.id, found.created_at, &area, number);
            // A file may name any id, so one that is there counts only if it was read from here.
            match self.into.row_of(id)? {
                Some(row) if !self.location.gave(&row)? => {}
                _ => return Ok(ImportRoute::Separate { id, beside }),
            }
        }
        Err(Error::conflict(format!("conversation `{}` has no free id here", found.id)))
    }

    /// True when what a route leads to was imported before and is no longer there.
    pub(super) fn is_deleted(&self, route: ImportRoute) -> Result<bool> {
        let id = match route {
            ImportRoute::Own(id) | ImportRoute::Separate { id, .. } => id,
            ImportRoute::Compared(_) | ImportRoute::Into(_) => return Ok(false),
        };
        Ok(self.into.except.contains(&id) && self.into.row_of(id)?.is_none())
    }
}
