//! After the machine was started anew: what the log of changes lost is taken from the conversations' files.
//!
//! The log is not synced with every change, so a power cut may take its end. The files are synced, and each says which
//! changes it holds.

use crate::error::Result;
use crate::store::Stamp;
use crate::store::durable::{self, Existing};
use crate::store::jsonl::JsonlStore;
use crate::store::jsonl::changes::{Happened, Log, Noted};
use crate::store::jsonl::fault::During;
use crate::store::jsonl::files::Seen;

/// Clocks are set now and then; more than this, and a follower may have to look for itself. In nanoseconds.
const SLACK: i128 = 3_600_000_000_000;

/// Since when the machine runs, where the system tells: another text each time it is started.
pub(super) fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

impl JsonlStore {
    /// Completes the log, unless it was completed since the machine was started. The caller holds the lock.
    pub(super) fn recover(&self, log: &mut Log) -> Result<()> {
        let path = self.layout.boot();
        let boot = boot();
        if !boot.is_empty() && std::fs::read_to_string(&path).is_ok_and(|noted| noted == boot) {
            return Ok(());
        }
        let newest = log.newest();
        let mut lost: Vec<Noted> = Vec::new();
        // What was written before the log was last completed stands in it.
        let completed = path.metadata().map_or(i128::MIN, |metadata| Seen::of(&metadata).modified - SLACK);
        for id in self.all()? {
            let seen = self.open_file(id)?.map(|opened| opened.seen);
            if seen.is_none_or(|seen| seen.modified < completed) {
                continue;
            }
            let Some(known) = self.glance(id)?.filter(|known| known.kept.stamp > newest) else { continue };
            let kept = &known.kept;
            lost.push(Noted {
                stamp: kept.stamp,
                at: kept.active,
                conversation: id,
                what: Happened::Stored { messages: kept.messages.len() as u64 },
                blobs: kept.blobs.iter().any(|((_, owner, _), (at, _))| *owner != Some(id) && *at > newest),
            });
        }
        lost.sort_by_key(|noted| noted.stamp);
        for noted in &lost {
            log.note(noted)?;
            self.finish_lost_blobs(noted, newest)?;
        }
        log.sync()?;
        let written = durable::draft(&path).and_then(|draft| {
            durable::write_at(draft.as_file(), 0, boot.as_bytes())?;
            durable::publish(draft, &path, Existing::Replace)
        });
        written.during(|| format!("write `{}`", path.display()))
    }

    fn finish_lost_blobs(&self, noted: &Noted, after: Stamp) -> Result<()> {
        if noted.blobs { self.finish_blobs(noted.conversation, after + 1) } else { Ok(()) }
    }
}
