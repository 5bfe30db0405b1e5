//! Quarantine: records of a vault that do not open, and what becomes of them.
//!
//! Each is told to those who follow the events, and named by whoever looks for damage, until it was put right
//! or its days are over. A plain store has no quarantine: what is damaged there stays until somebody decides.

use crate::archive::retention::DAY;
use crate::archive::{Archive, ArchiveVault, AuditAction, AuditEntry, PurgeOutcome, PurgeReason};
use crate::error::Result;
use crate::model::{Json, Time};
use crate::vault::Quarantined;

impl Quarantined {
    /// When a sweep takes it; none when it stays until somebody decides.
    pub const fn goes_at(&self, days: u32) -> Option<Time> {
        if self.is_lost { Some(self.at.plus_micros(days as i64 * DAY)) } else { None }
    }
}

impl ArchiveVault<'_> {
    /// The records in quarantine, the oldest first. A copy that does not open itself is passed over.
    pub fn quarantined(&self) -> Result<Vec<Quarantined>> {
        self.archive.vault.as_ref().map_or(Ok(Vec::new()), |vault| vault.quarantined())
    }

    /// Purges the records that are lost and have been in quarantine for so many days, and returns them. The
    /// audit log tells of each, and those who follow the events that it is done.
    ///
    /// While the clock may be wrong, nothing goes. A record that was put right meanwhile loses its
    /// copy only. A message that others follow leaves a stone, a header is written again; where that
    /// cannot be done, it stays with its copy.
    pub fn purge_quarantined(&self, days: u32) -> Result<Vec<Quarantined>> {
        let now = self.archive.now();
        let mut due = self.quarantined()?;
        due.retain(|record| record.goes_at(days).is_some_and(|at| at <= now));
        if due.is_empty() || self.archive.doubts_clock_until()?.is_some() {
            return Ok(Vec::new());
        }
        // All at once: messages of one conversation may have to go together.
        self.archive.vault.as_ref().map_or(Ok(()), |vault| vault.discard(&due))?;
        let staying = self.quarantined()?;
        due.retain(|record| !staying.contains(record));
        if !due.is_empty() {
            self.archive.tell_purged(&due, now);
        }
        Ok(due)
    }
}

impl Archive {
    fn tell_purged(&self, gone: &[Quarantined], began: Time) {
        let mut report = PurgeOutcome::begin(PurgeReason::CorruptionDetected, began);
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
