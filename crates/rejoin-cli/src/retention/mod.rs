//! Retention at the command line: the policy of the configuration, and that nothing goes without notice.
//!
//! A policy counts once somebody has seen on a terminal what it does, and has gone on, or has accepted it in
//! the configuration.

mod changed;
mod everywhere;
pub(crate) mod question;
mod words;
mod worker;

pub(crate) use changed::apply_changed;
pub(crate) use everywhere::Policies;
pub(crate) use words::{describe, expired, notice, purged, quarantined, soon, unrenewed, waiting};
pub(crate) use worker::{RetentionWorker, sweep_after, sweep_meanwhile};

use rejoin::{Archive, ConversationId, Retention, StoredConversation, Sweep, Time};

use crate::context::Context;
use crate::error::Failure;
use crate::session::writer_lives;

/// How far ahead an expiry by the policy is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpiryNotice {
    Any,
    /// Within the days of notice.
    Notice,
}

/// Says when a conversation expires, also where only the policy of this project
/// does. Other projects have their own.
pub(crate) fn date(
    stored: &mut StoredConversation,
    ahead: ExpiryNotice,
    archive: &Archive,
    context: &Context,
) -> Result<(), Failure> {
    if stored.conversation.project.as_ref() == Some(&context.project_key(archive)?) {
        let notice_days = context.config.retention_notice_days();
        date_by(stored, ahead, &context.config.retention(), notice_days);
    }
    Ok(())
}

/// Says when a conversation expires, also where only a policy does.
fn date_by(stored: &mut StoredConversation, ahead: ExpiryNotice, retention: &Retention, notice_days: u32) {
    if stored.conversation.expires_at.is_some() {
        return;
    }
    let last = Time::now().plus_micros(i64::from(notice_days) * 86_400_000_000);
    let expires = retention.expires_at(stored);
    stored.conversation.expires_at = expires.filter(|time| ahead == ExpiryNotice::Any || *time <= last);
}

/// The policy, where it applies, and what it must not touch.
#[derive(Debug)]
pub(crate) struct Policy {
    pub(crate) retention: Retention,
    pub(crate) notice_days: u32,
    /// True when the configuration says that the user accepts it.
    is_accepted: bool,
    /// The key; that of what belongs to no project is empty.
    project: String,
    active: Vec<ConversationId>,
}

impl Policy {
    /// The policy of this project.
    pub(crate) fn here(archive: &Archive, context: &Context) -> Result<Self, Failure> {
        Ok(Self {
            retention: context.config.retention(),
            notice_days: context.config.retention_notice_days(),
            is_accepted: context.config.accepts_retention(),
            project: context.project_key(archive)?,
            active: context.active_conversation(archive)?.into_iter().collect(),
        })
    }

    /// True when somebody has seen or accepted it. What keeps everything needs no notice.
    pub(crate) fn is_seen(&self, archive: &Archive) -> Result<bool, Failure> {
        Ok(self.retention.days.is_none()
            || self.is_accepted
            || archive.retention().has_seen(&self.retention)?)
    }

    fn sweeping(&self) -> Sweep<'_> {
        Sweep {
            project: Some(&self.project),
            retention: self.retention,
            active: &self.active,
            is_alive: &writer_lives,
        }
    }
}
