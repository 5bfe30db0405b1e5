//! Removing conversations and messages: what is removed is overwritten, not only unnamed.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;

use crate::error::{ErrorKind, Result};
use crate::model::ConversationId;
use crate::store::backend::LogEntry;
use crate::store::jsonl::Jsonl;
use crate::store::jsonl::change_log::{Noted, lock};
use crate::store::jsonl::fault::DuringIo;
use crate::store::jsonl::files::Purpose;
use crate::store::jsonl::list::index;
use crate::store::jsonl::scan::ScannedFile;
use crate::store::jsonl::writing::{Certainty, Turnstile};
use crate::store::{Progress, Stamp, durable};

/// How long readers of a file that is to be overwritten are waited for. It has no name any more; who still
/// reads it began before, and whoever tidies next finds it.
pub(super) const READERS: Duration = Duration::from_millis(200);

impl Jsonl {
    /// Removes a conversation, whose newest change in its file has this stamp.
    pub(super) fn delete(
        &self,
        turnstile: &mut Turnstile<'_>,
        newest: Stamp,
        change: &LogEntry,
    ) -> Result<()> {
        let id = change.conversation;
        let stamp = turnstile.next_stamp(newest);
        // Order: the note and its sync, because no file says it; then the names, so that the file and its
        // copies are gone for readers at once; then the bytes.
        let mark = turnstile.log().note(&Noted::of(stamp, change))?;
        if let Err(error) = turnstile.log().sync().and_then(|()| self.take_names(id)) {
            turnstile.log().take_back(mark);
            turnstile.fail(Certainty::Unknown);
            return Err(error);
        }
        self.finish_removal(id, READERS)?;
        turnstile.log().finish();
        Ok(())
    }

    /// Puts every file of a conversation among what is to be erased.
    fn take_names(&self, id: ConversationId) -> Result<()> {
        self.forget(id);
        for folder in self.layout.find_all(id).during(|| format!("find conversation `{id}`"))? {
            let path = self.layout.file(&folder, id);
            let attempt = || format!("remove `{}`", path.display());
            durable::rename(&path, &self.layout.gone_name(id)).during(attempt)?;
        }
        Ok(())
    }

    /// Erases what is left of a conversation or of messages that were removed, in whatever file.
    pub(super) fn finish_removal(&self, id: ConversationId, readers: Duration) -> Result<()> {
        self.forget(id);
        self.finish_pending()?;
        if self.layout.find(id).during(|| format!("find conversation `{id}`"))?.is_none() {
            self.disown(id)?;
        }
        index::blank(&self.layout.index(), id).during(|| "erase a row of the index")?;
        self.forget_words(id)?;
        self.tidy_up(readers).map(drop)
    }

    /// Overwrites what could not be overwritten before because somebody was
    /// reading it, and what later lines made void.
    pub(super) fn tidy(&self, budget: Duration) -> Result<Progress> {
        let until = Instant::now().checked_add(budget);
        let done = self.erase_leftovers()?;
        let mut progress = Progress { done, ..Progress::default() };
        for id in self.all()? {
            let is_spent = |known: Option<(_, Arc<ScannedFile>)>| {
                known.is_some_and(|(_, known)| known.kept.spent.lines > 0)
            };
            if !is_spent(self.open_known(id)?) {
                continue;
            }
            if progress.done > 0 && until.is_some_and(|until| Instant::now() >= until) {
                progress.left += 1;
                continue;
            }
            // Others who write get a turn between two files.
            let mut turnstile = self.begin_writing()?;
            match self.fold(&mut turnstile, id) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                other => other?,
            }
            progress.done += 1;
        }
        Ok(progress)
    }

    /// Writes one file anew if it has lines that later ones made void and they are worth it.
    pub(super) fn repack_one(&self, id: ConversationId) -> Result<Progress> {
        let mut turnstile = self.begin_writing()?;
        let (opened, known) = self.must_open(Purpose::Write, id)?;
        let (spent, length) = (known.kept.spent, known.end);
        drop((opened, known));
        if spent.lines == 0 {
            return Ok(Progress::default());
        }
        if !spent.are_many(1, length) {
            return Ok(Progress { left: u64::from(spent.lines), ..Progress::default() });
        }
        self.fold(&mut turnstile, id)?;
        Ok(Progress { done: 1, ..Progress::default() })
    }

    /// The same, and counts what somebody still reads.
    pub(super) fn tidy_and_count(&self) -> Result<Progress> {
        let done = self.erase_leftovers()?;
        let temporary = self.layout.temporary();
        let rest = self.layout.leftovers().during(|| format!("list `{}`", temporary.display()))?;
        Ok(Progress {
            done,
            left: rest.iter().filter(|path| path.is_file()).count() as u64,
            ..Progress::default()
        })
    }

    fn erase_leftovers(&self) -> Result<u64> {
        let _turnstile = self.begin_writing()?;
        // Folders whose conversations are all gone, or moved by a process that was killed then.
        for name in self.layout.folders().during(|| "list the folders")? {
            let folder = self.layout.root().join(&name);
            self.leave(&folder).during(|| format!("remove `{}`", folder.display()))?;
        }
        self.tidy_up(READERS)
    }

    /// Erases what is temporary. The caller holds the lock of those who write, so nobody is at work on it.
    pub(super) fn tidy_up(&self, readers: Duration) -> Result<u64> {
        let temporary = self.layout.temporary();
        durable::create_private_directory(&temporary.join("any"))
            .during(|| format!("create `{}`", temporary.display()))?;
        let mut leftovers = self.layout.leftovers().during(|| format!("list `{}`", temporary.display()))?;
        // What was set aside comes before what should have replaced it, which tells that it has not.
        leftovers.sort_unstable_by(|one, other| other.cmp(one));
        for path in &leftovers {
            let attempt = || format!("erase `{}`", path.display());
            if self.layout.is_second_name(path).during(attempt)? {
                durable::remove(path).and_then(|()| durable::sync_parent(path)).during(attempt)?;
            } else {
                overwrite(path, readers)?;
            }
        }
        Ok(leftovers.len() as u64)
    }
}

/// Overwrites and removes a file that has no use any more, unless somebody reads it.
fn overwrite(path: &Path, readers: Duration) -> Result<()> {
    let attempt = || format!("erase `{}`", path.display());
    match path.symlink_metadata() {
        Ok(there) if there.is_file() => {}
        // A folder is not Rejoin's, and a link or a pipe holds nothing.
        Ok(there) if there.is_dir() => return Ok(()),
        Ok(_) => return durable::remove(path).during(attempt),
        Err(_) => return Ok(()),
    }
    let file = match durable::open_to_write(path) {
        Ok(file) => file,
        // Where names cannot be exchanged it is gone already.
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(cause) => return Err(cause).during(attempt),
    };
    match lock(&file, FlockOperation::NonBlockingLockExclusive, readers) {
        Ok(()) => durable::erase(&file, path).and_then(|()| durable::sync_parent(path)).during(attempt),
        Err(error) if error.kind() == ErrorKind::Locked => Ok(()),
        Err(error) => Err(error),
    }
}
