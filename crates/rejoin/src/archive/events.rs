//! What happens in a store, told to whoever follows it, from this process and others.

use std::time::Duration;

use crate::archive::Archive;
use crate::error::Result;
use crate::model::{ConversationId, Time};
use crate::store::{Stamp, What};

/// Something that happened to a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Counts events; a follower that remembers it can continue after it.
    pub stamp: Stamp,
    /// When.
    pub at: Time,
    /// The conversation.
    pub conversation: ConversationId,
    /// What.
    pub kind: EventKind,
}

/// What can happen.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventKind {
    /// `conversationStored`: it was created or grew.
    Stored {
        /// Its message count afterwards.
        messages: u64,
    },
    /// `conversationChanged`: its header, head, branches or labels changed.
    Changed,
    /// `messagesRewritten`: what some of its messages say was replaced.
    MessagesRewritten,
    /// `messagesDeleted`: some of its messages were deleted.
    MessagesDeleted {
        /// Why.
        reason: String,
    },
    /// `conversationDeleted`: it was deleted.
    Deleted {
        /// Why.
        reason: String,
    },
}

impl EventKind {
    /// The event's name.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Stored { .. } => "conversationStored",
            Self::Changed => "conversationChanged",
            Self::MessagesRewritten => "messagesRewritten",
            Self::MessagesDeleted { .. } => "messagesDeleted",
            Self::Deleted { .. } => "conversationDeleted",
        }
    }

    /// Why something was deleted.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::MessagesDeleted { reason } | Self::Deleted { reason } => Some(reason),
            Self::Stored { .. } | Self::Changed | Self::MessagesRewritten => None,
        }
    }
}

/// A follower's place in the order of events.
#[derive(Clone, Debug)]
pub struct Events {
    archive: Archive,
    after: Stamp,
}

impl Events {
    /// The events since the last call, waiting up to `wait` for a first one. An event may come twice, never not at all.
    pub fn next(&mut self, wait: Duration) -> Result<Vec<Event>> {
        let changes = self.archive.store().changes(self.after, wait)?;
        if let Some(last) = changes.last() {
            self.after = last.stamp;
        }
        let event = |change: crate::store::Changed| Event {
            stamp: change.stamp,
            at: change.at,
            conversation: change.conversation,
            kind: match change.what {
                What::Stored { messages } => EventKind::Stored { messages },
                What::Changed => EventKind::Changed,
                What::Rewritten => EventKind::MessagesRewritten,
                What::Trimmed { reason } => EventKind::MessagesDeleted { reason },
                What::Deleted { reason } => EventKind::Deleted { reason },
            },
        };
        Ok(changes.into_iter().map(event).collect())
    }
}

impl Archive {
    /// Follows what happens from now on, in this process and in others.
    pub fn subscribe(&self) -> Result<Events> {
        let mut events = self.events_after(0);
        while !events.next(Duration::ZERO)?.is_empty() {}
        Ok(events)
    }

    /// Follows what happened after a stamp; 0 is the beginning.
    pub fn events_after(&self, stamp: Stamp) -> Events {
        Events { archive: self.clone(), after: stamp }
    }
}
