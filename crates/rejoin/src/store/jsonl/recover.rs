//! After the machine was started anew: what the log of changes lost is taken from the conversations' files.
//!
//! The log is not synced with every change, so a power cut may take its end. The files are synced,
//! and each says which changes it holds.

use crate::error::Result;
use crate::store::durable::{self, Overwrite};
use crate::store::jsonl::Jsonl;
use crate::store::jsonl::change_log::{ChangeLog, Happened, Noted};
use crate::store::jsonl::fault::DuringIo;
use crate::store::jsonl::files::FileIdentity;

/// Clocks are set now and then; more than this, and a follower may have to look for itself. In nanoseconds.
const SLACK: i128 = 3_600_000_000_000;

/// Since when the machine runs, where the system tells: another text each time it is started.
pub(super) fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

impl Jsonl {
    /// Completes the log, unless it was completed since the machine was started. The caller holds the lock.
    pub(super) fn recover(&self, log: &mut ChangeLog) -> Result<()> {
        let path = self.layout.boot();
        let boot = boot();
        // A copy of the store has another log, and one that is empty may have been lost.
        let (expected, log_file) = (format!("{boot} {}", log.inode()?), format!(" {}", log.inode()?));
        let noted = durable::read_small(&path, 1 << 12).unwrap_or_default();
        let noted = String::from_utf8_lossy(&noted);
        if !boot.is_empty() && noted == expected && log.newest() > 0 {
            return Ok(());
        }
        let is_own = noted.ends_with(&log_file) && log.newest() > 0;
        let newest = log.newest();
        let mut lost: Vec<Noted> = Vec::new();
        // What was written before the log was last completed stands in it.
        let completed = path.metadata().ok().filter(|_| is_own);
        let completed = completed.map_or(i128::MIN, |metadata| FileIdentity::of(&metadata).modified - SLACK);
        for id in self.all()? {
            let folder = self.layout.find(id).during(|| format!("find conversation `{id}`"))?;
            let there = folder.and_then(|folder| self.layout.file(&folder, id).symlink_metadata().ok());
            if there.is_none_or(|there| FileIdentity::of(&there).modified < completed) {
                continue;
            }
            let Some(known) = self.glance(id)?.filter(|known| known.kept.stamp > newest) else { continue };
            let kept = &known.kept;
            lost.push(Noted {
                stamp: kept.stamp,
                at: kept.tree.active,
                conversation: id,
                what: Happened::Stored { messages: kept.tree.messages().len() as u64 },
                blobs: kept.blobs.iter().any(|((_, owner, _), (at, _))| *owner != Some(id) && *at > newest),
                done: Some(1),
            });
        }
        lost.sort_by_key(|noted| noted.stamp);
        for noted in &lost {
            log.note(noted)?;
        }
        let changers: Vec<_> =
            lost.iter().filter(|noted| noted.blobs).map(|noted| noted.conversation).collect();
        self.finish_blobs(&changers, newest)?;
        log.sync()?;
        let written = durable::draft(&path).and_then(|draft| {
            durable::write_at(draft.as_file(), 0, expected.as_bytes())?;
            durable::publish(draft, &path, Overwrite::Replace)
        });
        written.during(|| format!("write `{}`", path.display()))
    }
}
