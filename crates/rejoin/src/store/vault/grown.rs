//! What an append has to know of its conversation, kept from one append to the next.
//!
//! A handle that appends again need not look its conversation up: when the log of changes has nothing of it but what the
//! handle appended itself, it is as the handle left it. Whatever else the log tells makes the next append look it up. The
//! log is followed from the second append on, so that who appends once does not pay for it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use crate::error::Result;
use crate::model::{ConversationId, Head, Time};
use crate::store::vault::VaultStore;
use crate::store::vault::row::Known;
use crate::store::{Changed, Stamp, What, newest_stamp};

/// So many conversations are remembered, because an import may make thousands and come back to none.
const MOST: usize = 1_000;

/// An answer of fewer changes has all of them, so that nobody asks again.
const FEW: usize = 10;

/// What the inner store has of a first preview.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum First {
    /// It has it.
    Kept,
    /// It lost it with messages that were removed; this is the one of those that are left.
    Lost(String),
    /// There is none.
    Absent,
}

/// What an append has to know of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grown {
    pub(super) first: First,
    pub(super) last: String,
    pub(super) active: Time,
    pub(super) head: Option<Head>,
    pub(super) messages: u64,
}

impl Grown {
    /// What a row says.
    fn of(known: &Known) -> Self {
        let first = match (known.row.first.is_empty(), known.raw.first.is_empty()) {
            (true, _) => First::Absent,
            (false, true) => First::Lost(known.row.first.clone()),
            (false, false) => First::Kept,
        };
        Self {
            first,
            last: known.row.last.clone(),
            active: known.row.active,
            head: known.row.head,
            messages: known.raw.messages,
        }
    }
}

/// Up to which change the log was looked at; none while nobody looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reached(Option<Stamp>);

/// What this handle knows of the conversations it appends to.
#[derive(Debug, Default)]
pub(super) struct Growth {
    /// True once something was appended.
    has_begun: bool,
    reached: Reached,
    held: HashMap<ConversationId, Held>,
}

/// A conversation as this handle left it.
#[derive(Debug)]
struct Held {
    grown: Grown,
    /// How many messages it has after an append of this handle that the log has not told yet. While it has not, somebody
    /// else may have done something before it.
    awaited: Option<u64>,
}

impl Growth {
    /// Takes in a change: what this handle did itself is awaited, anything else makes what is known of a conversation old.
    fn follow(&mut self, change: &Changed) {
        let Entry::Occupied(mut held) = self.held.entry(change.conversation) else { return };
        match change.what {
            What::Stored { messages } if held.get().awaited == Some(messages) => {
                held.get_mut().awaited = None;
            }
            _ => drop(held.remove()),
        }
    }
}

impl VaultStore {
    /// What an append has to know of a conversation, by its inner name, and up to which change of the log it was looked at;
    /// none when there is no such conversation.
    pub(super) fn grown(&self, inner: ConversationId) -> Result<Option<(Grown, Reached)>> {
        let (reached, held) = {
            let mut growth = self.growth();
            self.follow_growth(&mut growth)?;
            let held = growth.held.get(&inner).filter(|held| held.awaited.is_none());
            (growth.reached, held.map(|held| held.grown.clone()))
        };
        match held {
            Some(grown) => Ok(Some((grown, reached))),
            None => Ok(self.row_now(inner)?.map(|known| (Grown::of(&known), reached))),
        }
    }

    /// Up to which change the log was looked at.
    pub(super) fn growth_reached(&self) -> Reached {
        self.growth().reached
    }

    /// Remembers how an append of this handle left a conversation, where the log was looked at up to `reached` before it. It is
    /// used once the log has told the append, and nothing else.
    pub(super) fn has_grown(&self, inner: ConversationId, grown: Grown, reached: Reached) {
        let mut growth = self.growth();
        growth.has_begun = true;
        growth.held.remove(&inner);
        // Where another thread has looked further, it may have passed over the append, and over what was done after it.
        if growth.reached != reached || reached == Reached::default() {
            return;
        }
        if growth.held.len() >= MOST {
            growth.held.clear();
        }
        let awaited = Some(grown.messages);
        growth.held.insert(inner, Held { grown, awaited });
    }

    fn follow_growth(&self, growth: &mut Growth) -> Result<()> {
        let Some(mut stamp) = growth.reached.0 else {
            if growth.has_begun {
                growth.reached = Reached(Some(newest_stamp(self.inner.as_ref(), 0)?));
            }
            return Ok(());
        };
        loop {
            let changes = self.inner.changes(stamp, Duration::ZERO)?;
            let Some(newest) = changes.last() else { return Ok(()) };
            stamp = newest.stamp;
            growth.reached = Reached(Some(stamp));
            for change in &changes {
                if matches!(change.what, What::Deleted { .. }) {
                    self.held.forget(Some(change.conversation));
                }
                growth.follow(change);
            }
            if changes.len() < FEW {
                return Ok(());
            }
        }
    }

    fn growth(&self) -> MutexGuard<'_, Growth> {
        self.growth.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
