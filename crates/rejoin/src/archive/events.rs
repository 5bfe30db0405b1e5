//! What happens in a store, told to whoever follows it, from this process and others.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::archive::audit::AuditName;
use crate::archive::{Archive, AuditAction, AuditEntry, Strain, purge};
use crate::error::Result;
use crate::model::{ConversationId, Time};
use crate::store::{Changed, Named, NoticeName, Space, Stamp, Told, What, notices};

/// How long the report of a purge is waited for after the last conversation that went. A purge that was cut off has none,
/// and was not completed.
const REPORT: Duration = Duration::from_secs(10);

/// How often it is looked for.
const LOOK: Duration = Duration::from_millis(20);

/// How often notices are looked for, which ring no bell either.
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
    /// `privacy.purge.completed`: a purge ended. It has the number of the last deletion it made.
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
    /// Purges whose report is not there yet.
    purges: Vec<Purge>,
    /// Notices from before are not told.
    from: Stamp,
    /// Notices that were told.
    told: BTreeSet<NoticeName>,
    /// Purges that ended behind the place where it began; none before they were looked for.
    ended: Option<Vec<Ended>>,
}

/// Where a follower is among the changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Within,
    End,
}

/// A purge whose report was written after the change that a follower begins behind. It may not have been told.
#[derive(Clone, Debug)]
struct Ended {
    report: AuditName,
    entry: AuditEntry,
    conversation: ConversationId,
    newest: Stamp,
}

/// A purge of which deletions were seen.
#[derive(Clone, Debug)]
struct Purge {
    report: AuditName,
    last: Event,
    seen: Instant,
}

impl Events {
    /// The events since the last call, waiting up to `wait` for a first one. An event may come twice, never not at all.
    pub fn next(&mut self, wait: Duration) -> Result<Vec<Event>> {
        let began = Instant::now();
        loop {
            let left = wait.saturating_sub(began.elapsed());
            // A report and a notice ring no bell, so they are looked for.
            let slice = left.min(if self.purges.is_empty() { NOTICES } else { LOOK });
            let events = self.look(slice)?;
            if !events.is_empty() || left.is_zero() {
                return Ok(events);
            }
        }
    }

    fn look(&mut self, wait: Duration) -> Result<Vec<Event>> {
        let mut ended = match self.ended.take() {
            Some(ended) => ended,
            None => self.ended_since()?,
        };
        // What is to be told at once need not wait for a change.
        let wait = if ended.is_empty() { wait } else { Duration::ZERO };
        let changes = self.archive.store().changes(self.after, wait)?;
        if let Some(last) = changes.last() {
            self.after = last.stamp;
        }
        let place = if changes.is_empty() { Place::End } else { Place::Within };
        let mut events = Vec::with_capacity(changes.len());
        for change in changes {
            let mut report = None;
            let mut code = |reason: String| {
                let (code, named) = purge::unmarked(&reason);
                report = named;
                code.to_owned()
            };
            let kind = match change.what {
                What::Stored { messages } => EventKind::Stored { messages },
                What::Changed => EventKind::Changed,
                What::Rewritten => EventKind::MessagesRewritten,
                What::Trimmed { reason } => EventKind::MessagesDeleted { reason: code(reason) },
                What::Deleted { reason } => EventKind::Deleted { reason: code(reason) },
            };
            let Changed { stamp, at, conversation, .. } = change;
            let event = Event { stamp, at, conversation: Some(conversation), kind };
            events.push(event.clone());
            if let Some(report) = report {
                self.purges.retain(|purge| purge.report != report);
                ended.retain(|purge| purge.report != report);
                self.purges.push(Purge { report, last: event, seen: Instant::now() });
            }
        }
        self.add_completed(&mut events)?;
        let (told, left) = ended.into_iter().partition(|purge: &Ended| purge.newest <= self.after);
        self.ended = Some(left);
        events.extend(told.into_iter().map(|purge: Ended| Event {
            stamp: self.after,
            at: purge.entry.at,
            conversation: Some(purge.conversation),
            kind: completed(purge.entry),
        }));
        self.add_notices(&mut events, place)?;
        Ok(events)
    }

    /// Purges that ended after the change that it begins behind. Those of whom a deletion comes are told with that.
    fn ended_since(&self) -> Result<Vec<Ended>> {
        let mut ended = Vec::new();
        if self.after == 0 {
            return Ok(ended);
        }
        self.archive.store().get(Space::Audit, None, Named::ALL, &mut |name, bytes| {
            let (Ok(report), Ok(entry)) = (name.try_into(), serde_json::from_slice::<AuditEntry>(bytes))
            else {
                return Ok(());
            };
            let newest = entry.extra.field(purge::NEWEST).and_then(|newest| newest.to().ok());
            let conversation = entry.extra.field(purge::LAST).and_then(|last| last.to().ok());
            if let (AuditAction::PurgeCompleted, Some(newest), Some(conversation)) =
                (&entry.action, newest, conversation)
                && newest >= self.after
            {
                ended.push(Ended { report, entry, conversation, newest });
            }
            Ok(())
        })?;
        Ok(ended)
    }

    /// Tells the notices whose place in the order has come.
    fn add_notices(&mut self, events: &mut Vec<Event>, place: Place) -> Result<()> {
        for (name, notice) in notices(self.archive.store())? {
            let is_due = notice.after <= self.after || place == Place::End;
            if notice.after < self.from || !is_due || !self.told.insert(name) {
                continue;
            }
            let kind = match notice.told {
                Told::Quarantined { what, reason } => EventKind::Quarantined { what, reason },
                Told::Slow { milliseconds } => {
                    EventKind::Strained(Strain::Slow { took: Duration::from_millis(milliseconds) })
                }
                Told::Low { free } => EventKind::Strained(Strain::Low { free }),
                Told::Exhausted => EventKind::Strained(Strain::Exhausted),
            };
            let stamp = notice.after.min(self.after);
            let place = events.iter().position(|event| event.stamp > stamp).unwrap_or(events.len());
            events.insert(place, Event { stamp, at: notice.at, conversation: notice.conversation, kind });
        }
        Ok(())
    }

    /// Tells the purges whose reports have come, and forgets those that were cut off.
    fn add_completed(&mut self, events: &mut Vec<Event>) -> Result<()> {
        let mut waiting = Vec::new();
        for purge in std::mem::take(&mut self.purges) {
            if let Some(entry) = self.archive.audit_named(&purge.report)? {
                // Behind the last deletion it made, so that numbers never go back.
                let place = events.iter().position(|event| event.stamp > purge.last.stamp);
                let event = Event { at: entry.at, kind: completed(entry), ..purge.last };
                events.insert(place.unwrap_or(events.len()), event);
            } else if purge.seen.elapsed() < REPORT {
                waiting.push(purge);
            }
        }
        self.purges = waiting;
        Ok(())
    }
}

fn completed(entry: AuditEntry) -> EventKind {
    EventKind::PurgeCompleted {
        reason: entry.reason,
        conversations: entry.conversations,
        messages: entry.messages,
        bytes: entry.bytes,
        failures: entry.failures.len() as u64,
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
    ///
    /// A purge that ended at this stamp or later is told, also if all its deletions came before: whoever stopped between them
    /// and its end was not told, and cannot be told apart from whoever was.
    pub fn events_after(&self, stamp: Stamp) -> Events {
        let told = BTreeSet::new();
        Events { archive: self.clone(), after: stamp, purges: Vec::new(), ended: None, from: stamp, told }
    }
}
