//! Retention: how long conversations are kept, and what goes when.
//!
//! Expiry is computed from the policy when it is asked for; only an expiry of its own is stored with a
//! conversation. Whoever starts a conversation decides whether it follows the policy at all: a library or a
//! script that says nothing keeps for ever. What is held never goes, and neither does what is in use. Runs of
//! sub-agents go with what started them.

mod clock;
mod plan;
mod planner;
mod sweep;

pub use plan::{Cause, Expiring, RetentionPlan};
pub use sweep::{Sweep, Swept};

use std::fmt;

use crate::archive::ArchiveRetention;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Hold, StoredConversation, Time};

pub(super) const DAY: i64 = 86_400_000_000;

/// How long conversations that follow it are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Retention {
    /// Days of 24 hours after the last activity; none means for ever.
    pub days: Option<u32>,
    /// How many conversations a project may have, the newest first; none means any number.
    pub max_per_project: Option<u64>,
}

impl Retention {
    /// Everything stays.
    pub const FOREVER: Self = Self { days: None, max_per_project: None };

    /// The fewest days.
    pub const LEAST_DAYS: u32 = 7;

    /// The most days that are not for ever.
    pub const MOST_DAYS: u32 = 180;

    /// So many days, which must be within the bounds, and any number of conversations.
    pub fn of_days(days: u32) -> Result<Self> {
        let (least, most) = (Self::LEAST_DAYS, Self::MOST_DAYS);
        if !(least..=most).contains(&days) {
            return Err(Error::invalid(format!(
                "`{days}` days of retention are not from `{least}` to `{most}`"
            )));
        }
        Ok(Self { days: Some(days), max_per_project: None })
    }

    /// When a conversation expires; none when it stays.
    pub fn expires_at(&self, stored: &StoredConversation) -> Option<Time> {
        let header = &stored.conversation;
        match (header.hold, header.expires_at) {
            (Hold::Import | Hold::User, _) => None,
            (Hold::None, Some(own)) => Some(own),
            (Hold::None, None) if header.follows_retention => {
                self.days.map(|days| stored.last_active_at.plus_micros(i64::from(days) * DAY))
            }
            (Hold::None, None) => None,
        }
    }

    /// True when a conversation has expired: at its time exactly, it has.
    pub fn is_expired(&self, stored: &StoredConversation, now: Time) -> bool {
        self.expires_at(stored).is_some_and(|time| time <= now)
    }
}

/// `30/100`, as it is remembered.
impl fmt::Display for Retention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.days {
            Some(days) => write!(f, "{days}/")?,
            None => f.write_str("forever/")?,
        }
        match self.max_per_project {
            Some(most) => write!(f, "{most}"),
            None => f.write_str("any"),
        }
    }
}

impl ArchiveRetention<'_> {
    /// True when somebody has seen what this policy does.
    pub fn has_seen(&self, retention: &Retention) -> Result<bool> {
        match self.archive.state().recall(&seen_name(retention)) {
            // Then it is shown once more.
            Err(error) if error.kind() == ErrorKind::Corrupt => Ok(false),
            seen => Ok(seen?.is_some()),
        }
    }

    /// Remembers that somebody has seen what this policy does.
    pub fn see(&self, retention: &Retention) -> Result<()> {
        if self.has_seen(retention)? {
            return Ok(());
        }
        self.archive.state().remember(&seen_name(retention), Some(&self.archive.now().to_string()))
    }
}

fn seen_name(retention: &Retention) -> String {
    format!("retention.seen:{retention}")
}
