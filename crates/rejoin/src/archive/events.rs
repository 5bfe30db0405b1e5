//! What happens in a store, told to whoever follows it, from this process and others.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::archive::{Archive, Strain};
use crate::error::Result;
use crate::model::{ConversationId, Time};
use crate::store::{Changed, Notice, NoticeName, Stamp, What, notices};

/// How often notices are looked for, which ring no bell.
const NOTICES: Duration = Duration::from_millis(500);

/// Something that happened to a conversation, or to the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Counts events; a follower that remembers it can continue after it.
    pub stamp: Stamp,
    /// When.
    pub at: Time,
    /// The conversation; of a purge, the last one that went. None where it is about the store.
    pub conversation: Option<ConversationId>,
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
    /// `privacy.purge.completed`: a purge ended. It has the number of the change before
    /// it: its own last one, or a later one.
    PurgeCompleted {
        /// Why it was made.
        reason: String,
        /// How many conversations went.
        conversations: u64,
        /// How many messages they had.
        messages: u64,
        /// How many bytes those took.
        bytes: u64,
        /// How many conversations could not be purged.
        failures: u64,
        /// False when the store still holds traces, because somebody was reading them. They are erased later.
        is_erased: bool,
    },
    /// `record.quarantined`: a record of a vault does not open. It has the number of the change before it.
    Quarantined {
        /// What it is, such as `message` or `header`.
        what: String,
        /// Why it does not open.
        reason: String,
    },
    /// The store is under strain: see [`Strain::name`]. It has the number of the change before it.
    Strained(Strain),
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
            Self::PurgeCompleted { .. } => "privacy.purge.completed",
            Self::Quarantined { .. } => "record.quarantined",
            Self::Strained(strain) => strain.name(),
        }
    }

    /// Why something was deleted, or does not open.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::MessagesDeleted { reason }
            | Self::Deleted { reason }
            | Self::PurgeCompleted { reason, .. }
            | Self::Quarantined { reason, .. } => Some(reason),
            Self::Stored { .. } | Self::Changed | Self::MessagesRewritten | Self::Strained(_) => None,
        }
    }
}

/// A follower's place in the order of events.
#[derive(Clone, Debug)]
pub struct Events {
    archive: Archive,
    after: Stamp,
    /// Notices from before are not told.
    from: Stamp,
    /// Notices that were told.
    told: BTreeSet<NoticeName>,
}

/// Where a follower is among the changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FollowerPlace {
    Within,
    End,
}

impl Events {
    /// The events since the last call, waiting up to `wait` for a first one. An
    /// event may come twice, never not at all.
    pub fn next(&mut self, wait: Duration) -> Result<Vec<Event>> {
        let began = Instant::now();
        loop {
            let left = wait.saturating_sub(began.elapsed());
            let events = self.look(left.min(NOTICES))?;
            if !events.is_empty() || left.is_zero() {
                return Ok(events);
            }
        }
    }

    fn look(&mut self, wait: Duration) -> Result<Vec<Event>> {
        let changes = self.archive.store().changes(self.after, wait)?;
        // Before the place is moved: what a look that fails has seen is told by the next.
        let notices = notices(self.archive.store())?;
        let place = if changes.is_empty() { FollowerPlace::End } else { FollowerPlace::Within };
        self.after = changes.last().map_or(self.after, |last| last.stamp);
        let mut events: Vec<Event> = changes.into_iter().map(event).collect();
        self.add_notices(notices, &mut events, place);
        Ok(events)
    }

    /// Tells the notices whose place in the order has come.
    fn add_notices(
        &mut self,
        notices: Vec<(NoticeName, Notice<NoticeKind>)>,
        events: &mut Vec<Event>,
        place: FollowerPlace,
    ) {
        for (name, notice) in notices {
            let is_due = notice.after <= self.after || place == FollowerPlace::End;
            if notice.after < self.from || !is_due || !self.told.insert(name) {
                continue;
            }
            let kind = notice.told.into();
            let stamp = notice.after.min(self.after);
            let place = events.iter().position(|event| event.stamp > stamp).unwrap_or(events.len());
            events.insert(place, Event { stamp, at: notice.at, conversation: notice.conversation, kind });
        }
    }
}

/// What is told of a store besides its changes, as it is stored. A vault tells the first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event")]
pub(crate) enum NoticeKind {
    /// A record does not open.
    #[serde(rename = "record.quarantined")]
    Quarantined { what: String, reason: String },
    /// A write took long.
    #[serde(rename = "storage.write.slow")]
    Slow { milliseconds: u64 },
    /// There is little room.
    #[serde(rename = "storage.capacity.low")]
    Low { free: u64 },
    /// There was no room.
    #[serde(rename = "storage.capacity.exhausted")]
    Exhausted,
    /// A purge ended.
    #[serde(rename = "privacy.purge.completed")]
    Purged {
        reason: String,
        conversations: u64,
        messages: u64,
        bytes: u64,
        failures: u64,
        #[serde(default = "yes", rename = "erased")]
        is_erased: bool,
    },
}

/// What older notices do not say.
const fn yes() -> bool {
    true
}

impl From<&Strain> for NoticeKind {
    fn from(strain: &Strain) -> Self {
        match strain {
            Strain::Slow { took } => {
                Self::Slow { milliseconds: u64::try_from(took.as_millis()).unwrap_or(u64::MAX) }
            }
            Strain::Low { free } => Self::Low { free: *free },
            Strain::Exhausted => Self::Exhausted,
        }
    }
}

impl From<NoticeKind> for EventKind {
    fn from(told: NoticeKind) -> Self {
        match told {
            NoticeKind::Quarantined { what, reason } => Self::Quarantined { what, reason },
            NoticeKind::Slow { milliseconds } => {
                Self::Strained(Strain::Slow { took: Duration::from_millis(milliseconds) })
            }
            NoticeKind::Low { free } => Self::Strained(Strain::Low { free }),
            NoticeKind::Exhausted => Self::Strained(Strain::Exhausted),
            NoticeKind::Purged { reason, conversations, messages, bytes, failures, is_erased } => {
                Self::PurgeCompleted { reason, conversations, messages, bytes, failures, is_erased }
            }
        }
    }
}

fn event(change: Changed) -> Event {
    let Changed { stamp, at, conversation, what } = change;
    let kind = match what {
        What::Stored { messages } => EventKind::Stored { messages },
        What::Changed => EventKind::Changed,
        What::Rewritten => EventKind::MessagesRewritten,
        What::Trimmed { reason } => EventKind::MessagesDeleted { reason },
        What::Deleted { reason } => EventKind::Deleted { reason },
    };
    Event { stamp, at, conversation: Some(conversation), kind }
}

impl Archive {
    /// Follows what happens from now on, in this process and in others.
    pub fn subscribe(&self) -> Result<Events> {
        let mut events = self.events_after(0);
        while !events.next(Duration::ZERO)?.is_empty() {}
        Ok(events)
    }

    /// Follows what happened after a stamp; 0 is the beginning.
    ///
    /// A purge that ended at this stamp or later is told, also if all its deletions came before: whoever
    /// stopped between them and its end was not told, and cannot be told apart from whoever was.
    pub fn events_after(&self, stamp: Stamp) -> Events {
        let told = BTreeSet::new();
        Events { archive: self.clone(), after: stamp, from: stamp, told }
    }
}
