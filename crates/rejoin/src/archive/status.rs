//! Where a conversation stands, and the ways from one status to another.
//!
//! ```text
//!            pause             complete
//!   active ─────────► paused ───────────► completed
//!     ▲ ◄───────────────┘                     │
//!     │      activate             reopen      │
//!     └───────────────────────────────────────┘
//! ```
//! An active conversation can be completed too. Every other change is refused.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::archive::{Archive, ArchiveStatus};
use crate::error::{Error, Result};
use crate::model::{Conversation, ConversationId, Json, Metrics, Status, StoredConversation, Time};
use crate::store::Change;

/// The header's own field for why a talk ended.
const END_REASON: &str = "end_reason";

/// Why a talk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EndReason {
    /// Somebody ended it.
    Ended,
    /// It could not go on.
    Failed,
    /// Nothing was said for a while.
    AutoPaused,
}

impl EndReason {
    /// Every reason.
    pub const ALL: [Self; 3] = [Self::Ended, Self::Failed, Self::AutoPaused];

    /// The reason as it is stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::Failed => "failed",
            Self::AutoPaused => "auto-paused",
        }
    }
}

impl fmt::Display for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for EndReason {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == text).ok_or_else(|| {
            let shown: String = text.chars().take(40).collect();
            Error::invalid(format!("`{shown}` is not a reason; expected ended, failed or auto-paused"))
        })
    }
}

/// How a talk ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It is left, to be resumed. A talk that failed can be resumed too.
    Paused(EndReason),
    /// It is done.
    Completed,
}

impl Ending {
    const fn status(self) -> Status {
        match self {
            Self::Paused(_) => Status::Paused,
            Self::Completed => Status::Completed,
        }
    }

    const fn reason(self) -> EndReason {
        match self {
            Self::Paused(reason) => reason,
            Self::Completed => EndReason::Ended,
        }
    }
}

impl Status {
    /// True when a conversation may go from this status to that one, other than by being reopened.
    pub const fn may_become(self, next: Self) -> bool {
        matches!(
            (self, next),
            (Self::Active, Self::Paused | Self::Completed) | (Self::Paused, Self::Active | Self::Completed)
        )
    }
}

impl Conversation {
    /// Why the last talk in it ended; none while it is active.
    pub fn end_reason(&self) -> Option<EndReason> {
        self.extra.field(END_REASON)?.to::<String>().ok()?.parse().ok()
    }
}

impl StoredConversation {
    /// Where it stands at a time: an active one in which nothing was said for `idle` counts as paused, since
    /// a process that was killed cannot say so.
    pub fn status_at(&self, now: Time, idle: Duration) -> Status {
        let quiet = now.as_micros().saturating_sub(self.last_active_at.as_micros());
        let is_quiet = u128::try_from(quiet).is_ok_and(|quiet| quiet >= idle.as_micros());
        match self.conversation.status {
            Status::Active if is_quiet => Status::Paused,
            status => status,
        }
    }
}

/// Which changes of status are allowed.
#[derive(Clone, Copy)]
enum StatusChange {
    Ordinary,
    Reopening,
}

impl ArchiveStatus<'_> {
    /// Marks an active conversation as paused.
    pub fn pause(&self, id: ConversationId, reason: EndReason) -> Result<StoredConversation> {
        self.archive.end_measured(id, Ending::Paused(reason), &Metrics::default())
    }

    /// Marks an active or paused conversation as completed.
    pub fn complete(&self, id: ConversationId) -> Result<StoredConversation> {
        self.archive.end_measured(id, Ending::Completed, &Metrics::default())
    }

    /// Marks a paused conversation as active.
    pub fn activate(&self, id: ConversationId) -> Result<StoredConversation> {
        self.archive.change_status(id, Status::Active, StatusChange::Ordinary, |header| {
            header.extra.remove(END_REASON);
        })
    }

    /// Makes a completed conversation active again. Somebody has to want this, so it is a call of its own.
    pub fn reopen(&self, id: ConversationId) -> Result<StoredConversation> {
        self.archive.change_status(id, Status::Active, StatusChange::Reopening, |header| {
            header.extra.remove(END_REASON);
        })
    }
}

impl Archive {
    /// Ends a talk and adds what was measured during it, in one write.
    pub(super) fn end_measured(
        &self,
        id: ConversationId,
        ending: Ending,
        measured: &Metrics,
    ) -> Result<StoredConversation> {
        self.change_status(id, ending.status(), StatusChange::Ordinary, |header| {
            let reason = Json::of(&ending.reason().as_str()).expect("a string is JSON");
            header.extra.set(END_REASON, reason);
            if *measured != Metrics::default() {
                header.metrics = Some(sum(header.metrics.as_ref(), measured));
            }
        })
    }

    fn change_status(
        &self,
        id: ConversationId,
        next: Status,
        way: StatusChange,
        change: impl Fn(&mut Conversation),
    ) -> Result<StoredConversation> {
        self.amending(id, |store, stored| {
            let mut header = stored.conversation.clone();
            check(id, header.status, next, way)?;
            header.status = next;
            change(&mut header);
            let (facets, header) = self.encode(&header)?;
            let change = Change::Header { facets: &facets, header: &header };
            store.amend(id, Some(stored.version), &change, self.now()).map(drop)
        })?;
        self.conversation(id)
    }
}

/// Refuses a change of status that is not allowed; keeping it is no change.
pub(super) fn check_change(id: ConversationId, status: Status, next: Status) -> Result<()> {
    if status == next { Ok(()) } else { check(id, status, next, StatusChange::Ordinary) }
}

fn check(id: ConversationId, status: Status, next: Status, way: StatusChange) -> Result<()> {
    let is_allowed = match way {
        StatusChange::Ordinary => status.may_become(next),
        StatusChange::Reopening => status == Status::Completed,
    };
    if is_allowed {
        return Ok(());
    }
    let what = match way {
        StatusChange::Ordinary => format!("cannot become {}", next.as_str()),
        StatusChange::Reopening => "cannot be reopened".to_owned(),
    };
    Err(Error::invalid(format!("conversation `{id}` is {}, so it {what}", status.as_str())))
}

/// The metrics of all talks in a conversation.
fn sum(before: Option<&Metrics>, measured: &Metrics) -> Metrics {
    let before = before.cloned().unwrap_or_default();
    let assistant_messages = before.assistant_messages + measured.assistant_messages;
    let waited = before.average_latency_ms * before.assistant_messages
        + measured.average_latency_ms * measured.assistant_messages;
    Metrics {
        user_messages: before.user_messages + measured.user_messages,
        assistant_messages,
        duration_ms: before.duration_ms + measured.duration_ms,
        average_latency_ms: waited / assistant_messages.max(1),
    }
}
