//! Quarantine: records of a vault that do not open, and what becomes of them.
//!
//! Each is told to those who follow the events, and named by whoever looks for damage, until it was put right or its days
//! are over. A plain store has no quarantine: what is damaged there stays until somebody decides.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::archive::retention::DAY;
use crate::archive::{Archive, AuditAction, AuditEntry, PurgeReason, PurgeReport};
use crate::error::{ErrorKind, Result};
use crate::model::{ConversationId, Json, Time};
use crate::store::{Named, Put, Safety, Space};

/// A record that did not open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantined {
    /// When that was found.
    pub at: Time,
    /// What it is, such as `message` or `header`.
    pub what: String,
    /// Why it does not open.
    pub why: String,
    /// The conversation it belongs to, where that is known.
    pub conversation: Option<ConversationId>,
    /// How long it is, sealed.
    pub bytes: u64,
    /// True when nothing will ever open it: it goes when its days are over.
    pub is_lost: bool,
    name: Vec<u8>,
}

impl Quarantined {
    /// When a sweep takes it; none when it stays until somebody decides.
    pub const fn goes_at(&self, days: u32) -> Option<Time> {
        if self.is_lost { Some(self.at.plus_micros(days as i64 * DAY)) } else { None }
    }
}

/// As the vault keeps it.
#[derive(Deserialize)]
struct Kept {
    at: Time,
    what: String,
    why: String,
    #[serde(default)]
    is_lost: bool,
    conversation: Option<ConversationId>,
    #[serde(default)]
    record: String,
}

impl Archive {
    /// The records in quarantine, the oldest first. A copy that does not open itself is passed over.
    pub fn quarantined(&self) -> Result<Vec<Quarantined>> {
        let mut found = Vec::new();
        let got = self.store().get(Space::Quarantine, None, Named::ALL, &mut |name, bytes| {
            match serde_json::from_slice::<Kept>(bytes) {
                Ok(kept) => found.push(Quarantined {
                    at: kept.at,
                    what: kept.what,
                    why: kept.why,
                    conversation: kept.conversation,
                    bytes: kept.record.len() as u64,
                    is_lost: kept.is_lost,
                    name: name.to_vec(),
                }),
                Err(cause) => tracing::warn!(%cause, "a record in quarantine cannot be read"),
            }
            Ok(())
        });
        match got {
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                tracing::warn!(%error, "a record in quarantine does not open");
            }
            other => other?,
        }
        found.sort_by(|one, other| (one.at, &one.name).cmp(&(other.at, &other.name)));
        Ok(found)
    }

    /// Purges the records that are lost and have been in quarantine for so many days, and returns them. The audit log tells
    /// of each, and those who follow the events that it is done.
    ///
    /// While the clock may be wrong, nothing goes. A record that was put right meanwhile loses its copy only. A message that
    /// others follow leaves a stone, a header is written again; where that cannot be done, it stays with its copy.
    pub fn purge_quarantined(&self, days: u32) -> Result<Vec<Quarantined>> {
        let now = self.now();
        let mut due = self.quarantined()?;
        due.retain(|record| record.goes_at(days).is_some_and(|at| at <= now));
        if due.is_empty() || self.doubts_clock_until()?.is_some() {
            return Ok(Vec::new());
        }
        let put = |name| Put { space: Space::Quarantine, owner: None, name, bytes: None };
        let puts: Vec<Put<'_>> = due.iter().map(|record| put(record.name.as_slice())).collect();
        // All at once: messages of one conversation may have to go together.
        self.store().put(&puts, Safety::Synced)?;
        let staying: BTreeSet<Vec<u8>> = self.quarantined()?.into_iter().map(|record| record.name).collect();
        due.retain(|record| !staying.contains(&record.name));
        if !due.is_empty() {
            self.tell_purged(&due, now);
        }
        Ok(due)
    }

    fn tell_purged(&self, gone: &[Quarantined], began: Time) {
        let mut report = PurgeReport::begin(PurgeReason::CorruptionDetected, began);
        for record in gone {
            let messages = u64::from(record.what == "message");
            let entry = AuditEntry::new(AuditAction::Purged, report.reason.as_str());
            let mut entry = entry.counting(messages, record.bytes);
            entry.conversation = record.conversation;
            entry.extra.set("record", Json::of(&record.what).expect("a word is JSON"));
            self.note_done(entry);
            report.messages += messages;
            report.bytes += record.bytes;
        }
        // They are gone, whatever becomes of their traces, and no later run would tell it.
        report.is_erased = self.erase_traces().unwrap_or(false);
        self.complete_purge(&mut report, gone.iter().rev().find_map(|record| record.conversation));
    }
}
