//! Removing conversations and messages: what is removed is overwritten, not only unnamed.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use rustix::fs::FlockOperation;

use crate::error::{ErrorKind, Result};
use crate::model::{ConversationId, MessageId, Time};
use crate::store::jsonl::JsonlStore;
use crate::store::jsonl::changes::{Happened, lock};
use crate::store::jsonl::fault::During;
use crate::store::jsonl::kept::Kept;
use crate::store::jsonl::layout::gone_name;
use crate::store::jsonl::rewrite::Remains;
use crate::store::jsonl::writing::{Certainty, noted};
use crate::store::{Children, Outcome, Progress, Target, durable};

/// How long readers of a file that is to be overwritten are waited for. It has no name any more; who still reads it
/// began before, and whoever tidies next finds it.
const READERS: Duration = Duration::from_millis(200);

impl JsonlStore {
    pub(super) fn remove_one(&self, target: &Target<'_>, reason: &str, at: Time) -> Result<Outcome> {
        match target {
            Target::Conversation(id) => self.remove_conversation(*id, reason, at),
            Target::Messages { conversation, ids, children } => {
                self.remove_messages(*conversation, ids, *children, reason, at)
            }
        }
    }

    fn remove_conversation(&self, id: ConversationId, reason: &str, at: Time) -> Result<Outcome> {
        let mut turnstile = self.begin_writing()?;
        let Some((opened, known)) = self.open_known(id)? else { return Ok(Outcome::NotFound) };
        let path = opened.path.clone();
        // Its own lock would keep it from being overwritten.
        drop(opened);
        let stamp = turnstile.next_stamp();
        let deleted = Happened::Deleted { reason: reason.to_owned() };
        // Order: the note and its sync, because no file says it; then the name, so that the file is gone for readers
        // at once; then the bytes.
        let mark = turnstile.log().note(&noted(stamp, at, id, deleted))?;
        let gone = gone_name(&path);
        let renamed = turnstile
            .log()
            .sync()
            .and_then(|()| durable::rename(&path, &gone).during(|| format!("remove `{}`", path.display())));
        if let Err(error) = renamed {
            turnstile.log().take_back(mark);
            turnstile.fail(Certainty::Unknown);
            return Err(error);
        }
        self.forget(id);
        self.disown(id)?;
        // With it goes what somebody was reading when it was removed.
        self.tidy_folder(&path)?;
        Ok(Outcome::Removed { messages: known.kept.messages.len() as u64, bytes: known.kept.bytes })
    }

    fn remove_messages(
        &self,
        id: ConversationId,
        ids: &[MessageId],
        children: Children,
        reason: &str,
        at: Time,
    ) -> Result<Outcome> {
        let mut turnstile = self.begin_writing()?;
        let Some((opened, known)) = self.open_known(id)? else { return Ok(Outcome::NotFound) };
        let going = match going(&known.kept, ids, children) {
            Ok(going) => going,
            Err(parent) => return Ok(Outcome::HasChildren(parent)),
        };
        let bytes =
            going.iter().filter_map(|seq| known.kept.held(*seq)).map(|held| u64::from(held.body)).sum();
        let removed = Outcome::Removed { messages: going.len() as u64, bytes };
        if going.is_empty() {
            return Ok(removed);
        }
        let stamp = turnstile.next_stamp();
        self.unload_blobs(&known.kept, stamp)?;
        let remains = Remains { known: &known, going: &going, stamp, at, reason };
        let fresh = self.write_remains(&opened, &remains)?;
        let trimmed = Happened::Trimmed { reason: reason.to_owned() };
        // Order: the new file is whole and synced; the note and its sync, because the lines of earlier changes go;
        // then the new file takes the name, and the old one is overwritten.
        let mark = turnstile.log().note(&noted(stamp, at, id, trimmed))?;
        let exchanged = turnstile.log().sync().and_then(|()| {
            durable::exchange(&fresh, &opened.path).during(|| format!("replace `{}`", opened.path.display()))
        });
        if let Err(error) = exchanged {
            turnstile.log().take_back(mark);
            turnstile.fail(Certainty::Unknown);
            return Err(error);
        }
        let path = opened.path.clone();
        drop(opened);
        self.forget(id);
        self.tidy_folder(&path)?;
        Ok(removed)
    }

    /// Overwrites all that is to be erased in the folder of a file.
    fn tidy_folder(&self, file: &Path) -> Result<()> {
        let folder =
            file.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or_default();
        let gone = self.layout.gone(folder).during(|| format!("list the folder `{folder}`"))?;
        gone.iter().try_for_each(|gone| overwrite(gone))
    }

    /// Overwrites what could not be overwritten before because somebody was reading it.
    pub(super) fn tidy(&self) -> Result<Progress> {
        let _turnstile = self.begin_writing()?;
        let mut done = 0;
        for folder in self.layout.folders().during(|| "list the folders")? {
            for gone in self.layout.gone(&folder).during(|| format!("list the folder `{folder}`"))? {
                overwrite(&gone)?;
                done += 1;
            }
        }
        Ok(Progress { done, ..Progress::default() })
    }
}

/// The sequences that go, or a message that keeps them from going because it has children.
fn going(
    kept: &Kept,
    ids: &[MessageId],
    children: Children,
) -> std::result::Result<BTreeSet<u32>, MessageId> {
    let mut going: BTreeSet<u32> = ids.iter().filter_map(|id| kept.seq_of(*id)).collect();
    // A child's sequence is above its parent's, so one pass in order reaches the whole subtree.
    for held in &kept.messages {
        let Some(parent) = held.parent.filter(|parent| going.contains(parent)) else { continue };
        if going.contains(&held.seq) {
            continue;
        }
        match children {
            Children::Remove => going.insert(held.seq),
            Children::Refuse => {
                return Err(kept.held(parent).expect("it is going, so it is there").id);
            }
        };
    }
    Ok(going)
}

/// Overwrites and removes a file that has no use any more, unless somebody reads it.
fn overwrite(path: &Path) -> Result<()> {
    let file = match durable::open_to_write(path) {
        Ok(file) => file,
        // Where names cannot be exchanged it is gone already.
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(cause) => return Err(cause).during(|| format!("erase `{}`", path.display())),
    };
    match lock(&file, FlockOperation::NonBlockingLockExclusive, READERS) {
        Ok(()) => durable::erase(&file, path)
            .and_then(|()| durable::sync_parent(path))
            .during(|| format!("erase `{}`", path.display())),
        Err(error) if error.kind() == ErrorKind::Locked => Ok(()),
        Err(error) => Err(error),
    }
}
